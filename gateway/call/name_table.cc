#include "gateway/call/name_table.h"

#include <algorithm>
#include <cstdint>

#include "gateway/base/text.h"

namespace stdgate::call {

NameTable::NameTable(size_t capacity, std::function<void(NameId, std::string_view)> admitted)
    : capacity_(std::min<size_t>(capacity, UINT16_MAX - 1)), admitted_(std::move(admitted)) {
  names_.emplace_back("_other");
  admitted_(kOtherName, names_.front());
}

NameId NameTable::find(std::string_view name) const {
  if (same_text(name, last_name_)) return last_;
  const auto found = ids_.find(name);
  if (found == ids_.end()) return kOtherName;
  last_name_ = found->first;
  return last_ = found->second;
}

NameId NameTable::admit(std::string_view name) {
  const NameId known = find(name);
  const bool is_reserved = name == names_[kOtherName];
  if (known != kOtherName || is_reserved) return known;
  if (names_.size() > capacity_ || name.size() > kMaxName) return kOtherName;
  const auto id = static_cast<NameId>(names_.size());
  names_.emplace_back(name);
  ids_.emplace(names_.back(), id);
  admitted_(id, names_.back());
  return id;
}

NameId NameTable::learn(std::string_view name, TimePoint now) {
  const NameId known = find(name);
  if (known != kOtherName || names_.size() > capacity_) return known;
  if (2 * names_.size() > capacity_) {
    if (now - minute_ >= std::chrono::minutes(1)) {
      minute_ = now;
      learnt_in_minute_ = 0;
    }
    if (learnt_in_minute_ == kMaxLearntPerMinute) return kOtherName;
    ++learnt_in_minute_;
  }
  return admit(name);
}

}  // namespace stdgate::call

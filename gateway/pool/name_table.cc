#include "gateway/pool/name_table.h"

#include <algorithm>
#include <cstdint>

namespace stdgate {

NameTable::NameTable(size_t capacity, std::function<void(NameId, std::string_view)> admitted)
    : capacity_(std::min<size_t>(capacity, UINT16_MAX - 1)), admitted_(std::move(admitted)) {
  names_.emplace_back("_other");
  admitted_(kOtherName, names_.front());
}

NameId NameTable::find(std::string_view name) const {
  const auto found = ids_.find(name);
  return found == ids_.end() ? kOtherName : found->second;
}

NameId NameTable::admit(std::string_view name) {
  const NameId known = find(name);
  const bool is_reserved = name == names_[kOtherName];
  if (known != kOtherName || is_reserved) return known;
  if (names_.size() > capacity_ || name.size() > kLongestName) return kOtherName;
  const auto id = static_cast<NameId>(names_.size());
  names_.emplace_back(name);
  ids_.emplace(names_.back(), id);
  admitted_(id, names_.back());
  return id;
}

}  // namespace stdgate

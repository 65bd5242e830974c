#include "gateway/pool/method_table.h"

#include <algorithm>
#include <cstdint>

namespace stdgate {

MethodTable::MethodTable(size_t capacity, std::function<void(MethodId, std::string_view)> admitted)
    : capacity_(std::min<size_t>(capacity, UINT16_MAX - 1)), admitted_(std::move(admitted)) {
  names_.emplace_back("_other");
  admitted_(kOtherMethod, names_.front());
}

MethodId MethodTable::find(std::string_view name) const {
  const auto found = ids_.find(name);
  return found == ids_.end() ? kOtherMethod : found->second;
}

MethodId MethodTable::admit(std::string_view name) {
  const MethodId known = find(name);
  const bool is_reserved = name == names_[kOtherMethod];
  if (known != kOtherMethod || is_reserved || names_.size() > capacity_) return known;
  const auto id = static_cast<MethodId>(names_.size());
  names_.emplace_back(name);
  ids_.emplace(names_.back(), id);
  admitted_(id, names_.back());
  return id;
}

}  // namespace stdgate

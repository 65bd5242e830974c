// MethodTable: the method names of one backend that metrics tell apart.
//
// Bounded: metrics would otherwise grow with every name a caller invents. A name gets its place
// when a child has shown that it knows the method, so invented names do not use places up; beyond
// `capacity` names everything is kOtherMethod.
// Owner: the backend.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "gateway/observer.h"

namespace stdgate {

class MethodTable {
 public:
  // `admitted(id, name)` is told of each new name, kOtherMethod first.
  MethodTable(size_t capacity, std::function<void(MethodId, std::string_view)> admitted);

  // kOtherMethod when the name has no place.
  [[nodiscard]] MethodId find(std::string_view name) const;
  // Gives the name a place, as long as there is one.
  MethodId admit(std::string_view name);
  [[nodiscard]] std::string_view name(MethodId id) const { return names_[id]; }
  [[nodiscard]] size_t size() const { return names_.size(); }

 private:
  const size_t capacity_;
  const std::function<void(MethodId, std::string_view)> admitted_;
  std::deque<std::string> names_;  // by id; a deque, so that the index may view into it
  std::unordered_map<std::string_view, MethodId> ids_;
};

}  // namespace stdgate

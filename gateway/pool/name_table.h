// NameTable: the method names, or tool names, of one backend that metrics tell apart.
//
// Bounded: metrics would otherwise grow with every name a caller invents. A name gets its place
// when a child has shown that it knows it, so invented names do not use places up; beyond
// `capacity` names, and for names longer than kLongestName, everything is kOtherName.
// Owner: the backend.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "gateway/observer.h"

namespace stdgate {

class NameTable {
 public:
  static constexpr size_t kLongestName = 1024;

  // `admitted(id, name)` is told of each new name, kOtherName first.
  NameTable(size_t capacity, std::function<void(NameId, std::string_view)> admitted);

  // kOtherName when the name has no place.
  [[nodiscard]] NameId find(std::string_view name) const;
  // Gives the name a place, as long as there is one for it.
  NameId admit(std::string_view name);
  [[nodiscard]] std::string_view name(NameId id) const { return names_[id]; }
  [[nodiscard]] size_t size() const { return names_.size(); }

 private:
  const size_t capacity_;
  const std::function<void(NameId, std::string_view)> admitted_;
  std::deque<std::string> names_;  // by id; a deque, so that the index may view into it
  std::unordered_map<std::string_view, NameId> ids_;
};

}  // namespace stdgate

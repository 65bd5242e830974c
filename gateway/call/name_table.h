// NameTable: the method names, or tool names, of one backend that metrics tell apart.
//
// Bounded: metrics would otherwise grow with every name a caller invents. A name gets its place
// when it is configured, when the protocol defines it, or when a child has shown that it knows it.
// A child may answer to any name. So learnt names fill half of the places at once, and the rest at
// kMaxLearntPerMinute, so that a flood of invented names can be noticed. Names that must have a
// place are to be configured. Beyond `capacity` names, and for names longer than kMaxName,
// everything is kOtherName. Owner: the backend.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "gateway/base/time.h"
#include "gateway/observer.h"

namespace stdgate::call {

class NameTable {
 public:
  static constexpr size_t kMaxName = 1024;
  static constexpr size_t kMaxLearntPerMinute = 6;

  // `admitted(id, name)` is called with each new name, kOtherName first.
  NameTable(size_t capacity, std::function<void(NameId, std::string_view)> admitted);

  // kOtherName when the name has no place.
  [[nodiscard]] NameId find(std::string_view name) const;
  // Gives the name a place if one is free.
  NameId admit(std::string_view name);
  // As admit(), for a name that a child has answered to, subject to kMaxLearntPerMinute.
  NameId learn(std::string_view name, TimePoint now);
  [[nodiscard]] std::string_view name(NameId id) const { return names_[id]; }
  [[nodiscard]] size_t size() const { return names_.size(); }

 private:
  const size_t capacity_;
  const std::function<void(NameId, std::string_view)> admitted_;
  std::deque<std::string> names_;  // by id; a deque, so that the index may view into it
  std::unordered_map<std::string_view, NameId> ids_;
  TimePoint minute_{};           // when the one that counts began
  size_t learnt_in_minute_ = 0;  // beyond the half
};

}  // namespace stdgate::call

// EndedIds: the ids of sessions that have ended before they expired. Such a session must not be
// taken over again.
//
// Owner: McpSessions. Limit: kMaxIds; beyond it the id that ended first is forgotten.
#pragma once

#include <cstddef>
#include <deque>
#include <string_view>
#include <unordered_set>

#include "gateway/base/time.h"

namespace stdgate::mcp {

class EndedIds {
 public:
  static constexpr size_t kMaxIds = 65536;

  // `expiry`: when the id expires in any case.
  void add(std::string_view id, TimePoint now, TimePoint expiry);
  [[nodiscard]] bool contains(std::string_view id, TimePoint now);
  void add_all(const EndedIds& others, TimePoint now);
  [[nodiscard]] size_t size() const { return entries_.size(); }

 private:
  // Holds a hash in place of the id, which may be long. Two equal hashes are too unlikely to
  // matter.
  struct Entry {
    size_t hash = 0;
    TimePoint expiry{};
  };

  void add(const Entry& entry, TimePoint now);
  void drop_expired(TimePoint now);
  void drop_first();

  std::deque<Entry> entries_;  // in the order of their sessions' ends
  std::unordered_multiset<size_t> hashes_;
};

}  // namespace stdgate::mcp

// SessionCounts: how many calls each session has in flight at one child.
//
// Owner: a CallTable. Limit: one entry for each session that may be open at a time, in a vector,
// because the places of sessions are small numbers. A session that ends takes its calls along. If
// one is left nevertheless, it is not counted for the next session with the same place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "gateway/session/session_sink.h"

namespace stdgate::pool {

class SessionCounts {
 public:
  void add(session::SessionId session);
  // `session` has been added.
  void remove(session::SessionId session);

  // Calls of this session.
  [[nodiscard]] size_t calls_of(session::SessionId session) const;
  // The session of all calls, if there are `calls` of them; an empty id: there are no calls.
  // Nothing: the calls are of several sessions, or some are not counted here.
  [[nodiscard]] std::optional<session::SessionId> only(size_t calls) const;

 private:
  struct Entry {
    uint32_t generation = 0;
    uint16_t calls = 0;  // Correlator::kMaxEntries at most
    bool is_mixed = false;
  };
  Entry& entry_of(uint32_t place) {
    if (place >= entries_.size()) grow(place);
    return entries_[place];
  }
  void grow(uint32_t place);

  std::vector<Entry> entries_;
  size_t sessions_ = 0;  // sessions that have calls
  uint32_t places_ = 0;  // XOR of the places of these sessions: of a single session its place
};

}  // namespace stdgate::pool

// SessionCounts: how many calls each session has in flight at one child.
//
// Owner: a CallTable. Limit: one entry for each session that may be open at a time; places of
// sessions are small numbers, so it is a vector. A session that ends takes its calls along; should
// one be left all the same, the next session with its place is not taken for it.
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
  // One that was added.
  void remove(session::SessionId session);

  // Of this session.
  [[nodiscard]] size_t calls_of(session::SessionId session) const;
  // The session of all of so many calls; none: there are no calls. Nothing: they are of several
  // sessions, or some are not counted here.
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
  size_t sessions_ = 0;  // that have calls
  uint32_t places_ = 0;  // of these, each bit the odd one out: of a single one its place
};

}  // namespace stdgate::pool

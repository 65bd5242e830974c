#include "gateway/pool/session_counts.h"

namespace stdgate::pool {

void SessionCounts::add(session::SessionId session) {
  Entry& entry = entry_of(session.index);
  if (entry.calls++ > 0) {
    entry.is_mixed = entry.is_mixed || entry.generation != session.generation;
    return;
  }
  entry.generation = session.generation;
  entry.is_mixed = false;
  ++sessions_;
  places_ ^= session.index;
}

void SessionCounts::remove(session::SessionId session) {
  if (--entries_[session.index].calls > 0) return;
  --sessions_;
  places_ ^= session.index;
}

size_t SessionCounts::calls_of(session::SessionId session) const {
  if (session.index >= entries_.size()) return 0;
  const Entry& entry = entries_[session.index];
  return entry.generation == session.generation && !entry.is_mixed ? entry.calls : 0;
}

std::optional<session::SessionId> SessionCounts::only(size_t calls) const {
  if (sessions_ == 0) return calls == 0 ? std::optional(session::SessionId()) : std::nullopt;
  const Entry& entry = entries_[sessions_ == 1 ? places_ : 0];
  if (sessions_ > 1 || entry.is_mixed || entry.calls != calls) return std::nullopt;
  return session::SessionId{places_, entry.generation};
}

void SessionCounts::grow(uint32_t place) { entries_.resize(place + 1); }

}  // namespace stdgate::pool

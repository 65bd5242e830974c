#include "gateway/mcp/ended_ids.h"

#include <functional>

namespace stdgate::mcp {

void EndedIds::add(std::string_view id, TimePoint now, TimePoint expiry) {
  add(Entry{std::hash<std::string_view>()(id), expiry}, now);
}

void EndedIds::add_all(const EndedIds& others, TimePoint now) {
  for (const Entry& entry : others.entries_) add(entry, now);
}

void EndedIds::add(const Entry& entry, TimePoint now) {
  drop_expired(now);
  if (entries_.size() == kMaxIds) drop_first();
  entries_.push_back(entry);
  hashes_.insert(entry.hash);
}

bool EndedIds::contains(std::string_view id, TimePoint now) {
  drop_expired(now);
  return hashes_.contains(std::hash<std::string_view>()(id));
}

// An id that expires early may stand behind one that expires late, and then stays as long.
void EndedIds::drop_expired(TimePoint now) {
  while (!entries_.empty() && entries_.front().expiry <= now) drop_first();
}

void EndedIds::drop_first() {
  hashes_.erase(hashes_.find(entries_.front().hash));
  entries_.pop_front();
}

}  // namespace stdgate::mcp

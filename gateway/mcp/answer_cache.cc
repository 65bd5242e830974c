#include "gateway/mcp/answer_cache.h"

#include <algorithm>
#include <utility>

namespace stdgate::mcp {

std::optional<AnswerCache::Kept> AnswerCache::find(std::string_view identity,
                                                   const std::string& key, TimePoint now) const {
  auto found = entries_.find({std::string(identity), key});
  if (found == entries_.end()) found = entries_.find({{}, key});
  // A result with less than one unit of time left would tell the client that it is stale.
  if (found == entries_.end() || found->second.ends - now < std::chrono::milliseconds(1)) {
    return std::nullopt;
  }
  const Entry& entry = found->second;
  std::string payload = entry.payload.substr(0, entry.time.offset);
  payload.append(ttl_text(entry.ends - now));
  payload.append(entry.payload.substr(entry.time.offset + entry.time.length));
  return Kept{std::move(payload), entry.child};
}

void AnswerCache::keep(std::string_view identity, const std::string& key,
                       const rpc::Envelope& answer, uint64_t child, TimePoint now) {
  const auto terms = cache_terms(answer);
  if (!terms || (!terms->is_public && identity.empty())) return;
  Place place{terms->is_public ? std::string() : std::string(identity), key};
  Entry entry{std::string(answer.payload), terms->time, now + terms->lasts, child};
  const size_t bytes = bytes_of(place, entry);
  if (const auto known = entries_.find(place); known != entries_.end()) remove(known);
  if (bytes > kMaxEntryBytes) return;
  while (entries_.size() == kMaxEntries || bytes_ + bytes > kMaxBytes) {
    remove(
        std::ranges::min_element(entries_, {}, [](const auto& kept) { return kept.second.ends; }));
  }
  entries_.emplace(std::move(place), std::move(entry));
  change_bytes(bytes_ + bytes);
}

void AnswerCache::note_change(const pool::Audience& change) {
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    entry = ends_kept(change, entry->first.key) ? remove(entry) : std::next(entry);
  }
}

AnswerCache::Entries::iterator AnswerCache::remove(Entries::iterator entry) {
  change_bytes(bytes_ - bytes_of(entry->first, entry->second));
  return entries_.erase(entry);
}

}  // namespace stdgate::mcp

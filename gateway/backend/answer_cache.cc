#include "gateway/backend/answer_cache.h"

#include <algorithm>
#include <utility>

namespace stdgate::backend {

std::optional<AnswerCache::Kept> AnswerCache::find(const rpc::Envelope& request,
                                                   std::string_view method,
                                                   std::string_view identity, TimePoint now,
                                                   call::Call& call) {
  std::string key = dialect_.key(request, method);
  if (key.empty() || key.size() > kMaxEntryBytes) return std::nullopt;
  auto found = entries_.find({std::string(identity), key});
  if (found == entries_.end()) found = entries_.find({{}, key});
  // What has no whole unit of time left would be called stale by its own words.
  if (found != entries_.end() && found->second.ends - now >= std::chrono::milliseconds(1)) {
    const Entry& entry = found->second;
    std::string payload = entry.payload.substr(0, entry.time.offset);
    payload.append(dialect_.time_text(entry.ends - now));
    payload.append(entry.payload.substr(entry.time.offset + entry.time.length));
    return Kept{std::move(payload), entry.child};
  }
  call.cache_key = std::move(key);
  call.identity = identity;
  return std::nullopt;
}

void AnswerCache::keep(const call::Call& call, const rpc::Envelope& answer, TimePoint now) {
  if (call.cache_key.empty() || call.child_era != Era::modern) return;
  const auto terms = dialect_.terms(answer);
  if (!terms || (!terms->is_public && call.identity.empty())) return;
  Place place{terms->is_public ? std::string() : call.identity, call.cache_key};
  Entry entry{std::string(answer.payload), terms->time, now + terms->lasts, call.child};
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
    entry = dialect_.ends(change, entry->first.key) ? remove(entry) : std::next(entry);
  }
}

AnswerCache::Entries::iterator AnswerCache::remove(Entries::iterator entry) {
  change_bytes(bytes_ - bytes_of(entry->first, entry->second));
  return entries_.erase(entry);
}

}  // namespace stdgate::backend

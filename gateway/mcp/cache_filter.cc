#include "gateway/mcp/cache_filter.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "gateway/mcp/mcp_revision.h"
#include "gateway/policy/client.h"
#include "gateway/pool/dialect.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"

namespace stdgate::mcp {
namespace {

constexpr std::string_view kRead = "resources/read";

// The lists whose changes invalidate what is kept of a method's results: bits of kMcpLists.
// Nothing: they may not be kept.
std::optional<uint8_t> kept_lists(std::string_view method) {
  if (method == "server/discover") return uint8_t{0};
  if (method == kRead) return listing_of(McpListKind::resources).list.bit;
  const McpListing* const listing = find_listing(method);
  return listing == nullptr ? std::nullopt : std::optional(listing->list.bit);
}

std::string_view method_of(std::string_view key) { return key.substr(0, key.find('\n')); }

bool is_text(std::string_view raw, std::string_view text) {
  return raw.size() >= 2 && raw.front() == '"' &&
         rpc::json_string_equals(raw.substr(1, raw.size() - 2), text);
}

}  // namespace

std::string cache_key(const rpc::Envelope& request, std::string_view method) {
  if (!kept_lists(method)) return {};
  std::string key(method);
  key += '\n';
  rpc::JsonCursor cursor(request.params);
  if (!cursor.take('{') || cursor.take('}')) return key;
  do {
    const std::string_view quoted = cursor.take_string();
    cursor.take(':');
    const std::string_view value = cursor.take_value();
    // These members answer questions of the server; the result belongs to one call alone.
    if (is_text(quoted, "inputResponses") || is_text(quoted, "requestState")) return {};
    if (!is_text(quoted, "_meta")) key.append(quoted).append(":").append(value).append(",");
  } while (cursor.take(','));
  return key;
}

std::optional<CacheTerms> cache_terms(const rpc::Envelope& answer) {
  if (answer.kind != rpc::MessageKind::result) return std::nullopt;
  const std::string_view payload = answer.payload;
  const auto type = rpc::find_member(payload, "resultType");
  const bool is_complete =
      type ? is_text(*type, "complete") : type.error() == rpc::MemberError::absent;
  const auto time = rpc::find_member(payload, "ttlMs");
  const auto scope = rpc::find_member(payload, "cacheScope");
  if (!is_complete || !time || !scope) return std::nullopt;
  uint64_t count_ms = 0;
  const auto [end, error] = std::from_chars(time->data(), time->data() + time->size(), count_ms);
  if (end != time->data() + time->size() || error != std::errc() || count_ms == 0) {
    return std::nullopt;
  }
  constexpr uint64_t kMaxMs = kMaxCacheTime / std::chrono::milliseconds(1);
  CacheTerms terms;
  terms.lasts = std::chrono::milliseconds(std::min(count_ms, kMaxMs));
  terms.is_public = is_text(*scope, "public");
  if (!terms.is_public && !is_text(*scope, "private")) return std::nullopt;
  terms.time = place_of(*time, payload);
  return terms;
}

std::string ttl_text(Duration lasts) {
  return std::to_string(std::chrono::floor<std::chrono::milliseconds>(lasts).count());
}

// An update may concern a part of what was read.
bool ends_kept(const pool::Audience& change, std::string_view key) {
  const std::string_view method = method_of(key);
  if (change.kind == pool::Audience::Kind::subscribers) return method == kRead;
  return (kept_lists(method).value_or(0) & change.list) != 0;
}

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

void CacheFilter::answer(call::CallPtr& call, const call::Request& request) {
  if (pool_.is_draining()) return;
  std::string key = cache_key(request.message, request.method);
  if (key.empty() || key.size() > AnswerCache::kMaxEntryBytes) return;
  std::string identity = policy::identity_of(request.context.principal);
  if (const auto known = cache_.find(identity, key, now())) {
    services_.core.observer.on_cache_hit(services_.backend);
    return chain_.on_result(std::move(call), known->payload, known->child);
  }
  call->kept_bytes += key.size();
  states_.of(call->slots) = {std::move(key), std::move(identity)};
}

bool CacheFilter::on_child_message(call::ChildMessage& message) {
  if (const auto change = pool::change_told_by(message, services_.dialect)) {
    cache_.note_change(*change);
  }
  return true;
}

}  // namespace stdgate::mcp

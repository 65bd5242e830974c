// Which results of MCP's modern era may be kept, and for how long (2026-07-28, server utilities:
// caching).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/base/text_place.h"
#include "gateway/base/time.h"
#include "gateway/pool/dialect.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::mcp {

// Longer than that nothing is kept here, whatever a result says.
inline constexpr Duration kMaxCacheTime = std::chrono::hours(24);

// What a result says of its being kept.
struct CacheTerms {
  Duration lasts{0};
  bool is_public = false;  // it may be shown to other clients
  TextPlace time;          // where it says for how long, within the payload
};

// All of a request that its result depends on: the method, and each member of params but _meta, as
// they are spelled. Empty: its result must not be kept. `method` is decoded.
std::string cache_key(const rpc::Envelope& request, std::string_view method);
// Nothing: it must not be kept.
std::optional<CacheTerms> cache_terms(const rpc::Envelope& answer);
// What a result says that may be kept for so long.
std::string ttl_text(Duration lasts);
// Whether such a change makes what was kept under this key untrue.
bool ends_kept(const pool::Audience& change, std::string_view key);

}  // namespace stdgate::mcp

// Which results of modern servers may be kept, and for how long (2026-07-28, server utilities:
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

// The longest time that a result is kept here, whatever lifetime it states.
inline constexpr Duration kMaxCacheTime = std::chrono::hours(24);

// What a result says about caching.
struct CacheTerms {
  Duration lasts{0};
  bool is_public = false;  // it may be shown to other clients
  TextPlace time;          // place of the lifetime in the payload
};

// All parts of a request that its result depends on: the method, and each member of params except
// _meta, spelled as in the request. Empty: the result must not be kept. `method` is decoded.
std::string cache_key(const rpc::Envelope& request, std::string_view method);
// Nothing: the answer must not be kept.
std::optional<CacheTerms> cache_terms(const rpc::Envelope& answer);
// The value of `ttlMs` for this lifetime.
std::string ttl_text(Duration lasts);
// Whether this change may invalidate what is kept under this key.
bool ends_kept(const pool::Audience& change, std::string_view key);

}  // namespace stdgate::mcp

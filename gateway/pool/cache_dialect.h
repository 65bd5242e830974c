// CacheDialect: which results a protocol lets others keep, and for how long.
//
// Stateless; part of the dialect.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/base/text_place.h"
#include "gateway/base/time.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::pool {

struct Audience;  // dialect.h

// What a result says of its being kept.
struct CacheTerms {
  Duration lasts{0};
  bool is_public = false;  // it may be shown to other clients
  TextPlace time;          // where it says for how long, within the payload
};

class CacheDialect {
 public:
  virtual ~CacheDialect() = default;

  // All of a request that its result depends on; empty: its result must not be kept. `method` is
  // decoded.
  [[nodiscard]] virtual std::string key(const rpc::Envelope& request,
                                        std::string_view method) const = 0;
  // Nothing: it must not be kept.
  [[nodiscard]] virtual std::optional<CacheTerms> terms(const rpc::Envelope& answer) const = 0;
  // What a result says that may be kept for so long.
  [[nodiscard]] virtual std::string time_text(Duration lasts) const = 0;
  // Whether such a change makes what was kept under this key untrue.
  [[nodiscard]] virtual bool ends(const Audience& change, std::string_view key) const = 0;
};

}  // namespace stdgate::pool

// ClaimSeal: seals claims (claim_places.h) for clients, and opens the claims that clients bring
// back.
//
// A sealed claim holds the text that the child has written, and the number of that child. It can be
// opened for the same principal at the backend of the same name; all anonymous clients are one
// principal. The same claim is sealed to the same text each time, because clients compare ids. The
// child of a state or a task runs in one process of the gateway, so the number of that process's
// backend (`instance`) is sealed too. A cursor of another instance can be opened, and goes to any
// child. Owner: the ClaimFilter. Limits: kMaxText and kMaxTask bytes of a claim, as the child
// spells it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/base/time.h"
#include "gateway/mcp/claim_places.h"
#include "gateway/pool/pool_services.h"

namespace stdgate::mcp {

struct GivenClaim {
  bool is_ours = false;  // sealed by this instance
  uint64_t child = 0;    // number of the child that has given it; 0: any child may get it
  uint64_t number = 0;   // of a state: its number
  TimePoint expires{};   // of a state
  std::string text;      // between its quotes, as the child has spelled it
};

class ClaimSeal {
 public:
  static constexpr size_t kMaxText = 1 << 20;
  // The id of a task stands in a header field too.
  static constexpr size_t kMaxTask = 1 << 10;

  // `services` must have states.
  explicit ClaimSeal(const pool::PoolServices& services) : services_(services) {}

  // Whether a claim with this text, as the child spells it, can be sealed.
  static bool fits(ClaimKind kind, std::string_view text);
  // `claim` has is_ours. Nothing: its text is too long.
  std::optional<std::string> seal(ClaimKind kind, const GivenClaim& claim,
                                  std::string_view identity);
  // `raw`: a JSON string of a client. Nothing: the text was not sealed for this identity and kind.
  [[nodiscard]] std::optional<GivenClaim> open(ClaimKind kind, std::string_view raw,
                                               std::string_view identity) const;

 private:
  [[nodiscard]] std::string context_of(ClaimKind kind, std::string_view identity) const;

  const pool::PoolServices& services_;
  std::optional<uint64_t> instance_;  // nothing: no claim has been sealed yet
};

}  // namespace stdgate::mcp

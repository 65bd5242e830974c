// ClaimSeal: claims (claim_places.h) as clients have them: sealed, for one client at one backend,
// with the child that has given them out.
//
// A claim that a child has given out twice to one client is the same text both times. What a state
// or a task is to be brought back for is in a process, so that they mean something to the backend
// alone that has sealed them (`instance`); a cursor may mean something to any child. Owner: the
// ClaimFilter. Limits: kMaxText and kMaxTask bytes of a claim, as the child spells it.
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
  uint64_t child = 0;    // the number of the one that has given it; 0: any may get it
  uint64_t number = 0;   // of a state: which one
  TimePoint expires{};   // of a state
  std::string text;      // between its quotes, as the child has spelled it
};

class ClaimSeal {
 public:
  static constexpr size_t kMaxText = 1 << 20;
  // A task's id stands in a header field too.
  static constexpr size_t kMaxTask = 1 << 10;

  // `services` has states.
  explicit ClaimSeal(const pool::PoolServices& services) : services_(services) {}

  // `claim` is ours. Nothing: its text is too long.
  std::optional<std::string> seal(ClaimKind kind, const GivenClaim& claim,
                                  std::string_view identity);
  // `raw`: a JSON string of a client. Nothing: it was not sealed for this.
  [[nodiscard]] std::optional<GivenClaim> open(ClaimKind kind, std::string_view raw,
                                               std::string_view identity) const;

 private:
  [[nodiscard]] std::string context_of(ClaimKind kind, std::string_view identity) const;

  const pool::PoolServices& services_;
  std::optional<uint64_t> instance_;  // nothing: nothing has been sealed
};

}  // namespace stdgate::mcp

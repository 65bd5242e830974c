// Texts that clients keep for the gateway, and that they can neither make nor change: ids of
// sessions (SessionIds), and states of calls (StateSeal). The core knows no cryptography, so the
// worker implements both.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/base/log.h"
#include "gateway/base/time.h"
#include "gateway/policy/client.h"

namespace stdgate::session {

// The facts that an id may carry.
struct SessionFacts {
  std::string_view backend;                      // the name under which the session was opened
  const policy::Principal* principal = nullptr;  // of the client; null: anonymous
  // The params of `initialize`, raw JSON as received. A seal may leave them out of the id.
  std::string_view initialize;
};

// The facts that an id has carried.
struct CarriedSession {
  // Raw JSON; empty: not carried, so the session cannot be taken over.
  std::string initialize;
  Duration left{0};  // until the id expires
  Duration age{0};   // since the id was issued, by the clocks of both processes
};

// SessionIds: makes the ids by which clients name their sessions, and opens ids that carry what is
// needed to take a session over.
//
// An id is the only protection of its session, so it cannot be guessed. Implementations: the sealed
// ids of gateway/app; RandomSessionIds, for tests. Owner: the worker. The caller has no wall clock:
// an implementation whose ids expire has its own.
class SessionIds {
 public:
  virtual ~SessionIds() = default;
  // The id of a new session: visible ASCII, never issued before.
  virtual std::string issue(const SessionFacts& facts) = 0;
  // Nothing: the text is no id of ours, belongs to another backend or principal, has expired, or
  // carries nothing.
  [[nodiscard]] virtual std::optional<CarriedSession> open(std::string_view id,
                                                           std::string_view backend,
                                                           const policy::Principal* principal) = 0;
  // The name of the session with this id in log and audit.
  [[nodiscard]] virtual SessionName name_of(std::string_view id) const = 0;
  // How long a session lives from its first request on, even if it is in use; nothing: no limit.
  [[nodiscard]] virtual std::optional<Duration> lifetime() const { return std::nullopt; }
};

// StateSeal: implemented by SealedStates.
class StateSeal {
 public:
  virtual ~StateSeal() = default;
  // `context` is authenticated with the text, but is not part of it.
  virtual std::string seal(std::string_view plain, std::string_view context) = 0;
  // Nothing: the text was not sealed here or in this context, or has been changed.
  virtual std::optional<std::string> open(std::string_view sealed, std::string_view context) = 0;

  // Seals a text that load balancers read too. The result begins with the name of the replica, as
  // session ids do. Equal texts with equal context give equal results.
  virtual std::string seal_named(std::string_view plain, std::string_view context) {
    return seal(plain, context);
  }
  virtual std::optional<std::string> open_named(std::string_view sealed, std::string_view context) {
    return open(sealed, context);
  }
};

}  // namespace stdgate::session

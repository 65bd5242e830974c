// SessionIds: makes the ids of MCP sessions and ACP connections, and opens those that carry what is
// needed to take a session over.
//
// An id is all that protects its session, so it cannot be guessed. Implementations: the sealed ids
// of gateway/app; RandomSessionIds, for tests. Owner: the worker. The caller keeps no clock of the
// calendar: an implementation that lets ids expire has one of its own.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/base/session_name.h"
#include "gateway/base/time.h"
#include "gateway/policy/principal.h"

namespace stdgate::session {

// What an id may carry.
struct SessionFacts {
  std::string_view backend;                      // the name under which the session was opened
  const policy::Principal* principal = nullptr;  // who opens it; null: unknown
  // The params of `initialize`, raw JSON as received. An implementation may leave them out.
  std::string_view initialize;
};

// What an id has carried.
struct CarriedSession {
  // Raw JSON; empty: it was not carried, so the session cannot be taken over.
  std::string initialize;
  Duration left{0};  // until the id expires
  Duration age{0};   // since it was given out, by the clocks of both processes
};

class SessionIds {
 public:
  virtual ~SessionIds() = default;
  // The id of a new session: visible ASCII, which has not been given out before.
  virtual std::string issue(const SessionFacts& facts) = 0;
  // Nothing for what is no id of ours, belongs to another backend or principal, has expired or
  // carries nothing.
  [[nodiscard]] virtual std::optional<CarriedSession> open(std::string_view id,
                                                           std::string_view backend,
                                                           const policy::Principal* principal) = 0;
  // How log and audit name the session with this id.
  [[nodiscard]] virtual SessionName name_of(std::string_view id) const = 0;
  // How long a session lives from its first request on, whatever it does; nothing: no limit.
  [[nodiscard]] virtual std::optional<Duration> lifetime() const { return std::nullopt; }
};

}  // namespace stdgate::session

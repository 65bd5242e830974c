// SessionJournal: reports the events of a backend's sessions to log and metrics.
//
// The only place that changes Session::state. Owner: the session router.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "gateway/policy/client.h"
#include "gateway/pool/backend_status.h"
#include "gateway/pool/child.h"
#include "gateway/pool/pool_services.h"
#include "gateway/session/session.h"

namespace stdgate::backend {

class SessionJournal {
 public:
  explicit SessionJournal(const pool::PoolServices& services) : services_(services) {}

  // Sets the client of a new session, and its name in the log. Called first.
  void identify(session::Session& session, const policy::Client& client) const;
  void open(session::Session& session);
  // The client has said who it is.
  void introduce(session::Session& session, std::string label);
  // The session comes from another process, and has no child here.
  void adopt(session::Session& session, std::string label, Duration age);
  // The session has been greeted while its server sleeps.
  void begin_parked(session::Session& session) { set_state(session, SessionState::parked); }
  // The session has this child alone.
  void serve(session::Session& session, pool::Child& child) const;
  void park(session::Session& session, ParkReason reason);
  void wake(session::Session& session);
  // The session has a child again. If sessions share children: the session is used again.
  void resume(session::Session& session) { set_state(session, SessionState::live); }
  void revive(session::Session& session, RevivalOutcome outcome, Duration since_request);
  void close(session::Session& session);

  // Fills in the facts about sessions, except their places.
  void describe(const session::SessionTable& sessions, pool::BackendStatus& status) const;
  // Sessions without a child.
  [[nodiscard]] size_t parked() const { return parked_; }

 private:
  static constexpr size_t kMaxDescribed = 5;  // sessions of each kind

  [[nodiscard]] pool::SessionStatus status(const session::Session& session) const;
  [[nodiscard]] AuditedSession audited(const session::Session& session) const;
  void set_state(session::Session& session, SessionState state);
  void write(const session::Session& session, std::string_view event, LogField detail) const;

  const pool::PoolServices& services_;
  size_t parked_ = 0;
};

}  // namespace stdgate::backend

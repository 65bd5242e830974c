// SessionMemos: what calls of sessions tell their own children, for the children that follow.
//
// Noted when the child has answered, in the SessionMemory of the lease. Owner: the backend. Limits:
// those of SessionMemory.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "gateway/backend/session_listening.h"
#include "gateway/backend/session_router.h"
#include "gateway/pool/dialect.h"
#include "gateway/pool/pool.h"

namespace stdgate::backend {

class SessionMemos {
 public:
  SessionMemos(SessionRouter& sessions, pool::Pool& pool, SessionListening& listening,
               const pool::Dialect& dialect)
      : sessions_(sessions), pool_(pool), listening_(listening), dialect_(dialect) {}

  // Of a call that its session makes: the session is used, and may be refused.
  tl::expected<void, rpc::FaultReport> keep(const call::ClientIntent& intent, call::Call& call);
  // The greeting of a session is answered so while its server sleeps.
  void recall(const call::ClientIntent& intent, call::Call& call, const rpc::Envelope& answer);
  // A child has answered with a result.
  void learn(call::Call& call, const rpc::Envelope& answer);

  // As SessionRouter's; at modern children the gateway listens, and no child is to be asked.
  tl::expected<bool, rpc::FaultReport> subscribe(session::SessionId session, std::string_view key);
  std::optional<uint64_t> unsubscribe(session::SessionId session, std::string_view key);

 private:
  void prove(const call::Call& call);

  SessionRouter& sessions_;
  pool::Pool& pool_;
  SessionListening& listening_;
  const pool::Dialect& dialect_;
  std::string key_;  // scratch
};

}  // namespace stdgate::backend

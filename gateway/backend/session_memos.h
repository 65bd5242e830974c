// SessionMemos: what calls of sessions ask of the gateway itself, and what they tell their children
// that the next children have to be told again.
//
// A session has subscribed, and has set from which level on it wants log messages, as far as its
// children are shared: the gateway asks them once for all. What a session tells its own child is
// noted when that has answered, in the SessionMemory of the lease. Owner: the backend. Limits:
// those of SessionMemory.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "gateway/backend/session_listening.h"
#include "gateway/backend/session_router.h"
#include "gateway/call/chain.h"
#include "gateway/pool/dialect.h"
#include "gateway/pool/pool.h"

namespace stdgate::backend {

class SessionMemos final : public call::Filter {
 public:
  SessionMemos(SessionRouter& sessions, pool::Pool& pool, SessionListening& listening,
               const pool::Dialect& dialect, call::Chain& chain)
      : sessions_(sessions), pool_(pool), listening_(listening), dialect_(dialect), chain_(chain) {}

  void on_request(call::CallPtr& call, const call::Request& request) override;
  void on_answer(call::CallPtr& call, call::Answer& answer) override {
    const bool has_memo = call->memo != call::SessionMemo::none;
    if (has_memo && answer.outcome == Outcome::ok()) learn(*call, answer.message);
  }
  void on_end(const call::Call& call, call::End& end) override {
    if (!call.subscription.empty()) sessions_.finish_subscribe(call, end.outcome);
  }

  // The greeting of a session is answered so while its server sleeps.
  void recall(const call::ClientIntent& intent, call::Call& call, const rpc::Envelope& answer);

 private:
  // Of a call that its session makes: the session is used, and may be refused.
  tl::expected<void, rpc::FaultReport> keep(const call::ClientIntent& intent, call::Call& call);
  void learn(call::Call& call, const rpc::Envelope& answer);
  void prove(const call::Call& call);
  void accept_severity(call::CallPtr& call, const call::ClientIntent& intent);
  void accept_subscription(call::CallPtr& call, const call::ClientIntent& intent);
  // As SessionRouter's; at modern children the gateway listens, and no child is to be asked.
  tl::expected<bool, rpc::FaultReport> subscribe(session::SessionId session, std::string_view key);
  std::optional<uint64_t> unsubscribe(session::SessionId session, std::string_view key);
  // Without a child.
  void answer(call::CallPtr& call, std::string_view result) {
    const call::CallPtr answered = std::move(call);
    chain_.answer_result(*answered, result);
  }

  SessionRouter& sessions_;
  pool::Pool& pool_;
  SessionListening& listening_;
  const pool::Dialect& dialect_;
  call::Chain& chain_;
  std::string key_;  // scratch
};

}  // namespace stdgate::backend

// SessionMemos: handles requests of sessions that the gateway answers itself, and remembers what
// sessions tell their children, so that later children can be told again.
//
// Where sessions share children, the gateway subscribes and sets the log level at the children once
// for all sessions. Where a session has its own child, its requests are noted in the SessionMemory
// of the lease when the child has answered. Owner: the backend. Limits: the limits of
// SessionMemory.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "gateway/backend/session_router.h"
#include "gateway/call/chain.h"
#include "gateway/pool/bridge.h"
#include "gateway/pool/dialect.h"
#include "gateway/pool/pool.h"

namespace stdgate::backend {

class SessionMemos final : public call::Filter {
 public:
  SessionMemos(SessionRouter& sessions, pool::Pool& pool, pool::Bridge& bridge,
               const pool::Dialect& dialect, call::Chain& chain, call::CallStore& calls)
      : sessions_(sessions),
        pool_(pool),
        bridge_(bridge),
        dialect_(dialect),
        chain_(chain),
        notes_(calls.reserve<Note>()),
        subscribed_(calls.reserve<call::KeptText>()) {}

  void on_begin(call::Call& call, const call::Arrival& /*arrival*/) override {
    sessions_.name_in(call);
  }
  void on_request(call::CallPtr& call, const call::Request& request) override;
  void on_answer(call::CallPtr& call, call::Answer& answer) override {
    const Note* const note = notes_.find(call->slots);
    if (note != nullptr && answer.outcome == Outcome::ok()) learn(*call, *note, answer.message);
  }
  void on_end(const call::Call& call, call::End& end) override {
    const call::KeptText* const key = subscribed_.find(call.slots);
    if (key != nullptr) sessions_.finish_subscribe(call, key->text, end.outcome);
  }

  // The greeting of a session was answered with `answer` while its server sleeps.
  void recall(const call::ClientIntent& intent, call::Call& call, const rpc::Envelope& answer);

 private:
  // What the session tells its child by a call. `text`: decoded; of a greeting, see Call.
  struct Note {
    call::SessionMemo memo = call::SessionMemo::none;
    std::string text;

    void clear() {
      memo = call::SessionMemo::none;
      call::clear_text(text);
    }
  };

  // Notes a call that a session makes. The session counts as used; an error refuses the call.
  tl::expected<void, rpc::FaultReport> keep(const call::ClientIntent& intent, call::Call& call);
  // Notes what the session tells its child by this call.
  const Note& note_of(const call::ClientIntent& intent, call::Call& call);
  void learn(call::Call& call, const Note& note, const rpc::Envelope& answer);
  void prove(const call::Call& call);
  void accept_severity(call::CallPtr& call, const call::ClientIntent& intent);
  void accept_subscription(call::CallPtr& call, const call::ClientIntent& intent);
  // Like the functions of SessionRouter. Where the bridge listens for the session, no child is
  // asked.
  tl::expected<bool, rpc::FaultReport> subscribe(session::SessionId session, std::string_view key);
  std::optional<uint64_t> unsubscribe(session::SessionId session, std::string_view key);
  // Answers the call without a child.
  void answer(call::CallPtr& call, std::string_view result) {
    const call::CallPtr answered = std::move(call);
    chain_.answer_result(*answered, result);
  }

  SessionRouter& sessions_;
  pool::Pool& pool_;
  pool::Bridge& bridge_;
  const pool::Dialect& dialect_;
  call::Chain& chain_;
  const call::Slot<Note> notes_;
  const call::Slot<call::KeptText> subscribed_;  // the key that the call subscribes to
  std::string key_;                              // scratch
};

}  // namespace stdgate::backend

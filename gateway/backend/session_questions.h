// SessionQuestions: what children ask the clients of sessions.
//
// Job: keep the questions, with a child that waits or for a call that the bridge keeps, and their
// deadlines; keep the index of children's questions. When a question expires while calls wait for
// it, it is withdrawn on both sides. If no call waits, its time begins again. Questions of a round
// or a trip end with it. Owner: the session router. Limits: Session::kMaxAsks; the input timeout.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gateway/audit.h"
#include "gateway/base/log.h"
#include "gateway/base/time.h"
#include "gateway/call/call.h"
#include "gateway/pool/bridge.h"
#include "gateway/pool/pool.h"
#include "gateway/pool/pool_services.h"
#include "gateway/session/session.h"

namespace stdgate::backend {

// ChildAudit: what children ask and tell their clients, in the audit.
//
// Job: a line for each request of a child when it ends, for what rules have kept from its client,
// and for the notifications that the protocol has a title for. A call is described by AuditFilter.
// Owner: SessionQuestions. Without an audit it does nothing.
class ChildAudit {
 public:
  explicit ChildAudit(const pool::PoolServices& services) : services_(services) {}

  // Null: the audit says nothing of this request. `method` is decoded.
  [[nodiscard]] std::unique_ptr<session::AskNotes> notes_of(const session::Session& session,
                                                            const rpc::Envelope& request,
                                                            std::string_view method) const;
  void note_answer(session::AskNotes& notes, const rpc::Envelope& answer) const;
  // A request has ended.
  void record(const session::AskNotes& notes, std::string_view outcome, Duration open) const {
    record(notes, {.asks = true, .outcome = outcome, .open = open});
  }
  // A request or a notification.
  void record_denied(const session::Session& session, const rpc::Envelope& message,
                     std::string_view method) const;
  void note_told(const session::Session& session, const rpc::Envelope& notification,
                 std::string_view method) const;

 private:
  [[nodiscard]] session::AskNotes describe(const session::Session& session,
                                           const rpc::Envelope& message,
                                           std::string_view method) const;
  // `message`: what is not in the notes.
  void record(const session::AskNotes& notes, AuditedChildMessage message) const;

  const pool::PoolServices& services_;
};

// Tells the session's client something that answers no call.
void tell_client(const pool::PoolServices& services, const session::Session& session,
                 std::span<const std::string_view> parts);

class SessionQuestions {
 public:
  // `pool` and `bridge` may not be constructed yet. `input_timeout` may change later.
  SessionQuestions(const pool::PoolServices& services, pool::Pool& pool,
                   session::SessionTable& sessions, pool::Bridge& bridge,
                   const Duration& input_timeout);

  // Asks the client, on the stream of `call`, if that call is known to be the reason. False: the
  // client has too many questions open.
  bool ask(session::Session& session, session::Ask ask, std::optional<session::Tag> call,
           const rpc::Envelope& request);
  // The client answers this question.
  void note_answer(const session::Ask& ask, const rpc::Envelope& answer) const {
    if (ask.notes != nullptr) audit_.note_answer(*ask.notes, answer);
  }
  [[nodiscard]] const ChildAudit& audit() const { return audit_; }
  // The questions of children, in all sessions.
  session::AskIndex& of_children() { return of_children_; }
  // Withdraws the open questions of this round, and tells the client.
  void withdraw(session::Session& session, uint64_t round) const;
  // The client will not answer any question: cancels the questions at the client, and answers them
  // with errors in its place.
  void give_up(session::Session& session);
  // A question to this session is over: the clocks of its calls continue.
  void note_end(session::SessionId session, const session::Ask& ask) const;
  // A question ends with its child, so the child exists.
  [[nodiscard]] pool::Child& child_that_asked(const session::Ask& ask) const;
  // See SessionEvents.
  [[nodiscard]] bool awaits_answer(uint64_t child, session::SessionId session) const;

 private:
  void note_ended(const session::Ask& ask, QuestionEnd end) const;
  // Whether the client is away and is asked again when it comes back. Its session ends if it does
  // not, and the questions with it.
  [[nodiscard]] bool may_return(const session::Session& session) const;
  void look_at_time();
  void expire(session::SessionId id, rpc::WireId ask);
  void tell_cancelled(const session::Session& session, rpc::WireId ask) const;
  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }
  [[nodiscard]] Duration patience() const {
    return call::question_time(services_.config, input_timeout_);
  }

  const pool::PoolServices& services_;
  pool::Pool& pool_;
  session::SessionTable& sessions_;
  pool::Bridge& bridge_;
  const Duration& input_timeout_;
  Timer timer_;  // due no later than the first deadline, apart from kLooks
  RateLimit log_lines_;
  const ChildAudit audit_;
  session::AskIndex of_children_{
      [this](const session::Ask& ask, QuestionEnd end) { note_ended(ask, end); }};
};

}  // namespace stdgate::backend

// SessionQuestions: the dealings of a session's client with modern children, which know no
// sessions: the stamp of its requests, and its questions for calls (InputRounds). Also the
// questions of legacy children.
//
// Job: keep the stamp of a session up to date; keep the client's questions, with or without a child
// that waits, and their deadlines; keep the index of children's questions. When a question expires
// while calls wait for it, it is withdrawn on both sides. If no call waits, its time begins again.
// Questions of a round or a trip end with it. Owner: the session router. Limits: Session::kMaxAsks;
// the input timeout; SessionMemory::kMaxGreeting, beyond which a greeting is not kept.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/base/rate_limit.h"
#include "gateway/base/timers.h"
#include "gateway/call/call_clock.h"
#include "gateway/pool/pool.h"
#include "gateway/pool/session_memory.h"
#include "gateway/session/session_table.h"

namespace stdgate::backend {

// Hears the client's answers to questions that no child waits for.
class RoundListener {
 public:
  virtual ~RoundListener() = default;
  // `key`: the key of the question. Null: it will not be answered.
  virtual void on_round_answer(uint64_t round, std::string_view key,
                               const rpc::Envelope* answer) = 0;
  // See ChildListener.
  [[nodiscard]] virtual TimePoint needed_until(uint64_t child) const = 0;
};

class SessionQuestions {
 public:
  // `pool` and `rounds` may not be constructed yet. `input_timeout` may change later.
  SessionQuestions(const pool::PoolServices& services, pool::Pool& pool,
                   session::SessionTable& sessions, RoundListener& rounds,
                   const Duration& input_timeout);

  // The client of a session that shares children has sent this greeting (params).
  void note_greeting(session::Session& session, std::string_view greeting) const;
  // The facts about the session that a child of its own has to be told.
  [[nodiscard]] static pool::Knowledge knowledge_of(const session::Session& session);
  // The session's level of log messages has changed.
  void note_severity(session::Session& session) const;

  // Asks the client, on the stream of `call`, if that call is known to be the reason. False: the
  // client has too many questions open.
  bool ask(session::Session& session, session::Ask ask, std::optional<session::Tag> call,
           const rpc::Envelope& request);
  // The questions of children, in all sessions.
  session::AskIndex& of_children() { return of_children_; }
  // Withdraws the open questions of this round, and tells the client.
  void withdraw(session::Session& session, uint64_t round) const;
  // The client will not answer any question: tells the client, and ends the questions for those who
  // have asked.
  void give_up(session::Session& session);
  // A question to this session is over: the clocks of its calls continue.
  void note_end(session::SessionId session, const session::Ask& ask) const;
  // See SessionEvents.
  [[nodiscard]] bool awaits_answer(uint64_t child, session::SessionId session) const;

 private:
  void look_at_time();
  void expire(session::SessionId id, rpc::WireId ask);
  void tell_cancelled(const session::Session& session, rpc::WireId ask) const;
  // A question ends with its child, so the child exists.
  [[nodiscard]] pool::Child& child_that_asked(const session::Ask& ask) const;
  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }
  [[nodiscard]] Duration patience() const {
    return call::question_time(services_.config, input_timeout_);
  }

  const pool::PoolServices& services_;
  pool::Pool& pool_;
  session::SessionTable& sessions_;
  RoundListener& rounds_;
  const Duration& input_timeout_;
  Timer timer_;  // due no later than the first deadline, apart from kLooks
  RateLimit log_lines_;
  session::AskIndex of_children_;
};

}  // namespace stdgate::backend

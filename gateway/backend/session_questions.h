// SessionQuestions: what a session's client has to do with modern children, which know no sessions:
// what each of its requests says of it there, and what it is asked for calls (InputRounds); and
// what legacy children ask it.
//
// Job: the stamp of a session, kept as it changes; the client's questions, with or without a child
// that waits, and the time that they have. A question whose time is up is withdrawn at both sides
// if calls wait meanwhile; else its time begins anew, as nobody is kept waiting. Those of a round
// or a trip end with it. The index of what children have asked. Owner: the session router. Limits:
// Session::kMaxAsks; the input timeout; SessionMemory::kMaxGreeting, beyond which a greeting is not
// kept.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/base/rate_limit.h"
#include "gateway/base/timers.h"
#include "gateway/pool/pool.h"
#include "gateway/pool/session_memory.h"
#include "gateway/session/session_table.h"

namespace stdgate::backend {

// Hears what a client answers to questions that no child waits for.
class RoundListener {
 public:
  virtual ~RoundListener() = default;
  // `key`: of the question. Null: it will not be answered.
  virtual void on_round_answer(uint64_t round, std::string_view key,
                               const rpc::Envelope* answer) = 0;
  // See ChildListener.
  [[nodiscard]] virtual TimePoint needed_until(uint64_t child) const = 0;
};

class SessionQuestions {
 public:
  // `pool` and `rounds` may not be constructed yet. `input_timeout` may change while it lives.
  SessionQuestions(const pool::PoolServices& services, pool::Pool& pool,
                   session::SessionTable& sessions, RoundListener& rounds,
                   const Duration& input_timeout);

  // The client of a session that shares children has greeted so.
  void note_greeting(session::Session& session, std::string_view greeting) const;
  // What a child of its own has to be told of it.
  [[nodiscard]] static pool::Knowledge knowledge_of(const session::Session& session);
  // It wants log messages from another level on.
  void note_severity(session::Session& session) const;

  // Asks the client, beside the answer to `call` if that is known to be the reason. False: it has
  // been asked too much.
  bool ask(session::Session& session, session::Ask ask, std::optional<session::Tag> call,
           const rpc::Envelope& request);
  // Those of children, of all sessions.
  session::AskIndex& of_children() { return of_children_; }
  // What is left of this round needs no answer; tells the client.
  void withdraw(session::Session& session, uint64_t round) const;
  // The client will answer nothing of what it has been asked; tells it, and those who have asked.
  void give_up(session::Session& session);
  // A question to this session is over: the clocks of its calls go on.
  void note_end(session::SessionId session, const session::Ask& ask) const;
  // See SessionEvents.
  [[nodiscard]] bool awaits_answer(uint64_t child, session::SessionId session) const;

 private:
  void look_at_time();
  void expire(session::SessionId id, rpc::WireId ask);
  void tell_cancelled(const session::Session& session, rpc::WireId ask) const;
  // An ask ends with its child.
  [[nodiscard]] pool::Child& child_that_asked(const session::Ask& ask) const;
  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }

  const pool::PoolServices& services_;
  pool::Pool& pool_;
  session::SessionTable& sessions_;
  RoundListener& rounds_;
  const Duration& input_timeout_;
  Timer timer_;  // no later than the first that expires, but for kLooks
  RateLimit log_lines_;
  session::AskIndex of_children_;
};

}  // namespace stdgate::backend

// SessionQuestions: what a session's client has to do with modern children, which know no sessions:
// what each of its requests says of it there, and what it is asked for calls (InputRounds); and
// what legacy children ask it.
//
// Job: the stamp of a session, kept as it changes; the client's questions, with or without a child
// that waits. Owner: the session router. Limits: Session::kMaxAsks;
// SessionMemory::kMaxGreeting, beyond which a greeting is not kept.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/pool/pool_services.h"
#include "gateway/session/session.h"

namespace stdgate::backend {

class SessionQuestions {
 public:
  explicit SessionQuestions(const pool::PoolServices& services) : services_(services) {}

  // The client of a session that shares children has greeted so.
  void note_greeting(session::Session& session, std::string_view greeting) const;
  // It wants log messages from another level on.
  void note_severity(session::Session& session) const;

  // Asks the client, beside the answer to `call` if that is known to be the reason. False: it has
  // been asked too much.
  bool ask(session::Session& session, session::Ask ask, std::optional<session::Tag> call,
           const rpc::Envelope& request) const;
  // What is left of this round needs no answer; tells the client.
  void withdraw(session::Session& session, uint64_t round) const;

 private:
  const pool::PoolServices& services_;
};

}  // namespace stdgate::backend

// Revival: tells a session's new child what the session has told the child before.
//
// Job: send the client's greeting again and judge the answer; then complete the greeting, set the
// log level and subscribe. Where the child may ask something at once (SessionMemory::asks_first()),
// wait until that is answered. The client's messages come after all this. Owner: the lease, from
// the moment at which it gets the child. Limit: one request of the gateway's own at a time until
// the greeting is answered, then as many as the child has room for.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/observer.h"
#include "gateway/pool/child.h"
#include "gateway/pool/pool_events.h"
#include "gateway/pool/session_memory.h"

namespace stdgate::pool {

class Revival {
 public:
  Revival(const PoolServices& services, const SessionEvents& events, session::SessionId session,
          SessionMemory& memory)
      : services_(services), events_(events), session_(session), memory_(memory) {}

  // Sends what the child takes now. True: the child has been told everything.
  bool go_on(Child& child);
  // Whether `id` is the id of the greeting.
  [[nodiscard]] bool awaits(rpc::WireId id) const { return greeting_ == id; }
  // An answer to this id has come. If it answers the ping, the child has sent its first questions.
  void note_answer(rpc::WireId id) {
    if (pong_ == id) step_ = Step::questions;
  }
  // Judges the child's answer to the greeting; null: the answer cannot be read.
  RevivalOutcome judge(const rpc::Envelope* answer);
  // Messages for the client, after judge().
  [[nodiscard]] const std::vector<std::string_view>& notices() const { return notices_; }

 private:
  enum class Step : uint8_t { greeting, answer, memory, subscriptions, pong, questions };

  bool subscribe(Child& child);
  bool hear_out(Child& child);

  const PoolServices& services_;
  const SessionEvents& events_;
  const session::SessionId session_;
  SessionMemory& memory_;
  Step step_ = Step::greeting;
  std::optional<rpc::WireId> greeting_;
  std::optional<rpc::WireId> pong_;
  std::vector<std::string_view> notices_;
  std::string subscribed_;  // the last subscription that was sent
};

}  // namespace stdgate::pool

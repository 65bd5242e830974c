// Handshake: the start of a child's conversation: its greeting, by the gateway or by its session's
// client, and the time that it has for the answer.
//
// Job: make the greeting, judge and keep the answer, and report when none comes within
// config.pool.start_timeout. Writes nothing itself. Owner: the child.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "gateway/base/timers.h"
#include "gateway/pool/pool_services.h"
#include "gateway/rpc/correlator.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::pool {

class Handshake {
 public:
  // `on_late`: the time is up.
  Handshake(const PoolServices& services, std::function<void()> on_late);

  // Starts the time, or starts it again.
  void start_timer();
  void stop_timer() { timer_.disarm(); }

  // The request with which the gateway greets the process; empty: its protocol has none.
  [[nodiscard]] std::string request(rpc::WireId id) const {
    return services_.dialect.handshake(id);
  }
  // Judges the answer to it: the notification that completes the handshake, or why it has failed.
  tl::expected<std::string, std::string> finish(const rpc::Envelope& answer);
  // That answer; only after finish() has succeeded.
  [[nodiscard]] rpc::Envelope answer();

  // The request with which its client greets a session's own child has been sent.
  void note_request(rpc::WireId id);
  // An answer to this id has come, be it one that cannot be used.
  void note_answered(rpc::WireId id);

  // The answer to a greeting of its client has come.
  void learn(const rpc::Envelope& answer);
  // What the process has said of itself; empty before.
  [[nodiscard]] const ChildFacts& facts() const { return facts_; }

  // The time is up, and the child is given up for it. Returns the reason in words.
  std::string give_up(bool is_running);
  [[nodiscard]] bool was_given_up() const { return was_given_up_; }

 private:
  const PoolServices& services_;
  Timer timer_;
  std::optional<rpc::WireId> request_;  // of the client, until it is answered
  std::string answer_;                  // to the gateway's own greeting, whole
  ChildFacts facts_;
  bool was_given_up_ = false;
};

}  // namespace stdgate::pool

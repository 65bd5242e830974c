// SharedWishes: what sessions want from children that they share: updates of keys, and log messages
// from some level on.
//
// Job: ask shared children once for all sessions, end what no session wants any more, and ask the
// next child when one has gone. Owner: the session router. Limits: the limits of
// session::Subscriptions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <tl/expected.hpp>

#include "gateway/call/call.h"
#include "gateway/pool/dialect.h"
#include "gateway/pool/pool.h"
#include "gateway/session/log_verbosity.h"
#include "gateway/session/subscriptions.h"

namespace stdgate::backend {

class SharedWishes {
 public:
  // `pool` may not be constructed yet.
  SharedWishes(const pool::PoolServices& services, pool::Pool& pool)
      : services_(services), pool_(pool) {}

  // --- Updates of keys
  // Whether a child has to be asked, and finish() has to follow. If not, the session has subscribed
  // already.
  tl::expected<bool, rpc::FaultReport> subscribe(session::SessionId session, std::string_view key) {
    return subscriptions_.request(session, key);
  }
  void finish(const call::Call& call, std::string_view key, Outcome outcome);
  // The number of the child that has to be asked, 0 for any. Nothing: no child has to be asked,
  // because there was no subscription or other sessions still need it.
  std::optional<uint64_t> unsubscribe(session::SessionId session, std::string_view key);
  // Waits for a child, as if the former child had gone. False: there is no room.
  bool await(session::SessionId session, std::string_view key) {
    return subscriptions_.await(session, key);
  }
  // Ends all wishes of the session.
  void close(session::SessionId session) { subscriptions_.close(session); }
  [[nodiscard]] size_t bytes_of(session::SessionId session) const {
    return subscriptions_.bytes_of(session);
  }
  [[nodiscard]] const session::Subscriptions& subscriptions() const { return subscriptions_; }

  // --- Log messages: of a new session, of one that changes its level, of one that has ended
  void add_session() { verbosity_.add_session(std::nullopt); }
  void replace_severity(std::optional<session::Severity> before, session::Severity now) {
    verbosity_.remove_session(before);
    verbosity_.add_session(now);
  }
  void remove_session(std::optional<session::Severity> severity) {
    verbosity_.remove_session(severity);
  }
  // A call without a session wants log messages. Stateful children are told before they get the
  // call.
  void note_call(const call::Call& call) {
    const bool shares = !call.alone || services_.config.serves_one;
    if (call.severity && shares && verbosity_.note_call(*call.severity)) settle();
  }
  // Whether a log message of the child is for a session with this level.
  [[nodiscard]] bool passes(uint64_t child, std::optional<session::Severity> wanted,
                            session::Severity severity) const {
    return verbosity_.passes(child, wanted, severity);
  }

  // --- Children
  // Tells children the present wishes.
  void settle() {
    if (!is_settled()) pool_.offer_spare_room();
  }
  [[nodiscard]] bool is_settled() const { return subscriptions_.settled() && verbosity_.settled(); }
  // Tells the child as much as it takes now.
  void tell(pool::Child& child);
  // Moves the child's subscriptions to other children.
  void lose_child(uint64_t child) {
    subscriptions_.lose_child(child);
    verbosity_.lose_child(child);
    settle();
  }
  [[nodiscard]] TimePoint needed_until(uint64_t child) const {
    return subscriptions_.has_any(child) ? TimePoint::max() : TimePoint::min();
  }

  // Ends the process if an invariant is broken. `sessions`: number of clients' sessions; `wishes`:
  // number of sessions with a level of their own.
  void check_invariants(size_t sessions, size_t wishes,
                        const std::function<bool(session::SessionId)>& is_open) const;

 private:
  const pool::PoolServices& services_;
  pool::Pool& pool_;
  session::Subscriptions subscriptions_;
  session::LogVerbosity verbosity_;
};

}  // namespace stdgate::backend

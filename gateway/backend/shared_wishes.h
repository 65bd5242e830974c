// SharedWishes: what sessions want of children that they share: updates of keys, and log messages
// from some level on.
//
// Job: the gateway asks shared children once for all sessions, ends what no session wants any more,
// and asks the next child when one has gone. Owner: the session router. Limits: those of
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
  // Whether a child is to be asked, and finish() to follow; else the session has subscribed
  // already.
  tl::expected<bool, rpc::FaultReport> subscribe(session::SessionId session, std::string_view key);
  void finish(const call::Call& call, Outcome outcome);
  // The number of the child that is to be asked, 0 for any; nothing: no child is, as nothing is
  // left to do or others still want it.
  std::optional<uint64_t> unsubscribe(session::SessionId session, std::string_view key);
  // Waits for a child as if the former one had gone. False: there is no room.
  bool await(session::SessionId session, std::string_view key) {
    return subscriptions_.await(session, key);
  }
  // All of the session.
  void close(session::SessionId session) { subscriptions_.close(session); }
  [[nodiscard]] size_t bytes_of(session::SessionId session) const {
    return subscriptions_.bytes_of(session);
  }
  [[nodiscard]] const session::Subscriptions& subscriptions() const { return subscriptions_; }

  // --- Log messages: a session wants them, wants another level, or has ended
  void add_session() { verbosity_.add_session(std::nullopt); }
  void replace_severity(std::optional<session::Severity> before, session::Severity now) {
    verbosity_.remove_session(before);
    verbosity_.add_session(now);
  }
  void remove_session(std::optional<session::Severity> severity) {
    verbosity_.remove_session(severity);
  }
  // A call without a session wants them: legacy children are told before it comes to them.
  void note_call(const call::Call& call) {
    const bool shares = !call.alone || services_.config.serves_one;
    if (call.severity && shares && verbosity_.note_call(*call.severity)) settle();
  }
  // Whether such a log message of a child is for a session that wants this level.
  [[nodiscard]] bool passes(uint64_t child, std::optional<session::Severity> wanted,
                            session::Severity severity) const {
    return verbosity_.passes(child, wanted, severity);
  }

  // --- Children
  // They are told what is wanted of them now.
  void settle() {
    if (!is_settled()) pool_.offer_spare_room();
  }
  [[nodiscard]] bool is_settled() const { return subscriptions_.settled() && verbosity_.settled(); }
  // As much as it takes now.
  void tell(pool::Child& child);
  // Its subscriptions move to other children.
  void lose_child(uint64_t child) {
    subscriptions_.lose_child(child);
    verbosity_.lose_child(child);
    settle();
  }
  [[nodiscard]] TimePoint needed_until(uint64_t child) const {
    return subscriptions_.has_any(child) ? TimePoint::max() : TimePoint::min();
  }

  // Ends the process if an invariant is broken. `sessions`: of clients; `wishes`: those of them
  // that want another level than all.
  void check_invariants(size_t sessions, size_t wishes,
                        const std::function<bool(session::SessionId)>& is_open) const;

 private:
  const pool::PoolServices& services_;
  pool::Pool& pool_;
  session::Subscriptions subscriptions_;
  session::LogVerbosity verbosity_;
};

}  // namespace stdgate::backend

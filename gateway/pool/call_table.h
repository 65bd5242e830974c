// CallTable: the calls that are in flight at one child, in the order in which they were sent.
//
// Job: give each call its wire id, find the call by its id, and know how much the child has to do,
// and whose calls these are: with each message of a child and of a session that is asked, so it is
// counted and not looked for. The gateway's own calls, which have no caller, are in it too: those
// of a handshake or a revival, subscriptions, a farewell. Owner: the child. Limits:
// config.pool.max_in_flight calls, as many again that no other child may get, and beside these as
// many that listen as there are ids (Correlator::kMaxEntries).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "gateway/call/call_store.h"
#include "gateway/pool/child_name.h"
#include "gateway/pool/pool_services.h"
#include "gateway/pool/session_counts.h"
#include "gateway/rpc/correlator.h"

namespace stdgate::pool {

class CallTable {
 public:
  // `child`: whose calls these are; outlives it. `isolation`: who shares it.
  CallTable(const PoolServices& services, const ChildName& child, config::Isolation isolation);

  // Only while not full(), or, of a call that is bound, full_for_bound().
  call::Call& open(call::CallPtr call);
  // A call of the gateway's own, which may set the level of log messages. Null when the table is
  // full.
  call::Call* open_own(TimePoint deadline = TimePoint::max(),
                       std::optional<session::Severity> severity = std::nullopt);
  // `call` takes the place of the call with this id, which must be in flight: the child goes on
  // with it without knowing.
  call::Call& replace(rpc::WireId id, call::CallPtr call);
  // `id` must be in flight.
  call::CallPtr close(rpc::WireId id);
  // The same for any id; null if nothing is in flight under it.
  call::CallPtr take(rpc::WireId id);
  // Ends all calls, and gives back those of clients.
  std::vector<call::CallPtr> take_all();

  // Null for an id that stands for nothing in flight.
  call::Call* find(rpc::WireId id) {
    call::CallPtr* const call = calls_.find(id);
    return call == nullptr ? nullptr : call->get();
  }
  // Whether a call had this id and has ended.
  [[nodiscard]] bool has_ended(rpc::WireId id) const { return calls_.has_ended(id); }
  // The call with an id that is in flight.
  call::Call& at(rpc::WireId id) { return *calls_.at(id); }
  // The only call in flight that can cause what the child says; null when there are none, or
  // several. One that listens causes nothing but what names it, nor does the gateway's own that
  // sets the level of log messages.
  call::Call* only() { return causing() == 1 ? &at(causing_ids_) : nullptr; }
  // Of a shared child: whether any call that can cause something is of this session.
  [[nodiscard]] bool has_call_of(session::SessionId session) const {
    return sessions_.calls_of(session) > 0;
  }
  // Of a shared child: whose are the calls that can cause what it says. Nothing: of several
  // sessions, or also of a client without one; none: there are no such calls.
  [[nodiscard]] std::optional<session::SessionId> only_session() const {
    return sessions_.only(causing());
  }
  // Of a child that is not shared.
  [[nodiscard]] bool has_calls_alone() const { return alone_ > 0; }
  // The visitor may close the call that it is given, and no other.
  template <class Visitor>
  void for_each(Visitor&& visit) {
    for (auto id = calls_.oldest(); id;) {
      const auto following = calls_.next(*id);
      visit(at(*id));
      id = following;
    }
  }

  [[nodiscard]] bool full() const { return calls_.full() || working() - bound_ >= max_working_; }
  // The same for calls that no other child may get. They have room of their own: neither kind keeps
  // the other one waiting.
  [[nodiscard]] bool full_for_bound() const { return calls_.full() || bound_ >= max_working_; }
  [[nodiscard]] size_t size() const { return calls_.size(); }
  [[nodiscard]] size_t own() const { return own_; }
  // Those that the child has something to do for: all that do not just listen.
  [[nodiscard]] size_t working() const { return calls_.size() - listening_; }
  // Grows with these calls and with the bytes of all messages.
  [[nodiscard]] size_t load() const { return working() * kBytesPerCall + bytes_; }
  // Calls of clients since the beginning.
  [[nodiscard]] uint64_t sent() const { return sent_; }
  // Since when no call is in flight; only while none is.
  [[nodiscard]] TimePoint idle_since() const { return idle_since_; }

  // Ends the process if an invariant is broken.
  void check_invariants();

 private:
  // A message of this size weighs as much as one more call in flight, so that small calls do not
  // queue behind a large one when another child has room.
  static constexpr size_t kBytesPerCall = 64 << 10;

  call::Call& put(call::CallPtr call);
  void count(const call::Call& call);
  void discount(const call::Call& call);
  void count_unusual(const call::Call& call);
  void discount_unusual(const call::Call& call);
  [[nodiscard]] size_t causing() const { return calls_.size() - silent_; }

  const PoolServices& services_;
  const ChildName& child_;
  const bool is_shared_;
  rpc::Correlator<call::CallPtr> calls_;
  const size_t max_working_;
  size_t own_ = 0;        // of `calls_`, those of the gateway
  size_t listening_ = 0;  // of `calls_`, those that listen
  size_t silent_ = 0;     // of `calls_`, those that cause nothing
  size_t bound_ = 0;      // of the others that work, those that no other child may get
  size_t bytes_ = 0;      // of the requests in flight
  // Of the others' ids each bit the odd one out: if there is one, its id.
  rpc::WireId causing_ids_ = 0;
  SessionCounts sessions_;  // of the others, at a shared child
  size_t alone_ = 0;        // of the others, at another one: those that have it alone
  uint64_t sent_ = 0;
  TimePoint idle_since_{};
};

}  // namespace stdgate::pool

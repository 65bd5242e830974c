// The calls of one child: in flight, abandoned by their callers, and taken back; and when the child
// last showed that it works.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/base/time.h"
#include "gateway/call/call_store.h"
#include "gateway/pool/child_link.h"
#include "gateway/pool/dialect.h"
#include "gateway/pool/pool_services.h"
#include "gateway/rpc/correlator.h"
#include "gateway/session/sinks.h"

namespace stdgate::pool {

// SignsOfLife: when a process last showed that it works, and whether it hangs. The clocks of its
// calls depend on that (call.h). Owner: the child.
class SignsOfLife {
 public:
  // `is_of_one`: the process serves one session, so its output concerns every call in flight.
  explicit SignsOfLife(bool is_of_one) : is_of_one_(is_of_one) {}

  // The process has read something, or written something.
  void note_reading(TimePoint now) {
    last_ = now;
    silent_timeouts_ = 0;
  }
  void note_writing(TimePoint now) {
    note_reading(now);
    if (is_of_one_) heard_ = now;
  }
  // The latest output concerns every call in flight.
  void note_heard() { heard_ = last_; }
  // Restarts the clocks of all calls in flight, without output.
  void note_heard(TimePoint now) { heard_ = now; }
  // A call has waited for a silent process until its deadline. True if the process counts as hung,
  // because that has happened to so many calls in a row.
  bool note_silent_timeout() { return ++silent_timeouts_ >= kHungAfterTimeouts; }

  [[nodiscard]] TimePoint last() const { return last_; }
  // The last sign of life that concerned every call in flight.
  [[nodiscard]] TimePoint heard() const { return heard_; }
  [[nodiscard]] bool is_silent_since(TimePoint then) const { return last_ <= then; }

 private:
  static constexpr uint32_t kHungAfterTimeouts = 3;

  const bool is_of_one_;
  TimePoint last_{};
  TimePoint heard_{};
  uint32_t silent_timeouts_ = 0;
};

// SessionCounts: how many calls each session has in flight at one child.
//
// Owner: a CallTable. Limit: one entry for each session that may be open at a time, in a vector,
// because the places of sessions are small numbers. A session that ends takes its calls along. If
// one is left nevertheless, it is not counted for the next session with the same place.
class SessionCounts {
 public:
  void add(session::SessionId session);
  // `session` has been added.
  void remove(session::SessionId session);

  // Calls of this session.
  [[nodiscard]] size_t calls_of(session::SessionId session) const;
  // The session of all calls, if there are `calls` of them; an empty id: there are no calls.
  // Nothing: the calls are of several sessions, or some are not counted here.
  [[nodiscard]] std::optional<session::SessionId> only(size_t calls) const;

 private:
  struct Entry {
    uint32_t generation = 0;
    uint16_t calls = 0;  // Correlator::kMaxEntries at most
    bool is_mixed = false;
  };
  Entry& entry_of(uint32_t place) {
    if (place >= entries_.size()) grow(place);
    return entries_[place];
  }
  void grow(uint32_t place);

  std::vector<Entry> entries_;
  size_t sessions_ = 0;  // sessions that have calls
  uint32_t places_ = 0;  // XOR of the places of these sessions: of a single session its place
};

// CallTable: the calls in flight at one child, ordered by when they were sent.
//
// Job: give each call its wire id and find a call by its id. Keep counts of the child's work and of
// the calls of each session, because each message of a child or session needs them. Upkeep is in
// the table too, calls of the gateway without a caller, which pass no filter: a handshake, a
// revival, subscriptions, a farewell. Owner: the child. Limits: config.pool.max_in_flight calls,
// and as many bound calls (Route::is_bound). Calls that listen come on top, as many as there are
// ids (Correlator::kMaxEntries).
class CallTable {
 public:
  // `child`: the owner of these calls; outlives the table. `isolation`: who shares the child.
  CallTable(const PoolServices& services, const ChildName& child, config::Isolation isolation);

  // Only while not full(); for a bound call, only while not full_for_bound().
  call::Call& open(call::CallPtr&& call);
  // Opens a call of upkeep, which may set the level of log messages. Null when the table is full.
  call::Call* open_upkeep(TimePoint deadline = TimePoint::max(),
                          std::optional<session::Severity> severity = std::nullopt);
  // Puts `call` in the place of the call with this id, which must be in flight. The child does not
  // notice.
  call::Call& replace(rpc::WireId id, call::CallPtr call);
  // `id` must be in flight.
  call::CallPtr close(rpc::WireId id);
  // Removes the call with this id, which may be any id; null: no such call is in flight.
  call::CallPtr take(rpc::WireId id);
  // Removes all calls, and returns all but upkeep.
  std::vector<call::CallPtr> take_all();

  // Null if no call with this id is in flight.
  call::Call* find(rpc::WireId id) {
    call::CallPtr* const call = calls_.find(id);
    return call == nullptr ? nullptr : call->get();
  }
  // Whether a call had this id and has ended.
  [[nodiscard]] bool has_ended(rpc::WireId id) const { return calls_.has_ended(id); }
  // The call with this id, which must be in flight.
  call::Call& at(rpc::WireId id) { return *calls_.at(id); }
  // Whether the gateway asks in its own name, for a list say, and for no session.
  static bool is_of_gateway(const call::Call& call) {
    return call.is_own && call.session.is_none();
  }
  // Whether no message of a child counts as caused by the call. Messages that name a call that
  // listens are the exception.
  static bool causes_nothing(const call::Call& call) {
    return call.listens || is_of_gateway(call) || (call.caller.is_none() && call.severity);
  }
  // The only call in flight that can cause the child's messages; null: none can, or several.
  call::Call* only() { return causing() == 1 ? &at(causing_ids_) : nullptr; }
  // Whether a call of this session can cause messages of the child, which is shared.
  [[nodiscard]] bool has_call_of(session::SessionId session) const {
    return sessions_.calls_of(session) > 0;
  }
  // The session that owns all calls that can cause messages of the child, which is shared. An empty
  // id: there are no such calls. Nothing: the calls are of several sessions, or some have no
  // session.
  [[nodiscard]] std::optional<session::SessionId> only_session() const {
    return sessions_.only(causing());
  }
  // Whether the child, which is not shared, has calls with Call::alone.
  [[nodiscard]] bool has_calls_alone() const { return alone_ > 0; }
  // The call whose progress the child names by this token; null: none. A child of a session was
  // sent its client's own tokens, but for calls with Call::alone. Other children were sent wire
  // ids.
  call::Call* with_token(std::string_view token);
  // Restarts the clocks of a session's calls.
  void note_heard(session::SessionId of, TimePoint now);
  // The visitor may close the call that it is given, and no other.
  template <class Visitor>
  void for_each(Visitor&& visit);

  [[nodiscard]] bool full() const { return calls_.full() || working() - bound_ >= max_working_; }
  // Whether there is no room for another bound call. Bound calls have room of their own, so neither
  // kind of call keeps the other waiting.
  [[nodiscard]] bool full_for_bound() const { return calls_.full() || bound_ >= max_working_; }
  [[nodiscard]] size_t size() const { return calls_.size(); }
  [[nodiscard]] size_t upkeep() const { return upkeep_; }
  // Calls that the child has to work on: all calls but the ones that listen.
  [[nodiscard]] size_t working() const { return calls_.size() - listening_; }
  // Grows with working() and with the bytes of all messages in flight.
  [[nodiscard]] size_t load() const { return working() * kBytesPerCall + bytes_; }
  // Calls so far, without upkeep.
  [[nodiscard]] uint64_t sent() const { return sent_; }
  // Since when no call is in flight. Only while none is.
  [[nodiscard]] TimePoint idle_since() const { return idle_since_; }
  // Since when no call has done more than listen. Only while working() is 0.
  [[nodiscard]] TimePoint rests_since() const { return rests_since_; }

  // Ends the process if an invariant is broken.
  void check_invariants();

 private:
  // A message of this size weighs as much as one more call in flight, so that small calls do not
  // queue behind a large one when another child has room.
  static constexpr size_t kBytesPerCall = 64 << 10;

  call::Call& put(call::CallPtr&& call);
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
  size_t upkeep_ = 0;     // calls in `calls_` without a caller
  size_t listening_ = 0;  // calls in `calls_` that listen
  size_t silent_ = 0;     // calls in `calls_` that cause nothing
  size_t bound_ = 0;      // bound calls in `calls_` that do not listen
  size_t bytes_ = 0;      // of the requests in flight
  // XOR of the ids of the calls that can cause something. A single such call makes it that call's
  // id.
  rpc::WireId causing_ids_ = 0;
  SessionCounts sessions_;  // of the calls that can cause something, at a shared child
  size_t alone_ = 0;        // calls with Call::alone, at a child that is not shared
  uint64_t sent_ = 0;
  TimePoint idle_since_{};
  TimePoint rests_since_{};
};

// AbandonedCalls: calls whose callers no longer wait, but that a child may still be working on.
//
// Job: tell whether one of them may have caused a message of the child. A call counts until its
// late answer comes, or the child ends. Time does not end it: a child may report about a call after
// an hour of silence. Owner: the child. Limit: kMaxEntries calls. Beyond it the set counts as
// neither empty nor of one session for the rest of the child's life.
class AbandonedCalls {
 public:
  static constexpr size_t kMaxEntries = 256;

  // `session`: none if the call had no session.
  void add(rpc::WireId id, session::SessionId session);
  // The late answer to this call has come. Without effect for any other id.
  void finish(rpc::WireId id);

  [[nodiscard]] bool empty() const { return calls_.empty() && !overflowed_; }
  // Whether all calls belong to this session; true if there are no calls.
  [[nodiscard]] bool are_all_of(session::SessionId session) const;
  // The session of any one call; none if there are no calls, or if that call had no session.
  [[nodiscard]] session::SessionId some_session() const;
  [[nodiscard]] size_t size() const { return calls_.size(); }
  // A message of the child was withheld because of these calls. True for the first one.
  bool note_withheld() { return !std::exchange(has_withheld_, true); }
  // Messages have been withheld, and will be.
  [[nodiscard]] bool withhold() const { return has_withheld_ && !empty(); }

 private:
  struct AbandonedCall {
    rpc::WireId id;
    session::SessionId session;
  };
  std::vector<AbandonedCall> calls_;
  bool overflowed_ = false;  // some calls are not in `calls_`
  bool has_withheld_ = false;
};

// GivenUpCalls: recognizes late answers to calls that were taken back, by the ids of the last such
// calls. Owner: the child. Limit: the last kMaxKept ids.
class GivenUpCalls {
 public:
  static constexpr size_t kMaxKept = 256;

  void add(rpc::WireId id, CancelReason why);
  // Why the call with this id was given up; nothing: the id is not known here.
  [[nodiscard]] std::optional<CancelReason> find(rpc::WireId id) const;

 private:
  struct GivenUp {
    rpc::WireId id = 0;
    CancelReason why = CancelReason::client_left;
  };
  std::vector<GivenUp> calls_;
  size_t next_ = 0;  // the next entry to overwrite or add
};

template <class Visitor>
void CallTable::for_each(Visitor&& visit) {
  for (auto id = calls_.oldest(); id;) {
    const auto following = calls_.next(*id);
    visit(at(*id));
    id = following;
  }
}

}  // namespace stdgate::pool

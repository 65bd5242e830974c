// Pool: where the calls of a backend wait, and which child they are given to.
//
// Job: give each call to the child with the least load, or to the child of its session, or to the
// one that it is bound to, or keep it until one has room, and bring every call to an end: an
// answer, a fault, or its withdrawal. Children has the processes, SessionLane the sessions with a
// child of their own, CallExpiry the deadlines. Owner: the backend, which hears of calls through
// PoolEvents; the session router hears of sessions through SessionEvents, and as ChildListener what
// children say on their own account. Invariants: a call is either in a queue or in the table of
// exactly one child; the pool's own state is consistent before any of them is called, as they may
// call back. Limits: those of Children, Child and the queues.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/pool/backend_status.h"
#include "gateway/pool/bound_calls.h"
#include "gateway/pool/call_expiry.h"
#include "gateway/pool/child.h"
#include "gateway/pool/child_listener.h"
#include "gateway/pool/children.h"
#include "gateway/pool/leases.h"
#include "gateway/pool/pool_events.h"
#include "gateway/pool/pool_services.h"
#include "gateway/pool/replacement.h"
#include "gateway/pool/session_events.h"
#include "gateway/pool/session_lane.h"
#include "gateway/pool/shared_queues.h"

namespace stdgate::pool {

class Pool final : private ChildOwner {
 public:
  Pool(const PoolServices& services, PoolEvents& events, SessionEvents& session_events,
       ChildListener& listener);
  ~Pool() override = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Starts the minimum of children.
  void start();

  // Promises a child to the session: a warm one, or as soon as there is room for one. Another
  // session that is idle gives way; while all are at work it waits for one of them, as calls do.
  // Refused when too many wait, or when sessions do not give way.
  tl::expected<void, rpc::FaultReport> open_lease(session::SessionId session,
                                                  LeaseStart start = LeaseStart::at_once) {
    return sessions_.open(session, start);
  }
  // Opens a session that is parked: its child is to be greeted as `client` says.
  void adopt_lease(session::SessionId session, const Knowledge& client) {
    sessions_.adopt(session, client);
  }
  // Sends what waits for the session's child, as far as it takes anything.
  void dispatch_lease(session::SessionId session) {
    if (Lease* const lease = leases_.find(session); lease != nullptr) leases_.dispatch(*lease);
  }
  // Whether one more call may wait for a child of its own.
  [[nodiscard]] bool has_room_alone(size_t bytes) const {
    return leases_.queued() < services_.config.pool.queue &&
           leases_.queued_bytes() + bytes <= services_.config.pool.queue_bytes;
  }
  // Of the calls that take turns (SharedQueues) one is under way, or none any more: the next one is
  // given to PoolEvents::on_call_alone().
  void hold_turns(bool held);
  // How the next shared child is to be greeted, see Children. While there is none.
  void greet_for(std::string client) { children_.greet_for(std::move(client)); }
  [[nodiscard]] bool has_shared_child() const { return children_.census().shared.alive() > 0; }
  // No child runs, and none is to be started: nobody waits for one, and none has failed of late.
  [[nodiscard]] bool is_asleep() const {
    return !is_draining() && queues_.empty() && leases_.waiting() == 0 && children_.are_asleep();
  }
  // Shared children have shown in another process that they are of this era.
  void assume_era(Era era) { children_.assume_era(era); }
  // The session has been greeted without a child: it is as one whose child has gone.
  void begin_parked(session::SessionId session) {
    if (Lease* const lease = leases_.find(session); lease != nullptr) lease->has_begun = true;
  }
  // The client of a session that is parked has completed its greeting: its next child is told.
  // False: it is not parked, or has not greeted.
  bool complete_greeting(session::SessionId session) {
    return sessions_.complete_greeting(session);
  }
  // Ends the child of a session, if the session is idle; its next message gets it another one.
  session::Parking park(session::SessionId session) { return sessions_.park(session); }
  // How many children sessions may have at a time.
  [[nodiscard]] uint32_t session_places() const {
    return services_.config.isolation == config::Isolation::shared ? 0 : own_places();
  }
  // The same with calls that have a child alone.
  [[nodiscard]] uint32_t own_places() const { return children_.session_places(); }
  // Whether there are such places, be it that none of them can be had at the moment.
  [[nodiscard]] bool has_own_places() const { return children_.most_session_places() > 0; }
  // Whether this session waits for a place.
  [[nodiscard]] bool awaits_child(session::SessionId session) const {
    const Lease* const lease = leases_.find(session);
    return lease != nullptr && lease->state == LeaseState::waiting;
  }
  // Whether a message of this session needs a child that the session does not have yet.
  [[nodiscard]] bool is_parked(session::SessionId session) const {
    return sessions_.is_parked(session);
  }
  // Whether this session has a child of its own, or is to get one.
  [[nodiscard]] bool has_lease(session::SessionId session) const {
    return leases_.find(session) != nullptr;
  }
  // What a session with a child of its own has told it; null: it has none of its own.
  [[nodiscard]] SessionMemory* memory_of(session::SessionId session) const {
    return sessions_.memory_of(session);
  }
  // Ends the session's child, and gives back the calls that were under way.
  std::vector<call::CallPtr> close_lease(session::SessionId session) {
    return sessions_.close(session);
  }
  // While held, what the session's child says is not read.
  void hold_child(session::SessionId session, bool held) { sessions_.hold_child(session, held); }

  // Takes the call, to be answered through PoolEvents (perhaps before this returns), or says why
  // not; then the call is still the caller's.
  tl::expected<void, rpc::FaultReport> submit(call::CallPtr& call, const call::Outgoing& message);
  // Gives a notification to the session's own child, or to `child` (one that waits for the
  // session's answer; 0: none), or to a shared child with a call of the session, or to any; or
  // queues it. False when there is no room for it.
  bool notify(session::SessionId session, uint64_t child, const call::Outgoing& message);
  // Passes a client's wish to cancel its call on to the child. Usually the answer is still due; a
  // call that is over by this is moved to `*ended`. False when there is no such call.
  bool request_cancel(session::Caller caller, std::string_view id, call::CallPtr* ended);
  // `call` takes the place of one that is in flight: its child goes on without knowing. It expires
  // as any call.
  void replace(call::Call& in_flight, call::CallPtr call);
  // Takes a call back that waits, or is in flight; its child is told.
  call::CallPtr take(call::Call& call, CancelReason reason);
  // Sends a shared child a request of the gateway's own, `text(id)`, whose answer is ignored.
  // Clients come first: only while can_ask().
  void ask(Child& child, const std::function<std::string(rpc::WireId)>& text);
  [[nodiscard]] bool can_ask(const Child& child) const {
    return queues_.calls.empty() && can_set_severity(child);
  }
  // The same with the level from which on it sends log messages, but what waits for a child has to
  // come after it.
  void set_severity(Child& child, session::Severity severity);
  [[nodiscard]] bool can_set_severity(const Child& child) const;
  // Tells the ChildListener of every shared child.
  void offer_spare_room();
  // Whether calls of the session are at this child, or wait for it.
  [[nodiscard]] bool has_calls_at(session::SessionId session, uint64_t child) const;
  // The child with this number, as long as it runs.
  [[nodiscard]] Child* find_child(uint64_t number) const { return children_.find(number); }
  [[nodiscard]] std::span<const std::unique_ptr<Child>> children() const { return children_.all(); }
  // Takes back, and cancels at the children, all calls of a caller.
  std::vector<call::CallPtr> withdraw(session::Caller caller) {
    return take_back([caller](const call::Call& call) { return call.caller == caller; });
  }
  // The same with all calls that listen, which would never end.
  std::vector<call::CallPtr> withdraw_listeners() {
    return take_back([](const call::Call& call) { return call.listens; });
  }
  std::vector<call::CallPtr> withdraw_listeners_of_clients() {
    return take_back([](const call::Call& call) { return call.listens && !call.is_own; });
  }
  // And all calls of sessions that share children, with those that listen for these.
  std::vector<call::CallPtr> withdraw_shared_of_sessions();

  // Shutdown, step by step: no new calls; answer what is left with a fault; end the children.
  void drain() { children_.drain(); }
  // Which era shared children speak; nothing: not known yet.
  [[nodiscard]] std::optional<Era> era() const { return children_.era(); }
  // Sessions share children from now on.
  void end_warm() { children_.end_warm(); }
  void doubt_era() { children_.doubt_era(); }
  // Sessions are to leave one place to shared children, or not any more.
  void keep_shared_place(bool keeps) {
    children_.keep_shared_place(keeps);
    if (!keeps) children_.start_needed();
  }
  // Sessions with a right to a child that have none at the moment.
  [[nodiscard]] std::vector<session::SessionId> childless_sessions() const {
    return leases_.childless_sessions();
  }
  [[nodiscard]] bool is_draining() const { return children_.is_draining(); }
  void fail_calls(const rpc::FaultReport& report);
  void end_children(Duration grace);  // none is started any more
  [[nodiscard]] size_t calls() const;
  // Messages that wait for a child, notifications too.
  [[nodiscard]] size_t queued() const { return queues_.size() + leases_.queued(); }
  [[nodiscard]] bool has_children() const { return !children_.empty(); }
  // Those that wait or are in flight, the gateway's own too.
  template <class Visitor>
  void for_each_call(Visitor&& visit) const {
    queues_.calls.for_each_call(visit);
    queues_.turns.for_each_call(visit);
    leases_.for_each([&](const Lease& lease) { lease.queue.for_each_call(visit); });
    for (const auto& child : children_.all()) {
      child->bound().for_each_call(visit);
      child->calls().for_each(visit);
    }
  }
  [[nodiscard]] size_t leases() const { return leases_.size(); }

  // Ends the process if an invariant is broken. Not from inside of a call of the core.
  void check_invariants() const;

  // Fills in everything but the name.
  void describe(BackendStatus& status) const;

 private:
  void on_child_ready(Child& child) override;
  void on_child_answer(Child& child, call::CallPtr call, const rpc::Envelope& answer) override;
  void on_child_broken_answer(Child& child, call::CallPtr call,
                              const rpc::FaultReport& report) override;
  void on_child_own_answer(Child& child, rpc::WireId id, const rpc::Envelope* answer) override;
  void on_child_ended_listening(Child& child, call::CallPtr call) override;
  void on_child_writable(Child& child) override { after_call(child); }
  void on_child_memory(Child& child) override { replacement_.look_at(child); }
  void on_child_gone(Child& child, const ChildEnd& end) override;

  std::vector<call::CallPtr> take_back(const std::function<bool(const call::Call&)>& matches);
  [[nodiscard]] call::CallQueue& queue_of(const call::Call& waiting);
  void give(Child& child, call::CallPtr call, const call::Outgoing& message);
  void dispatch_queue();
  void dispatch_turns();
  tl::expected<void, rpc::FaultReport> wait_for_turn(call::CallPtr& call,
                                                     const call::Outgoing& message);
  void dispatch_all();
  void after_call(Child& child);
  void settle(Child& child);
  void watch_queue();
  void settle_shared_places();
  void cancel_in_flight(call::Call& call, call::CallPtr* ended);
  void cancel_waiting(call::Call& call, call::CallPtr* ended);
  [[nodiscard]] Child* child_with_call_of(session::SessionId session) const;
  [[nodiscard]] bool serves_shared_calls() const;
  void fail_queue(const rpc::FaultReport& report);
  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }

  const PoolServices& services_;
  PoolEvents& events_;
  SessionEvents& session_events_;
  ChildListener& listener_;
  SharedQueues queues_;
  Leases leases_;
  Children children_;
  SessionLane sessions_;
  Replacement replacement_;
  BoundCalls bound_;
  CallExpiry expiry_;
  bool paused_ = false;  // those that share children have been told to wait
  Timer sweep_timer_;    // some children have gone
};

}  // namespace stdgate::pool

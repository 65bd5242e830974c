// Pool: where the calls of a backend wait, and which child they are given to.
//
// Job: give each call to the least loaded child, to the child of its session, or to the child that
// it is bound to, and keep it until a child has room. Bring every call to an end: an answer, a
// fault, or its withdrawal. Children has the processes, SessionLane the sessions with a child of
// their own, CallExpiry the deadlines. Calls end in the chain. SessionRouter hears of sessions
// (SessionEvents), ChainListener of children's messages (ChildListener). Owner: the backend.
// Invariants: a call is either in a queue or in the table of exactly one child; the pool is
// consistent before it calls these, as they may call back. Limits: of Children, Child, the queues.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/pool/backend_status.h"
#include "gateway/pool/bound_calls.h"
#include "gateway/pool/bridge.h"
#include "gateway/pool/call_expiry.h"
#include "gateway/pool/child.h"
#include "gateway/pool/children.h"
#include "gateway/pool/leases.h"
#include "gateway/pool/pool_events.h"
#include "gateway/pool/pool_services.h"
#include "gateway/pool/replacement.h"
#include "gateway/pool/session_lane.h"

namespace stdgate::pool {

class Pool {
 public:
  using Matches = std::function<bool(const call::Call&)>;

  Pool(const PoolServices& services, Bridge& bridge, SessionEvents& session_events,
       ChildListener& listener);
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Starts the minimum of children.
  void start();

  // Sessions with a child of their own.
  [[nodiscard]] SessionLane& lane() { return sessions_; }
  [[nodiscard]] const SessionLane& lane() const { return sessions_; }
  // Says whether one of the calls that take turns (SharedQueues) is under way. If not, the next one
  // is given to Bridge::on_call_alone().
  void hold_turns(bool held);
  [[nodiscard]] bool is_turn_taken() const { return queues_.is_turn_taken; }
  // How to greet the next shared child, see Children. Only while there is no shared child.
  void greet_for(Introduction client) { children_.greet_for(std::move(client)); }
  [[nodiscard]] bool has_shared_child() const { return children_.census().shared.alive() > 0; }
  // No child runs and none is to be started, because nothing waits for one and none has failed of
  // late.
  [[nodiscard]] bool is_asleep() const {
    return !is_draining() && queues_.empty() && leases_.waiting() == 0 && children_.are_asleep();
  }
  // Shared children have shown this kind in another process.
  void assume_peer_kind(PeerKind peer_kind) { children_.assume_peer_kind(peer_kind); }
  // How many children sessions may have at a time.
  [[nodiscard]] uint32_t session_places() const {
    return services_.config.isolation == config::Isolation::shared ? 0 : children_.session_places();
  }
  // Whether sessions may have such places at all, even if none is free at the moment.
  [[nodiscard]] bool has_own_places() const { return children_.most_session_places() > 0; }

  // Takes the call, whose answer goes up the chain, perhaps before this returns. An error says
  // why the call is refused; then it still belongs to the caller.
  tl::expected<void, rpc::FaultReport> submit(call::CallPtr& call, const call::Outgoing& message);
  // Like submit(), but a call that is not taken ends with the fault.
  void send(call::CallPtr call, const call::Outgoing& message);
  // Gives a notification to the session's own child; or to `child`, which waits for an answer of
  // the session (0: none); or to a shared child with a call of the session; or to any child. Queues
  // it if need be. False when there is no room for it.
  bool notify(session::SessionId session, uint64_t child, const call::Outgoing& message);
  // Passes a client's cancel of its call on to the child. Usually the answer is still due; a call
  // that is over with the cancel is moved to `*ended`. False when there is no such call.
  bool request_cancel(session::Caller caller, std::string_view id, call::CallPtr* ended);
  // Puts `call` in the place of a call in flight; the child does not notice. The deadline of `call`
  // holds.
  void replace(call::Call& in_flight, call::CallPtr call);
  // Takes back a call that waits or is in flight. Its child is told.
  call::CallPtr take(call::Call& call, CancelReason reason);
  // Takes back calls that wait for a child, and looks again which of the others children may get.
  std::vector<call::CallPtr> take_waiting(const Matches& matches);
  // Sends a shared child a request of the gateway's own, `text(id)`, whose answer is ignored. Only
  // while can_ask(), because clients come first.
  void ask(Child& child, const std::function<std::string(rpc::WireId)>& text) {
    const TimePoint deadline = now() + services_.config.timeout;
    child.ask(text, deadline);
    expiry_.arm(deadline);
  }
  [[nodiscard]] bool can_ask(const Child& child) const {
    return queues_.calls.empty() && can_set_severity(child);
  }
  // Sets the level of a child's log messages. Waiting calls do not prevent it, because they have to
  // come after it.
  void set_severity(Child& child, session::Severity severity) {
    const TimePoint deadline = now() + services_.config.timeout;
    child.set_severity(severity, deadline);
    expiry_.arm(deadline);
  }
  [[nodiscard]] bool can_set_severity(const Child& child) const;
  // Tells the ChildListener of every shared child.
  void offer_spare_room();
  // The child with this number, as long as it runs.
  [[nodiscard]] Child* find_child(uint64_t number) const { return children_.find(number); }
  [[nodiscard]] std::span<const std::unique_ptr<Child>> children() const { return children_.all(); }
  // Takes back these calls, and cancels them where they are in flight.
  std::vector<call::CallPtr> withdraw(const Matches& matches);

  // Shutdown, step by step: take no new calls; end the rest with a fault; end the children.
  void drain() { children_.drain(); }
  // Which kind shared children speak; nothing: not known yet.
  [[nodiscard]] std::optional<PeerKind> peer_kind() const { return children_.peer_kind(); }
  [[nodiscard]] BackendState state() const { return children_.state(); }
  // Ends warm children, because sessions share children from now on.
  void end_warm() { children_.end_warm(); }
  void doubt_peer_kind() { children_.doubt_peer_kind(); }
  // Whether sessions have to leave one place to shared children.
  void keep_shared_place(bool keeps) {
    children_.keep_shared_place(keeps);
    if (!keeps) children_.start_needed();
  }
  [[nodiscard]] bool is_draining() const { return children_.is_draining(); }
  void fail_calls(const rpc::FaultReport& report);
  void end_children(Duration grace);  // none is started any more
  [[nodiscard]] size_t calls() const;
  // Messages that wait for a child, notifications included.
  [[nodiscard]] size_t queued() const { return queues_.size() + leases_.queued(); }
  [[nodiscard]] bool has_children() const { return !children_.empty(); }
  // Calls that wait or are in flight, the gateway's own included.
  template <class Visitor>
  void for_each_call(Visitor&& visit) const;
  [[nodiscard]] size_t leases() const { return leases_.size(); }
  // Gives the call to a child that has room for it, or lets the handshake's answer be its answer.
  void give(Child& child, call::CallPtr&& call, const call::Outgoing& message);

  // --- Called by children, from the outermost level of the loop. They outlive the call
  void on_child_ready(Child& child);
  // The call has left the child's table.
  void on_child_answer(Child& child, call::CallPtr&& call, const rpc::Envelope& answer);
  // The child's answer to `call` makes no sense.
  void on_child_broken_answer(Child& child, call::CallPtr call, const rpc::FaultReport& report);
  // The child has answered a request of the gateway's own; null: the answer makes no sense. The
  // request has left the child's table.
  void on_child_upkeep_answer(Child& child, rpc::WireId id, const rpc::Envelope* answer);
  // The child has ended what the call listens to. The call has left the child's table.
  void on_child_ended_listening(Child& child, call::CallPtr call);
  // The child may have room again.
  void on_child_writable(Child& child) { after_call(child); }
  void on_child_memory(Child& child) { replacement_.look_at(child); }
  // The last call for a child. Its calls are still in its table.
  void on_child_gone(Child& child, const ChildEnd& end);

  // Ends the process if an invariant is broken. Must not be called from within the core.
  void check_invariants() const;

  // Fills in everything but the name.
  void describe(BackendStatus& status) const;

 private:
  std::vector<call::CallPtr> take_queued(const Matches& matches);
  [[nodiscard]] call::CallQueue& queue_of(const call::Call& waiting);
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
  Bridge& bridge_;
  SessionEvents& session_events_;
  ChildListener& listener_;
  SharedQueues queues_;
  Leases leases_;
  Children children_;
  SessionLane sessions_;
  Replacement replacement_;
  BoundCalls bound_;
  CallExpiry expiry_;
  bool paused_ = false;  // sessions that share children have been told to wait
  Timer sweep_timer_;    // some children have gone
};

template <class Visitor>
void Pool::for_each_call(Visitor&& visit) const {
  queues_.calls.for_each_call(visit);
  queues_.turns.for_each_call(visit);
  leases_.for_each([&](const Lease& lease) { lease.queue.for_each_call(visit); });
  for (const auto& child : children_.all()) {
    child->bound().for_each_call(visit);
    child->calls().for_each(visit);
  }
}

}  // namespace stdgate::pool

#include "gateway/pool/pool.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "gateway/base/check.h"
#include "gateway/pool/message_log.h"

namespace stdgate::pool {

namespace {

// Limit of the gateway's own requests in flight at one child, so that room for clients is left.
constexpr size_t kMaxOwnRequests = 8;

rpc::FaultReport no_place() {
  return rpc::faults::overloaded("every child of this backend belongs to a session");
}

void append(std::vector<call::CallPtr>& calls, std::vector<call::CallPtr> more) {
  std::ranges::move(more, std::back_inserter(calls));
}

}  // namespace

Pool::Pool(const PoolServices& services, Bridge& bridge, SessionEvents& session_events,
           ChildListener& listener)
    : services_(services),
      bridge_(bridge),
      session_events_(session_events),
      listener_(listener),
      queues_(services.config, services.payer.held),
      leases_(services, session_events),
      children_(services, *this, listener, queues_, leases_),
      sessions_(services, listener, session_events, leases_, children_,
                [this] { settle_shared_places(); }),
      replacement_(services, children_, leases_, sessions_, listener),
      bound_(services, *this, bridge, queues_.calls, children_),
      expiry_(services, session_events, queues_, leases_, children_, [this] { dispatch_all(); }),
      sweep_timer_(services.core.timers, [this] { children_.sweep(); }) {}

void Pool::start() {
  if (const auto found = services_.core.launcher.look_for(services_.launch); !found) {
    services_.core.log.write(LogLevel::warn, "children cannot start",
                             {{"backend", services_.config.name}, {"why", found.error().text()}});
  }
  // The first child of serves_one is greeted as its first client would.
  if (!services_.config.serves_one) children_.start_needed();
}

// --- Calls in -------------------------------------------------------------------------------

void Pool::send(call::CallPtr call, const call::Outgoing& message) {
  if (const auto taken = submit(call, message); !taken) {
    services_.chain.on_fault(std::move(call), taken.error());
  }
}

tl::expected<void, rpc::FaultReport> Pool::submit(call::CallPtr& call,
                                                  const call::Outgoing& message) {
  if (is_draining()) return tl::unexpected(rpc::faults::shutting_down());
  expiry_.watch(*call);
  const call::Call& waiting = *call;  // stays where it is while it waits
  if (Lease* lease = leases_.find(call->session); lease != nullptr) {
    call->route.is_bound = false;
    return sessions_.submit(*lease, call, message);
  }
  children_.kept().note_call(call->arrived);
  if (call->route.is_bound) return bound_.submit(call, message);
  if (queues_.takes_turns(*call)) return wait_for_turn(call, message);
  // A new call overtakes only calls that no child with room may get.
  if (queues_.calls.empty() || (queues_.calls.size() <= call::CallQueue::kMaxPassed &&
                                children_.least_loaded(queues_.calls.front()) == nullptr)) {
    const uint64_t wanted = call->route.child;
    Child* child = wanted == 0 ? children_.least_loaded(call.get()) : find_child(wanted);
    if (child != nullptr && (wanted == 0 || (child->has_room() && child->admits(*call)))) {
      give(*child, std::move(call), message);
      tl::expected<void, rpc::FaultReport> given;  // {} would fill the room of a fault with zeros
      return given;
    }
  }
  if (!serves_shared_calls()) return tl::unexpected(children_.breaker_report());
  if (children_.shared_places() == 0 && !sessions_.free_place() && !sessions_.frees_place_soon()) {
    return tl::unexpected(no_place());
  }
  if (!bound_.has_room(message.bytes())) {
    return tl::unexpected(rpc::faults::overloaded("the queue of this backend is full"));
  }
  queues_.calls.push(std::move(call), message);
  if (services_.logs_messages) log_queued(services_, waiting, queues_.calls.size());
  watch_queue();
  children_.start_needed();
  sessions_.settle();  // they may have the places that are kept for such calls
  return {};
}

// Sessions may have got the last places. Then an idle session gives way to calls without a session.
void Pool::settle_shared_places() {
  if (queues_.calls.empty() || children_.shared_places() > 0) return;
  if (sessions_.free_place()) return children_.start_needed();
  if (!sessions_.frees_place_soon()) fail_queue(no_place());
}

tl::expected<void, rpc::FaultReport> Pool::wait_for_turn(call::CallPtr& call,
                                                         const call::Outgoing& message) {
  if (!serves_shared_calls()) return tl::unexpected(children_.breaker_report());
  if (!queues_.turns.has_room(message.bytes())) {
    return tl::unexpected(rpc::faults::overloaded("the queue of this backend is full"));
  }
  const call::Call& waiting = *call;
  queues_.turns.push(std::move(call), message);
  if (services_.logs_messages) log_queued(services_, waiting, queues_.turns.size());
  dispatch_turns();
  children_.start_needed();
  return {};
}

void Pool::hold_turns(bool held) {
  queues_.is_turn_taken = held;
  if (held) return;
  dispatch_turns();
  children_.start_needed();
}

call::CallQueue& Pool::queue_of(const call::Call& waiting) {
  if (waiting.route.is_bound) return BoundCalls::queue_of(waiting, children_);
  Lease* const lease = leases_.find(waiting.session);
  return lease == nullptr ? queues_.of(waiting) : lease->queue;
}

bool Pool::notify(session::SessionId session, uint64_t child, const call::Outgoing& message) {
  if (is_draining()) return false;
  if (Lease* lease = leases_.find(session); lease != nullptr) {
    return sessions_.notify(*lease, message);
  }
  if (queues_.calls.empty()) {
    Child* receiver = child != 0 ? find_child(child) : child_with_call_of(session);
    if (receiver == nullptr || !receiver->has_room()) receiver = children_.least_loaded();
    if (receiver != nullptr) {
      receiver->send_message(message);
      return true;
    }
  }
  if (!serves_shared_calls() || children_.shared_places() == 0 ||
      !bound_.has_room(message.bytes())) {
    return false;
  }
  queues_.calls.push(nullptr, message);
  watch_queue();
  children_.start_needed();
  return true;
}

bool Pool::can_set_severity(const Child& child) const {
  return child.isolation() == config::Isolation::shared && !is_draining() && child.has_room() &&
         child.upkeep_in_flight() < kMaxOwnRequests;
}

void Pool::offer_spare_room() {
  for (const auto& child : children_.all()) {
    if (child->isolation() == config::Isolation::shared) listener_.on_spare_room(*child);
  }
}

// Whether calls may wait for the shared lane, which they may not while its children keep failing.
bool Pool::serves_shared_calls() const {
  return !children_.is_tripped() || children_.census().shared.ready > 0 || children_.is_trial_due();
}

Child* Pool::child_with_call_of(session::SessionId session) const {
  for (const auto& child : children_.all()) {
    if (!session.is_none() && child->calls().has_call_of(session)) return child.get();
  }
  return nullptr;
}

void Pool::give(Child& child, call::CallPtr&& call, const call::Outgoing& message) {
  const bool is_stateless = child.peer_kind() == PeerKind::stateless;
  if (!call->route.suits(child.peer_kind())) {
    bound_.redirect(std::move(call), message);
  } else if (call->needs_stateless && !is_stateless) {
    bridge_.on_wrong_peer_kind(std::move(call));
  } else if (call->alone && call->session.is_none() && !is_stateless) {
    bridge_.on_call_alone(std::move(call), message);
  } else if (message.answered_by_handshake && !(is_stateless && message.only_of_stateful)) {
    call->child_kind = child.peer_kind();
    services_.chain.on_answer(std::move(call), child.handshake_answer());
  } else if (call->listens && !is_stateless) {
    const bool is_new = !std::exchange(call->has_begun, true);
    const call::Call& held = child.hold(std::move(call));
    if (is_new) bridge_.on_listening(held, child.facts());
  } else {
    child.send(std::move(call), message);
    replacement_.look_at(child);
  }
}

void Pool::dispatch_queue() {
  using Choice = call::CallQueue::Choice;
  Child* child = nullptr;
  const auto choose = [&](const call::Call* call) {
    child = children_.least_loaded(call);
    if (child != nullptr) return Choice::take;
    return children_.least_loaded() != nullptr ? Choice::pass_over : Choice::stop;
  };
  while (auto waiting = queues_.calls.pop_first(choose)) {
    const call::Outgoing message = waiting->outgoing();
    waiting->call ? give(*child, std::move(waiting->call), message) : child->send_message(message);
    queues_.calls.reuse(*std::move(waiting));
  }
  watch_queue();
  dispatch_turns();
  if (queues_.wanting() > 0) children_.start_needed();
}

// A stateless child asks nothing, so its calls need no turn.
void Pool::dispatch_turns() {
  while (!queues_.turns.empty()) {
    Child* const child = children_.least_loaded(queues_.turns.front());
    if (child == nullptr || (queues_.is_turn_taken && child->peer_kind() != PeerKind::stateless))
      return;
    call::WaitingMessage waiting = queues_.turns.pop();
    give(*child, std::move(waiting.call), waiting.outgoing());
    queues_.turns.reuse(std::move(waiting));
  }
}

void Pool::watch_queue() {
  const call::CallQueue& queue = queues_.calls;
  if (!(paused_ ? queue.is_quarter_full_at_most() : queue.is_half_full())) return;
  paused_ = !paused_;
  session_events_.on_reading(session::SessionId(), !paused_);
}

// --- Calls out ------------------------------------------------------------------------------

void Pool::on_child_ready(Child& child) {
  const auto former_kind = children_.peer_kind();
  children_.note_ready(child);
  if (const auto peer_kind = children_.peer_kind(); peer_kind && peer_kind != former_kind)
    bridge_.on_peer_kind(*peer_kind);
  after_call(child);
  children_.start_needed();
}

void Pool::on_child_answer(Child& child, call::CallPtr&& call, const rpc::Envelope& answer) {
  children_.note_answer(child, answer.kind);
  services_.chain.on_answer(std::move(call), answer);
  after_call(child);
}

void Pool::on_child_broken_answer(Child& child, call::CallPtr call,
                                  const rpc::FaultReport& report) {
  services_.chain.on_fault(std::move(call), report);
  after_call(child);
}

void Pool::on_child_upkeep_answer(Child& child, rpc::WireId id, const rpc::Envelope* answer) {
  sessions_.note_own_answer(child, id, answer);
  after_call(child);
}

void Pool::on_child_ended_listening(Child& child, call::CallPtr call) {
  bridge_.on_listening_end(std::move(call));
  after_call(child);
}

void Pool::after_call(Child& child) {
  if (child.isolation() == config::Isolation::session) {
    if (Lease* lease = leases_.find(child.lease()); lease != nullptr) leases_.dispatch(*lease);
    sessions_.settle();
    return settle(child);
  }
  if (!child.bound().empty()) bound_.dispatch(child);
  if (child.is_retiring()) {
    children_.end_retired(child);
  } else {
    // A log level goes before the calls that want it, other requests of the gateway go after them.
    listener_.on_spare_room(child);
    if (queues_.wanting() > 0) {
      dispatch_queue();
      listener_.on_spare_room(child);
    }
  }
  settle(child);
}

void Pool::settle(Child& child) {
  child.settle_state();
  children_.watch_idle(child);
  replacement_.look_at(child);
}

bool Pool::request_cancel(session::Caller caller, std::string_view id, call::CallPtr* ended) {
  call::Call* call = services_.calls.index().find(caller, id);
  if (call == nullptr) return false;
  if (call->place == call::CallPlace::in_flight) {
    cancel_in_flight(*call, ended);
  } else {
    cancel_waiting(*call, ended);
  }
  return true;
}

void Pool::cancel_in_flight(call::Call& call, call::CallPtr* ended) {
  Child* const child = find_child(call.child);
  STDGATE_CHECK(child != nullptr);
  if (!services_.dialect.traits().cancel_ends_call) {
    child->request_cancel(call.wire_id, CancelReason::client_cancelled);
    return;
  }
  *ended = child->abandon(call.wire_id, CancelReason::client_cancelled);
  after_call(*child);
}

void Pool::cancel_waiting(call::Call& call, call::CallPtr* ended) {
  if (!services_.dialect.traits().cancel_ends_call) {
    call.cancel_on_send = true;
    return;
  }
  *ended = queue_of(call).take(call);
  if (Lease* const lease = leases_.find((*ended)->session); lease != nullptr) {
    leases_.dispatch(*lease);
  } else {
    watch_queue();
  }
}

void Pool::replace(call::Call& in_flight, call::CallPtr call) {
  Child* const child = find_child(in_flight.child);
  STDGATE_CHECK(child != nullptr && in_flight.place == call::CallPlace::in_flight);
  expiry_.watch(*call);
  child->calls().replace(in_flight.wire_id, std::move(call));
}

call::CallPtr Pool::take(call::Call& call, CancelReason reason) {
  if (call.place == call::CallPlace::waiting) return queue_of(call).take(call);
  Child* const child = find_child(call.child);
  STDGATE_CHECK(child != nullptr);
  call::CallPtr taken = child->abandon(call.wire_id, reason);
  // A shared child has room for another call now; a child alone has served its only one.
  if (child->isolation() == config::Isolation::shared) after_call(*child);
  return taken;
}

std::vector<call::CallPtr> Pool::withdraw(const Matches& matches) {
  std::vector<call::CallPtr> withdrawn = take_queued(matches);
  for (const auto& child : children_.all()) {
    child->calls().for_each([&](const call::Call& call) {
      if (matches(call)) {
        withdrawn.push_back(child->abandon(call.wire_id, CancelReason::client_left));
      }
    });
  }
  dispatch_all();
  return withdrawn;
}

std::vector<call::CallPtr> Pool::take_queued(const Matches& matches) {
  std::vector<call::CallPtr> taken = queues_.calls.take_all(matches);
  append(taken, queues_.turns.take_all(matches));
  leases_.for_each([&](Lease& lease) { append(taken, lease.queue.take_all(matches)); });
  for (const auto& child : children_.all()) append(taken, child->bound().take_all(matches));
  return taken;
}

std::vector<call::CallPtr> Pool::take_waiting(const Matches& matches) {
  std::vector<call::CallPtr> taken = take_queued(matches);
  dispatch_all();
  return taken;
}

void Pool::fail_calls(const rpc::FaultReport& report) {
  std::vector<call::CallPtr> calls;
  for (const auto& child : children_.all()) {
    append(calls, child->take_calls());
    child->settle_state();
  }
  append(calls, bound_.take_calls());
  leases_.for_each([&calls](Lease& lease) { append(calls, lease.queue.take_calls()); });
  for (call::CallPtr& call : calls) services_.chain.on_fault(std::move(call), report);
  fail_queue(report);
}

void Pool::fail_queue(const rpc::FaultReport& report) {
  const size_t messages = queues_.calls.size();
  // Taken out first: calls that on_fault() adds to the queue are not failed.
  std::vector<call::CallPtr> calls = queues_.calls.take_calls();
  for (size_t i = calls.size(); i < messages; ++i) services_.drop(DropReason::overloaded);
  watch_queue();
  append(calls, queues_.turns.take_calls());
  for (call::CallPtr& call : calls) services_.chain.on_fault(std::move(call), report);
}

// Notifications alone do not count: they have no deadline, and perhaps no child ever comes.
size_t Pool::calls() const {
  size_t count = queues_.turns.size() + (queues_.calls.has_calls() ? queues_.calls.size() : 0);
  leases_.for_each([&count](const Lease& lease) {
    if (lease.queue.has_calls()) count += lease.queue.size();
  });
  for (const auto& child : children_.all()) count += child->in_flight();
  // The gateway's own requests count only where a client or a session waits for them.
  for_each_call([&count](const call::Call& call) {
    count -= call.is_own && call.caller == session::Callers::kGateway && call.session.is_none();
  });
  return count + bound_.size();
}

void Pool::dispatch_all() {
  dispatch_queue();
  leases_.for_each([this](Lease& lease) { leases_.dispatch(lease); });
  sessions_.settle();
  for (const auto& child : children_.all()) {
    bound_.dispatch(*child);
    if (child->is_retiring()) children_.end_retired(*child);
    settle(*child);
  }
  offer_spare_room();
}

// --- Children that have gone ----------------------------------------------------------------

void Pool::on_child_gone(Child& child, const ChildEnd& end) {
  services_.core.observer.on_child_exited(services_.backend, end.reason);
  std::vector<call::CallPtr> calls = child.take_calls();
  std::vector<call::WaitingMessage> bound = BoundCalls::take_all(child);
  Lease* lease = leases_.find(child.lease());
  // A session may end its child itself, by its protocol.
  const bool is_finished = lease != nullptr && end.reason == ExitReason::exit_zero &&
                           calls.empty() && !lease->queue.has_calls();
  const bool failed =
      !children_.excuses(child, end) && end.reason != ExitReason::asked && !is_finished;
  children_.remove(child, end, !failed, lease != nullptr);
  sweep_timer_.arm(now());
  listener_.on_child_gone(child);
  replacement_.note_gone();
  const rpc::FaultReport report = rpc::faults::child_failed(end.message, end.detail);
  if (lease != nullptr) {
    sessions_.lose_child(*lease,
                         is_finished ? session::SessionEnd::finished : session::SessionEnd::failed,
                         report, std::move(calls));
    calls.clear();
  }
  children_.start_needed();
  bound_.tell_lost(std::move(bound));
  for (call::CallPtr& call : calls) {
    call->listens ? bridge_.on_listener_lost(std::move(call), report)
                  : services_.chain.on_fault(std::move(call), report);
  }
  if (!failed) return;
  const Children::Census left = children_.census();
  const bool is_tripped = children_.is_tripped();
  // Waiting helps a backend that has lost a running child, not a backend that cannot start.
  if ((is_tripped || !end.was_ready) && left.shared.alive() == 0) {
    fail_queue(is_tripped ? children_.breaker_report() : report);
  }
  if (!children_.is_tripped() || left.alive() > 0) return;
  sessions_.fail_waiting(children_.breaker_report());
}

void Pool::end_children(Duration grace) {
  const rpc::FaultReport report = rpc::faults::shutting_down();
  children_.end_all(report.message, grace);
  for (call::CallPtr& call : bound_.take_calls()) services_.chain.on_fault(std::move(call), report);
  fail_queue(report);
  sessions_.fail_waiting(report);
}

// --- State ----------------------------------------------------------------------------------

void Pool::describe(BackendStatus& status) const {
  status.queued = queues_.calls.size() + queues_.turns.size() + bound_.size() + leases_.queued();
  status.queued_bytes =
      queues_.calls.bytes() + queues_.turns.bytes() + bound_.bytes() + leases_.queued_bytes();
  status.missing_places = sessions_.missing_places();
  children_.describe(status);
  replacement_.describe(status);
}

void Pool::check_invariants() const {
  children_.check_invariants();
  queues_.calls.check_invariants();
  queues_.turns.check_invariants();
  expiry_.check_invariants();
}

}  // namespace stdgate::pool

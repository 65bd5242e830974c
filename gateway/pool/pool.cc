// Calls on their way in and out. The children are in pool_children.cc.
#include "gateway/pool/pool.h"

#include <algorithm>
#include <utility>

namespace stdgate {

namespace {

// Requests of the gateway's own in flight at one child: they are to leave room for clients.
constexpr size_t kMostOwnRequests = 8;

FaultReport overloaded_report(std::string message) {
  return {Fault::overloaded, std::move(message), {}, std::chrono::seconds(1)};
}

FaultReport no_place_report() {
  return overloaded_report("every child of this backend belongs to a session");
}

}  // namespace

Pool::Pool(const PoolServices& services, PoolEvents& events)
    : services_(services),
      events_(events),
      breaker_(services.config.pool, services.core.random),
      queue_(services.config.pool),
      lane_(services.config.pool, events),
      restart_timer_(services.core.timers, [this] { start_what_is_needed(); }),
      deadline_timer_(services.core.timers, [this] { expire_deadlines(); }),
      idle_timer_(services.core.timers, [this] { end_idle_children(); }),
      sweep_timer_(services.core.timers, [this] { gone_.clear(); }) {}

Pool::~Pool() = default;

FaultReport Pool::shutdown_report() { return overloaded_report("the gateway is shutting down"); }

void Pool::start() { start_what_is_needed(); }

// --- Calls in -------------------------------------------------------------------------------

tl::expected<void, FaultReport> Pool::submit(CallPtr& call, const Outgoing& message) {
  if (draining_) return tl::unexpected(shutdown_report());
  const TimePoint deadline = call->deadline;
  if (Lease* lease = lane_.find(call->session); lease != nullptr) {
    auto taken = lane_.submit(*lease, call, message);
    if (taken) arm_deadline(deadline);
    return taken;
  }
  if (queue_.empty()) {
    Child* child = message.child == 0 ? least_loaded() : find_child(message.child);
    if (child != nullptr && child->has_room()) {
      give(*child, std::move(call), message);
      arm_deadline(deadline);
      return {};
    }
  }
  if (breaker_.tripped() && census().shared.ready == 0) return tl::unexpected(breaker_report());
  if (shared_places() == 0) return tl::unexpected(no_place_report());
  if (!queue_.has_room(message.text.size())) {
    return tl::unexpected(overloaded_report("the queue of this backend is full"));
  }
  queue_.push(std::move(call), message);
  arm_deadline(deadline);
  watch_queue();
  start_what_is_needed();
  return {};
}

bool Pool::notify(SessionId session, uint64_t child, const Outgoing& message) {
  if (draining_) return false;
  if (Lease* lease = lane_.find(session); lease != nullptr) return lane_.notify(*lease, message);
  if (queue_.empty()) {
    Child* receiver = child != 0 ? find_child(child) : child_with_call_of(session);
    if (receiver == nullptr || !receiver->has_room()) receiver = least_loaded();
    if (receiver != nullptr) {
      receiver->send_message(message);
      return true;
    }
  }
  if ((breaker_.tripped() && census().shared.ready == 0) || shared_places() == 0 ||
      !queue_.has_room(message.text.size())) {
    return false;
  }
  queue_.push(nullptr, message);
  watch_queue();
  start_what_is_needed();
  return true;
}

bool Pool::can_ask(const Child& child) const {
  return child.lane() == Isolation::shared && !draining_ && queue_.empty() && child.has_room() &&
         child.own_in_flight() < kMostOwnRequests;
}

void Pool::ask(Child& child, const std::function<std::string(WireId)>& text) {
  const TimePoint deadline = now() + services_.config.timeout;
  child.ask(text, deadline);
  arm_deadline(deadline);
}

void Pool::offer_spare_room() {
  for (const auto& child : children_) {
    if (can_ask(*child)) events_.on_spare_room(*child);
  }
}

Child* Pool::find_child(uint64_t number) const {
  const auto found = std::find_if(children_.begin(), children_.end(), [number](const auto& child) {
    return child->number() == number;
  });
  return found == children_.end() ? nullptr : found->get();
}

Child* Pool::child_with_call_of(SessionId session) const {
  if (session.is_none()) return nullptr;
  for (const auto& child : children_) {
    Correlator<CallPtr>& calls = child->calls();
    for (auto id = calls.oldest(); id; id = calls.next(*id)) {
      if ((*calls.find(*id))->session == session) return child.get();
    }
  }
  return nullptr;
}

Child* Pool::least_loaded() {
  Child* best = nullptr;
  for (const auto& child : children_) {
    if (child->lane() != Isolation::shared || !child->has_room()) continue;
    if (best == nullptr || child->load() < best->load()) best = child.get();
  }
  return best;
}

void Pool::give(Child& child, CallPtr call, const Outgoing& message) {
  if (message.answered_by_handshake) {
    events_.on_answer(std::move(call), child.handshake_answer());
  } else {
    child.send(std::move(call), message);
  }
}

void Pool::dispatch_queue() {
  while (!queue_.empty()) {
    Child* child = least_loaded();
    if (child == nullptr) break;
    WaitingMessage waiting = queue_.pop();
    if (waiting.call) {
      give(*child, std::move(waiting.call), waiting.outgoing());
    } else {
      child->send_message(waiting.outgoing());
    }
    queue_.reuse(std::move(waiting));
  }
  watch_queue();
  if (!queue_.empty()) start_what_is_needed();
}

void Pool::watch_queue() {
  if (!paused_ && queue_.is_half_full()) {
    paused_ = true;
    events_.on_reading(SessionId(), false);
  } else if (paused_ && queue_.is_quarter_full_at_most()) {
    paused_ = false;
    events_.on_reading(SessionId(), true);
  }
}

// --- Sessions with a child of their own -----------------------------------------------------

tl::expected<void, FaultReport> Pool::open_lease(SessionId session) {
  if (draining_) return tl::unexpected(shutdown_report());
  if (breaker_.tripped() && census().ready() == 0) return tl::unexpected(breaker_report());
  if (lane_.size() >= session_places()) {
    return tl::unexpected(overloaded_report("every child that sessions may have is taken"));
  }
  lane_.open(session);
  for (const auto& child : children_) {
    const bool is_warm = child->lane() == Isolation::session && child->lease().is_none() &&
                         child->state() != ChildState::draining;
    if (!is_warm) continue;
    lane_.attach(*child);
    break;
  }
  make_places();
  start_what_is_needed();
  if (shared_places() == 0) fail_queue(no_place_report());
  return {};
}

std::vector<CallPtr> Pool::close_lease(SessionId session) {
  const std::unique_ptr<Lease> lease = lane_.close(session);
  std::vector<CallPtr> calls = lease->queue.take_calls();
  if (lease->child != nullptr) {
    Child& child = *lease->child;
    for (CallPtr& call : child.take_calls()) calls.push_back(std::move(call));
    child.set_lease(SessionId());
    child.dismiss("its session has ended");
  }
  start_what_is_needed();
  return calls;
}

void Pool::hold_child(SessionId session, bool held) {
  if (Lease* lease = lane_.find(session); lease != nullptr) lane_.hold(*lease, held);
}

// --- Calls out ------------------------------------------------------------------------------

void Pool::on_child_answer(Child& child, CallPtr call, const Envelope& answer) {
  breaker_.on_success();
  events_.on_answer(std::move(call), answer);
  after_call(child);
}

void Pool::on_child_broken_answer(Child& child, CallPtr call, const FaultReport& report) {
  events_.on_fault(std::move(call), report);
  after_call(child);
}

void Pool::on_child_event(const Call& call, const Envelope& notification,
                          Outgoing::Place progress_token) {
  events_.on_event(call, notification, progress_token);
}

void Pool::on_child_notification(Child& child, const Envelope& notification,
                                 std::string_view method) {
  events_.on_notification(child, notification, method);
}

void Pool::on_child_request(Child& child, const Envelope& request, std::string_view method) {
  events_.on_request(child, request, method);
}

void Pool::on_child_writable(Child& child) { after_call(child); }

void Pool::after_call(Child& child) {
  if (child.lane() == Isolation::session) {
    if (Lease* lease = lane_.find(child.lease()); lease != nullptr) lane_.dispatch(*lease);
  } else if (child.is_retiring()) {
    end_retired(child);
  } else {
    if (!queue_.empty()) dispatch_queue();
    if (can_ask(child)) events_.on_spare_room(child);
  }
  child.settle_state();
  watch_idle(child);
}

void Pool::watch_idle(const Child& child) {
  if (child.in_flight() == 0 && child.lease().is_none() && !idle_timer_.armed() &&
      children_.size() > config().min) {
    idle_timer_.arm(now() + config().idle_timeout);
  }
}

bool Pool::request_cancel(Origin origin, SessionId session, std::string_view id, CallPtr* ended) {
  const auto is_it = [origin, id](const Call& call) {
    return call.origin == origin && call.id == id;
  };
  const bool is_over = services_.dialect.cancel_ends_call();
  for (const auto& child : children_) {
    Correlator<CallPtr>& calls = child->calls();
    for (auto wire_id = calls.oldest(); wire_id; wire_id = calls.next(*wire_id)) {
      if (!is_it(**calls.find(*wire_id))) continue;
      if (is_over) {
        *ended = child->abandon(*wire_id, CancelReason::client_cancelled);
        after_call(*child);
      } else {
        child->request_cancel(*wire_id, CancelReason::client_cancelled);
      }
      return true;
    }
  }
  Lease* lease = lane_.find(session);
  CallQueue& queue = lease == nullptr ? queue_ : lease->queue;
  if (is_over) {
    *ended = queue.take_if(is_it);
    if (lease == nullptr) {
      watch_queue();
    } else {
      lane_.dispatch(*lease);
    }
    return *ended != nullptr;
  }
  Call* call = queue.find_if(is_it);
  if (call != nullptr) call->cancel_on_send = true;
  return call != nullptr;
}

std::vector<CallPtr> Pool::withdraw(Origin origin) {
  std::vector<CallPtr> withdrawn;
  const auto is_its = [origin](const Call& call) { return call.origin == origin; };
  while (auto call = queue_.take_if(is_its)) withdrawn.push_back(std::move(call));
  for (const auto& child : children_) {
    Correlator<CallPtr>& calls = child->calls();
    for (auto id = calls.oldest(); id;) {
      const auto next = calls.next(*id);
      if (is_its(**calls.find(*id))) {
        withdrawn.push_back(child->abandon(*id, CancelReason::client_left));
      }
      id = next;
    }
  }
  dispatch_all();
  return withdrawn;
}

void Pool::fail_calls(const FaultReport& report) {
  std::vector<CallPtr> calls;
  for (const auto& child : children_) {
    for (CallPtr& call : child->take_calls()) calls.push_back(std::move(call));
    child->settle_state();
  }
  lane_.for_each([&calls](Lease& lease) {
    for (CallPtr& call : lease.queue.take_calls()) calls.push_back(std::move(call));
  });
  for (CallPtr& call : calls) events_.on_fault(std::move(call), report);
  fail_queue(report);
}

void Pool::fail_queue(const FaultReport& report) {
  const size_t messages = queue_.size();
  // What the told put into the queue meanwhile is not failed.
  std::vector<CallPtr> calls = queue_.take_calls();
  for (size_t i = calls.size(); i < messages; ++i) {
    services_.core.observer.on_dropped(services_.backend, DropReason::overloaded);
  }
  watch_queue();
  for (CallPtr& call : calls) events_.on_fault(std::move(call), report);
}

size_t Pool::calls() const {
  size_t count = queue_.size() + lane_.queued();
  for (const auto& child : children_) count += child->in_flight();
  return count;
}

// --- Deadlines ------------------------------------------------------------------------------

void Pool::arm_deadline(TimePoint deadline) {
  // All calls of a backend have the same time, so a later call never is due before an earlier one.
  if (!deadline_timer_.armed()) deadline_timer_.arm(deadline);
}

// What a deadline has ended: the calls, and those on children that are given up for it.
struct Pool::Expiry {
  TimePoint time;
  std::vector<CallPtr> expired;
  std::vector<CallPtr> stranded;
  std::optional<TimePoint> next;

  void note_next(std::optional<TimePoint> deadline) {
    if (deadline) next = std::min(next.value_or(*deadline), *deadline);
  }
};

void Pool::expire_deadlines() {
  Expiry expiry{now(), {}, {}, {}};
  expire_queue(queue_, expiry);
  const size_t shared = expiry.expired.size();
  lane_.for_each([&](Lease& lease) {
    if (lease.child == nullptr) expire_queue(lease.queue, expiry);
  });
  for (const auto& child : children_) {
    if (Lease* lease = lane_.find(child->lease()); lease != nullptr) {
      const size_t first = expiry.expired.size();
      expire_queue(lease->queue, expiry);
      expire_calls(*child, first, expiry.expired.size(), expiry);
    } else {
      expire_calls(*child, 0, child->lane() == Isolation::shared ? shared : 0, expiry);
    }
  }
  if (expiry.next) deadline_timer_.arm(*expiry.next);
  for (CallPtr& call : expiry.expired) {
    events_.on_fault(std::move(call), FaultReport{Fault::timeout, {}, {}, {}});
  }
  const FaultReport hung{Fault::child_failed, "the child has stopped answering", {}, {}};
  for (CallPtr& call : expiry.stranded) events_.on_fault(std::move(call), hung);
  dispatch_all();
}

void Pool::expire_queue(CallQueue& queue, Expiry& expiry) {
  const auto is_late = [&expiry](const Call& call) { return call.deadline <= expiry.time; };
  while (auto call = queue.take_if(is_late)) expiry.expired.push_back(std::move(call));
  expiry.note_next(queue.next_deadline());
}

// Those from `first` to `last` have expired while they waited for this child.
void Pool::expire_calls(Child& child, size_t first, size_t last, Expiry& expiry) {
  bool is_hung = false;
  for (size_t i = first; i < last && child.is_backed_up(); ++i) {
    is_hung = child.note_timeout(expiry.expired[i]->arrived) || is_hung;
  }
  Correlator<CallPtr>& calls = child.calls();
  for (auto id = calls.oldest(); id;) {
    const auto following = calls.next(*id);
    const Call& call = **calls.find(*id);
    const TimePoint deadline = call.deadline;
    if (deadline > expiry.time && deadline != TimePoint::max()) {
      expiry.note_next(deadline);
      break;
    }
    if (deadline <= expiry.time) {
      // A cancelled call need not be answered.
      is_hung = (!call.cancelled && child.note_timeout(call.written)) || is_hung;
      const bool is_own = call.origin.is_none();
      CallPtr late = child.abandon(*id, CancelReason::deadline);
      if (!is_own) expiry.expired.push_back(std::move(late));
    }
    id = following;
  }
  if (is_hung) {
    for (CallPtr& call : child.take_calls()) expiry.stranded.push_back(std::move(call));
    child.end(ExitReason::hung, "the child has stopped answering", config().grace);
  }
}

void Pool::dispatch_all() {
  dispatch_queue();
  lane_.for_each([this](Lease& lease) { lane_.dispatch(lease); });
  for (const auto& child : children_) {
    if (child->is_retiring()) end_retired(*child);
    child->settle_state();
    watch_idle(*child);
  }
  offer_spare_room();
}

}  // namespace stdgate

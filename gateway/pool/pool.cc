#include "gateway/pool/pool.h"

#include <algorithm>
#include <utility>

namespace stdgate {

namespace {

FaultReport shutdown_report() {
  return {Fault::overloaded, "the gateway is shutting down", {}, std::chrono::seconds(1)};
}

}  // namespace

Pool::Pool(const PoolServices& services, PoolEvents& events)
    : services_(services),
      events_(events),
      breaker_(services.config.pool, services.core.random),
      queue_(services.config.pool),
      restart_timer_(services.core.timers, [this] { start_what_is_needed(); }),
      deadline_timer_(services.core.timers, [this] { expire_deadlines(); }),
      idle_timer_(services.core.timers, [this] { end_idle_children(); }),
      sweep_timer_(services.core.timers, [this] { gone_.clear(); }) {}

Pool::~Pool() = default;

void Pool::start() { start_what_is_needed(); }

// --- Calls in -------------------------------------------------------------------------------

tl::expected<void, FaultReport> Pool::submit(Call& call, const Outgoing& message) {
  if (draining_) return tl::unexpected(shutdown_report());
  const TimePoint deadline = call.deadline;
  if (queue_.empty()) {
    if (Child* child = least_loaded(); child != nullptr) {
      give(*child, std::move(call), message);
      arm_deadline(deadline);
      return {};
    }
  }
  if (breaker_.tripped() && census().ready == 0) return tl::unexpected(breaker_report());
  if (!queue_.has_room(message.text.size())) {
    return tl::unexpected(FaultReport{
        Fault::overloaded, "the queue of this backend is full", {}, std::chrono::seconds(1)});
  }
  queue_.push(std::move(call), message);
  arm_deadline(deadline);
  start_what_is_needed();
  return {};
}

bool Pool::notify(const Outgoing& message) {
  if (draining_) return false;
  if (queue_.empty()) {
    if (Child* child = least_loaded(); child != nullptr) {
      child->send_notification(message);
      return true;
    }
  }
  if ((breaker_.tripped() && census().ready == 0) || !queue_.has_room(message.text.size())) {
    return false;
  }
  queue_.push(std::nullopt, message);
  start_what_is_needed();
  return true;
}

Child* Pool::least_loaded() {
  Child* best = nullptr;
  for (const auto& child : children_) {
    if (!child->has_room()) continue;
    if (best == nullptr || child->load() < best->load()) best = child.get();
  }
  return best;
}

void Pool::give(Child& child, Call call, const Outgoing& message) {
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
      give(*child, std::move(*waiting.call), waiting.outgoing());
    } else {
      child->send_notification(waiting.outgoing());
    }
  }
  if (!queue_.empty()) start_what_is_needed();
}

// --- Calls out ------------------------------------------------------------------------------

void Pool::on_child_answer(Child& child, Call call, const Envelope& answer) {
  breaker_.on_success();
  events_.on_answer(std::move(call), answer);
  after_call(child);
}

void Pool::on_child_broken_answer(Child& child, Call call, const FaultReport& report) {
  events_.on_fault(std::move(call), report);
  after_call(child);
}

void Pool::on_child_event(const Call& call, const Envelope& notification,
                          Outgoing::Place progress_token) {
  events_.on_event(call, notification, progress_token);
}

void Pool::on_child_writable(Child& /*child*/) { dispatch_queue(); }

void Pool::after_call(const Child& child) {
  if (!queue_.empty()) dispatch_queue();
  watch_idle(child);
}

void Pool::watch_idle(const Child& child) {
  if (child.in_flight() == 0 && !idle_timer_.armed() && children_.size() > config().min) {
    idle_timer_.arm(now() + config().idle_timeout);
  }
}

bool Pool::request_cancel(Origin origin, std::string_view id) {
  for (const auto& child : children_) {
    Correlator<Call>& calls = child->calls();
    for (auto wire_id = calls.oldest(); wire_id; wire_id = calls.next(*wire_id)) {
      const Call& call = *calls.find(*wire_id);
      if (call.origin != origin || call.id != id) continue;
      child->request_cancel(*wire_id, CancelReason::client_cancelled);
      return true;
    }
  }
  return false;
}

std::vector<Call> Pool::withdraw(Origin origin) {
  std::vector<Call> withdrawn;
  const auto is_its = [origin](const Call& call) { return call.origin == origin; };
  while (auto call = queue_.take_if(is_its)) withdrawn.push_back(std::move(*call));
  for (const auto& child : children_) {
    Correlator<Call>& calls = child->calls();
    for (auto id = calls.oldest(); id;) {
      const auto next = calls.next(*id);
      if (is_its(*calls.find(*id))) {
        withdrawn.push_back(child->abandon(*id, CancelReason::client_left));
      }
      id = next;
    }
  }
  dispatch_queue();
  for (const auto& child : children_) watch_idle(*child);
  return withdrawn;
}

void Pool::fail_calls(const FaultReport& report) {
  std::vector<Call> calls;
  for (const auto& child : children_) {
    for (Call& call : child->take_calls()) calls.push_back(std::move(call));
  }
  for (Call& call : calls) events_.on_fault(std::move(call), report);
  fail_queue(report);
}

void Pool::fail_queue(const FaultReport& report) {
  // What the told put into the queue meanwhile is not failed.
  std::vector<Call> calls;
  while (!queue_.empty()) {
    WaitingMessage waiting = queue_.pop();
    if (waiting.call) {
      calls.push_back(std::move(*waiting.call));
    } else {
      services_.core.observer.on_dropped(services_.backend, DropReason::overloaded);
    }
  }
  for (Call& call : calls) events_.on_fault(std::move(call), report);
}

size_t Pool::calls() const {
  size_t count = queue_.size();
  for (const auto& child : children_) count += child->in_flight();
  return count;
}

// --- Deadlines ------------------------------------------------------------------------------

void Pool::arm_deadline(TimePoint deadline) {
  // All calls of a backend have the same time, so a later call never is due before an earlier one.
  if (!deadline_timer_.armed()) deadline_timer_.arm(deadline);
}

void Pool::expire_deadlines() {
  const TimePoint time = now();
  std::vector<Call> expired;
  std::vector<Call> stranded;  // on children that are given up
  while (auto call = queue_.take_if([time](const Call& c) { return c.deadline <= time; })) {
    expired.push_back(std::move(*call));
  }
  const size_t expired_in_queue = expired.size();
  std::optional<TimePoint> next = queue_.next_deadline();
  for (const auto& child : children_) {
    Correlator<Call>& calls = child->calls();
    bool is_hung = false;
    for (size_t i = 0; i < expired_in_queue && child->is_backed_up(); ++i) {
      is_hung = child->note_timeout(expired[i].arrived) || is_hung;
    }
    for (auto id = calls.oldest(); id;) {
      const auto following = calls.next(*id);
      const Call& call = *calls.find(*id);
      const TimePoint deadline = call.deadline;
      if (deadline > time && deadline != TimePoint::max()) {
        next = std::min(next.value_or(deadline), deadline);
        break;
      }
      if (deadline <= time) {
        // A cancelled call need not be answered.
        is_hung = (!call.cancelled && child->note_timeout(call.written)) || is_hung;
        expired.push_back(child->abandon(*id, CancelReason::deadline));
      }
      id = following;
    }
    if (is_hung) {
      for (Call& call : child->take_calls()) stranded.push_back(std::move(call));
      child->end(ExitReason::hung, "the child has stopped answering", config().grace);
    }
  }
  if (next) deadline_timer_.arm(*next);
  for (Call& call : expired)
    events_.on_fault(std::move(call), FaultReport{Fault::timeout, {}, {}, {}});
  const FaultReport hung{Fault::child_failed, "the child has stopped answering", {}, {}};
  for (Call& call : stranded) events_.on_fault(std::move(call), hung);
  dispatch_queue();
  for (const auto& child : children_) watch_idle(*child);
}

// --- Children -------------------------------------------------------------------------------

Pool::Census Pool::census() const {
  Census census;
  for (const auto& child : children_) {
    const ChildState state = child->state();
    if (state == ChildState::starting) ++census.starting;
    if (state == ChildState::ready || state == ChildState::busy) ++census.ready;
  }
  return census;
}

void Pool::start_child(StartReason reason) {
  services_.core.observer.on_child_started(services_.backend, reason);
  ChildOwner& owner = *this;
  children_.push_back(std::make_unique<Child>(services_, owner, ++children_started_));
  children_.back()->start();
}

// Starts children for the minimum and for what waits. After a failure one at a time, and not before
// the breaker allows it.
void Pool::start_what_is_needed() {
  while (!ending_ && children_.size() < config().max) {
    const Census now_there = census();
    const size_t room_to_come = size_t{now_there.starting} * config().max_in_flight;
    const bool has_work = queue_.size() > room_to_come;
    const bool below_minimum = !draining_ && now_there.alive() < config().min;
    // A failed backend is tried again even without calls: nobody sends any while it is not ready.
    const bool is_trial = !draining_ && breaker_.failures() > 0 && now_there.alive() == 0;
    if (!below_minimum && !has_work && !is_trial) return;
    if (breaker_.failures() > 0) {
      if (now_there.starting > 0) return;
      if (!breaker_.may_start(now())) {
        restart_timer_.arm(breaker_.next_start());
        return;
      }
    }
    start_child(breaker_.failures() > 0 ? StartReason::restart
                : below_minimum         ? StartReason::minimum
                                        : StartReason::demand);
  }
}

void Pool::on_child_ready(Child& child) {
  dispatch_queue();
  start_what_is_needed();
  after_call(child);
}

void Pool::on_child_gone(Child& child, const ChildEnd& end) {
  const bool failed = end.reason != ExitReason::asked;
  services_.core.observer.on_child_exited(services_.backend, end.reason);
  if (failed) {
    const bool was_stable = end.was_ready && now() - child.ready_since() >= config().backoff_max;
    breaker_.on_failure(now(), child.started_at(), was_stable);
    last_failure_ = end.message;
  } else if (end.was_ready) {
    breaker_.on_success();
  }
  const auto place = std::find_if(children_.begin(), children_.end(),
                                  [&child](const auto& owned) { return owned.get() == &child; });
  std::vector<Call> calls = child.take_calls();
  gone_.push_back(std::move(*place));
  children_.erase(place);
  sweep_timer_.arm(now());
  start_what_is_needed();

  const FaultReport report{Fault::child_failed, end.message, end.detail, {}};
  for (Call& call : calls) events_.on_fault(std::move(call), report);
  if (failed && census().alive() == 0) {
    // Waiting helps a backend that lost a running child, not one that cannot start.
    if (breaker_.tripped()) {
      fail_queue(breaker_report());
    } else if (!end.was_ready) {
      fail_queue(report);
    }
  }
}

void Pool::end_idle_children() {
  const TimePoint time = now();
  uint32_t alive = census().alive();
  std::optional<TimePoint> next;
  for (const auto& child : children_) {
    if (child->state() != ChildState::ready || child->in_flight() > 0) continue;
    if (alive <= config().min) return;
    const TimePoint due = child->idle_since() + config().idle_timeout;
    if (due <= time) {
      child->end(ExitReason::asked, "the child was idle", config().grace);
      --alive;
    } else {
      next = std::min(next.value_or(due), due);
    }
  }
  if (next) idle_timer_.arm(*next);
}

void Pool::end_children(Duration grace) {
  draining_ = ending_ = true;
  restart_timer_.disarm();
  for (const auto& child : children_) {
    child->end(ExitReason::asked, shutdown_report().message, grace);
  }
  fail_queue(shutdown_report());
}

FaultReport Pool::breaker_report() const {
  FaultReport report{Fault::overloaded, "the backend keeps failing and is given a pause", {}, {}};
  report.detail = last_failure_;
  report.retry_after = std::max<Duration>(breaker_.retry_after(now()), std::chrono::seconds(1));
  return report;
}

void Pool::describe(BackendStatus& status) const {
  const Census there = census();
  status.queued = queue_.size();
  status.queued_bytes = queue_.bytes();
  status.failures = breaker_.failures();
  status.breaker_open = breaker_.tripped() && there.ready == 0;
  status.retry_after = breaker_.retry_after(now());
  for (const auto& child : children_) {
    status.children.push_back(child->status());
    status.in_flight += child->in_flight();
  }
  if (draining_) {
    status.reason = "shutting down";
  } else if (there.ready == 0 && breaker_.failures() > 0) {
    status.reason = last_failure_;
  } else if (there.ready == 0 && config().min > 0) {
    status.reason = "no child is ready yet";
  }
  status.ready = status.reason.empty();
}

}  // namespace stdgate

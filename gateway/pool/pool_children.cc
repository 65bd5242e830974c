// The children of a pool: how many there may be, which are started, and what becomes of theirs when
// they go.
#include <algorithm>
#include <utility>

#include "gateway/pool/pool.h"

namespace stdgate {

Pool::Census Pool::census() const {
  Census census;
  for (const auto& child : children_) {
    const ChildState state = child->state();
    const bool is_ready = state == ChildState::ready || state == ChildState::busy;
    if (child->is_retiring() || (!is_ready && state != ChildState::starting)) continue;
    Census::Lane& lane = child->lane() == Isolation::shared ? census.shared : census.session;
    ++(is_ready ? lane.ready : lane.starting);
    if (child->lane() == Isolation::session && child->lease().is_none()) ++census.warm;
  }
  return census;
}

// --- How many there may be ------------------------------------------------------------------

uint32_t Pool::session_places() const {
  if (services_.config.isolation == Isolation::shared) return 0;
  return config().max - std::min(services_.config.kept_for_calls(), config().max);
}

uint32_t Pool::warm_wanted() const {
  const auto leases = static_cast<uint32_t>(lane_.size());
  return std::min(config().warm, session_places() - std::min(leases, session_places()));
}

uint32_t Pool::shared_places() const {
  if (services_.config.protocol == Protocol::lsp) return 0;
  const auto leases = static_cast<uint32_t>(lane_.size());
  return config().max - std::min(config().max, leases + warm_wanted());
}

// --- Starting -------------------------------------------------------------------------------

std::optional<Pool::Need> Pool::needed_child(const Census& there) const {
  if (lane_.waiting() > 0) return Need{Isolation::session, StartReason::demand};
  if (!draining_ && there.shared.alive() < std::min(config().min, shared_places())) {
    return Need{Isolation::shared, StartReason::minimum};
  }
  const size_t room_to_come = size_t{there.shared.starting} * config().max_in_flight;
  if (there.shared.alive() < shared_places() && queue_.size() > room_to_come) {
    return Need{Isolation::shared, StartReason::demand};
  }
  if (draining_) return std::nullopt;
  if (there.warm < warm_wanted()) return Need{Isolation::session, StartReason::minimum};
  // A failed backend is tried again even without calls: nobody sends any while it is not ready.
  if (breaker_.failures() > 0 && there.alive() == 0) {
    const bool is_lsp = services_.config.protocol == Protocol::lsp;
    return Need{is_lsp ? Isolation::session : Isolation::shared, StartReason::restart};
  }
  return std::nullopt;
}

// Starts children for sessions, for the minimum and for what waits. After a failure one at a time,
// and not before the breaker allows it.
void Pool::start_what_is_needed() {
  while (!ending_ && children_.size() < config().max) {
    const Census there = census();
    auto need = needed_child(there);
    if (!need) return;
    if (breaker_.failures() > 0) {
      need->reason = StartReason::restart;
      if (there.starting() > 0) return;
      if (!breaker_.may_start(now())) {
        restart_timer_.arm(breaker_.next_start());
        return;
      }
    }
    start_child(*need);
  }
}

void Pool::start_child(const Need& need) {
  services_.core.observer.on_child_started(services_.backend, need.reason);
  ChildOwner& owner = *this;
  children_.push_back(std::make_unique<Child>(services_, owner, ++children_started_, need.lane));
  Child& child = *children_.back();
  child.start();
  if (need.lane == Isolation::session) lane_.attach(child);
}

void Pool::on_child_ready(Child& child) {
  if (child.lane() == Isolation::shared) dispatch_queue();
  start_what_is_needed();
  after_call(child);
}

// --- Ending ---------------------------------------------------------------------------------

// A session has got a place that shared children had filled while it was free: the least loaded of
// those finishes its calls and goes.
void Pool::make_places() {
  for (uint32_t there = census().shared.alive(); there > shared_places(); --there) {
    Child* least = nullptr;
    for (const auto& child : children_) {
      if (child->lane() != Isolation::shared || child->is_retiring() ||
          child->state() == ChildState::draining) {
        continue;
      }
      if (least == nullptr || child->load() < least->load()) least = child.get();
    }
    least->retire();
    end_retired(*least);
  }
}

void Pool::end_retired(Child& child) {
  if (child.in_flight() > 0 || child.state() == ChildState::draining) return;
  child.end(ExitReason::asked, "a session needed its place", config().grace);
}

void Pool::on_child_gone(Child& child, const ChildEnd& end) {
  services_.core.observer.on_child_exited(services_.backend, end.reason);
  std::vector<CallPtr> calls = child.take_calls();
  Lease* lease = lane_.find(child.lease());
  // A session may end its child itself, in its protocol's way.
  const bool is_finished = lease != nullptr && end.reason == ExitReason::exit_zero &&
                           calls.empty() && lease->queue.empty();
  const bool failed = end.reason != ExitReason::asked && !is_finished;
  if (failed) {
    const bool was_stable = end.was_ready && now() - child.ready_since() >= config().backoff_max;
    breaker_.on_failure(now(), child.started_at(),
                        was_stable      ? Loss::stable_child
                        : end.was_ready ? Loss::child
                                        : Loss::start);
    last_failure_ = end.message;
  } else if (end.was_ready) {
    breaker_.on_success();
  }
  const auto place = std::find_if(children_.begin(), children_.end(),
                                  [&child](const auto& owned) { return owned.get() == &child; });
  gone_.push_back(std::move(*place));
  children_.erase(place);
  sweep_timer_.arm(now());
  events_.on_child_gone(child.number());

  const FaultReport report{Fault::child_failed, end.message, end.detail, {}};
  if (lease != nullptr) {
    lose_lease(*lease, is_finished ? SessionEnd::finished : SessionEnd::failed, report,
               std::move(calls));
    calls.clear();
  }
  start_what_is_needed();
  for (CallPtr& call : calls) events_.on_fault(std::move(call), report);
  if (!failed) return;
  const Census left = census();
  // Waiting helps a backend that lost a running child, not one that cannot start.
  if ((breaker_.tripped() || !end.was_ready) && left.shared.alive() == 0) {
    fail_queue(breaker_.tripped() ? breaker_report() : report);
  }
  if (breaker_.tripped() && left.alive() == 0) lose_waiting_leases(breaker_report());
}

void Pool::lose_lease(Lease& lease, SessionEnd end, const FaultReport& report,
                      std::vector<CallPtr> calls) {
  const SessionId session = lease.session;
  for (CallPtr& call : lane_.lose(lease)) calls.push_back(std::move(call));
  for (CallPtr& call : calls) events_.on_fault(std::move(call), report);
  events_.on_session_end(session, end, report.message);
}

void Pool::lose_waiting_leases(const FaultReport& report) {
  for (const SessionId session : lane_.waiting_sessions()) {
    // The told may have closed it meanwhile.
    Lease* lease = lane_.find(session);
    if (lease != nullptr) lose_lease(*lease, SessionEnd::failed, report, {});
  }
}

void Pool::end_idle_children() {
  const TimePoint time = now();
  const Census there = census();
  uint32_t spare_shared = there.shared.alive() - std::min(there.shared.alive(), config().min);
  uint32_t spare_warm = there.warm - std::min(there.warm, warm_wanted());
  std::optional<TimePoint> next;
  for (const auto& child : children_) {
    uint32_t& spare = child->lane() == Isolation::shared ? spare_shared : spare_warm;
    if (child->state() != ChildState::ready || child->in_flight() > 0 || spare == 0 ||
        !child->lease().is_none() || events_.is_needed(child->number())) {
      continue;
    }
    const TimePoint due = child->idle_since() + config().idle_timeout;
    if (due <= time) {
      child->end(ExitReason::asked, "the child was idle", config().grace);
      --spare;
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
  lose_waiting_leases(shutdown_report());
}

FaultReport Pool::breaker_report() const {
  FaultReport report{Fault::overloaded, "the backend keeps failing and is given a pause", {}, {}};
  report.detail = last_failure_;
  report.retry_after = std::max<Duration>(breaker_.retry_after(now()), std::chrono::seconds(1));
  return report;
}

void Pool::describe(BackendStatus& status) const {
  const Census there = census();
  status.queued = queue_.size() + lane_.queued();
  status.queued_bytes = queue_.bytes() + lane_.queued_bytes();
  status.failures = breaker_.failures();
  status.breaker_open = breaker_.tripped() && there.ready() == 0;
  status.retry_after = breaker_.retry_after(now());
  for (const auto& child : children_) {
    status.children.push_back(child->status());
    status.in_flight += child->in_flight();
  }
  if (draining_) {
    status.reason = "shutting down";
  } else if (there.ready() == 0 && breaker_.failures() > 0) {
    status.reason = last_failure_;
  } else if (there.ready() == 0 && config().min > 0) {
    status.reason = "no child is ready yet";
  }
  status.ready = status.reason.empty();
}

}  // namespace stdgate

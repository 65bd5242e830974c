#include "gateway/pool/call_expiry.h"

#include <algorithm>
#include <utility>

#include "gateway/base/check.h"
#include "gateway/call/call.h"

namespace stdgate::pool {

struct CallExpiry::Expired {
  struct Late {
    call::CallPtr call;
    rpc::FaultReport report;
  };
  std::vector<Late> calls;
  std::vector<Child*> hung;
};

CallExpiry::CallExpiry(const PoolServices& services, const SessionEvents& sessions,
                       SharedQueues& queues, const Leases& leases, const Children& children,
                       std::function<void()> on_room)
    : services_(services),
      sessions_(sessions),
      queues_(queues),
      leases_(leases),
      children_(children),
      on_room_(std::move(on_room)),
      timer_(services.core.timers, [this] { expire(); }) {}

void CallExpiry::watch(call::Call& call) {
  if (!call.is_watched()) services_.calls.deadlines().add(call);
  arm(call.deadline);
}

void CallExpiry::expire() {
  call::CallDeadlines& deadlines = services_.calls.deadlines();
  std::vector<call::Call*> due = deadlines.take_due(now());
  std::erase_if(due, [this](call::Call* call) { return goes_on(*call); });
  Expired expired;
  // Calls in queues come first: whether a child is backed up depends on its calls in flight.
  for (const call::Call* call : due) {
    if (call->place == call::CallPlace::waiting) expire_waiting(*call, expired);
  }
  for (const call::Call* call : due) {
    if (call->place == call::CallPlace::in_flight) expire_in_flight(*call, expired);
  }
  std::vector<call::CallPtr> stranded;
  for (Child* child : expired.hung) {
    for (call::CallPtr& call : child->take_calls()) stranded.push_back(std::move(call));
    child->end(ExitReason::hung, "the child has stopped answering", services_.config.pool.grace);
  }
  for (Expired::Late& late : expired.calls)
    services_.chain.on_fault(std::move(late.call), late.report);
  const rpc::FaultReport hung = rpc::faults::child_failed("the child has stopped answering");
  for (call::CallPtr& call : stranded) services_.chain.on_fault(std::move(call), hung);
  if (const auto next = deadlines.next()) arm(*next);
  on_room_();
}

bool CallExpiry::goes_on(call::Call& call) {
  if (call.place == call::CallPlace::nowhere || call.caller.is_none()) return false;
  const TimePoint due = call::due_after(call, last_heard(call), services_.config);
  if (due <= now()) return false;
  call.deadline = due;
  services_.calls.deadlines().add_again(call);
  return true;
}

TimePoint CallExpiry::last_heard(const call::Call& call) const {
  const Lease* const lease = leases_.find(call.session);
  const Child* const child = call.place == call::CallPlace::in_flight ? children_.find(call.child)
                             : lease == nullptr                       ? nullptr
                                                                      : lease->child;
  const TimePoint own = std::max(call.arrived, call.heard);
  if (child == nullptr) return own;
  if (!child->is_read() || sessions_.awaits_answer(child->number(), call.session)) return now();
  // Output of the child is a sign of life for the calls that it has, not for calls in a queue.
  const bool is_heard =
      call.place == call::CallPlace::in_flight && child->life().heard() > call.written;
  return is_heard ? std::max(own, child->life().heard()) : own;
}

// A timeout of a waiting call counts for the children that should have taken the call.
void CallExpiry::expire_waiting(const call::Call& call, Expired& expired) {
  rpc::FaultReport report = call::gave_up(call, call.place, last_heard(call), services_.config);
  Lease* const lease = leases_.find(call.session);
  if (call.route.is_bound) {
    Child& child = *children_.find(call.route.child);
    if (child.is_backed_up()) note_timeout(child, call.arrived, expired);
    expired.calls.push_back({child.bound().take(call), std::move(report)});
    return;
  }
  if (lease == nullptr) {
    for (const auto& child : children_.all()) {
      if (child->isolation() == config::Isolation::shared && child->is_backed_up()) {
        note_timeout(*child, call.arrived, expired);
      }
    }
  } else if (lease->child != nullptr && lease->child->is_backed_up()) {
    note_timeout(*lease->child, call.arrived, expired);
  } else if (lease->child == nullptr && leases_.taken() > children_.session_places()) {
    report.message += ": " + children_.shortage();
  }
  expired.calls.push_back(
      {(lease == nullptr ? queues_.of(call) : lease->queue).take(call), std::move(report)});
}

void CallExpiry::expire_in_flight(const call::Call& call, Expired& expired) {
  Child* const child = children_.find(call.child);
  STDGATE_CHECK(child != nullptr);
  const bool is_upkeep = call.caller.is_none();
  const TimePoint heard = last_heard(call);
  rpc::FaultReport report =
      is_upkeep ? rpc::FaultReport() : call::gave_up(call, call.place, heard, services_.config);
  // A cancelled call need not be answered. A call with a sign of life is only slow.
  const bool is_silent = heard + call.timeout <= now();
  if (!call.cancelled && is_silent) note_timeout(*child, std::max(call.written, heard), expired);
  call::CallPtr late = child->abandon(call.wire_id, CancelReason::deadline);
  if (!is_upkeep) expired.calls.push_back({std::move(late), std::move(report)});
}

// A child that waits for a client does not hang, though it may keep other calls waiting.
void CallExpiry::note_timeout(Child& child, TimePoint waiting_since, Expired& expired) const {
  if (!child.is_read() || !child.life().is_silent_since(waiting_since)) return;
  if (sessions_.awaits_answer(child.number(), {})) return;
  if (!child.life().note_silent_timeout()) return;
  if (std::ranges::find(expired.hung, &child) == expired.hung.end()) expired.hung.push_back(&child);
}

void CallExpiry::check_invariants() const {
  const call::CallDeadlines& deadlines = services_.calls.deadlines();
  deadlines.check_invariants();
  const auto next = deadlines.next();
  STDGATE_CHECK(!next || (timer_.armed() && timer_.due() <= *next));
}

}  // namespace stdgate::pool

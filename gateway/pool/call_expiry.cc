#include "gateway/pool/call_expiry.h"

#include <algorithm>
#include <utility>

#include "gateway/base/check.h"

namespace stdgate::pool {

struct CallExpiry::Expired {
  std::vector<CallPtr> calls;
  std::vector<Child*> hung;

  void note_timeout(Child& child, TimePoint waiting_since) {
    if (!child.note_timeout(waiting_since)) return;
    if (std::find(hung.begin(), hung.end(), &child) == hung.end()) hung.push_back(&child);
  }
};

CallExpiry::CallExpiry(const PoolServices& services, PoolEvents& events, CallQueue& queue,
                       const Leases& leases, const Children& children,
                       std::function<void()> on_room)
    : services_(services),
      events_(events),
      queue_(queue),
      leases_(leases),
      children_(children),
      on_room_(std::move(on_room)),
      timer_(services.core.timers, [this] { expire(); }) {}

void CallExpiry::arm(TimePoint deadline) {
  const bool is_early_enough = timer_.armed() && timer_.due() <= deadline;
  if (!is_early_enough && deadline != TimePoint::max()) timer_.arm(deadline);
}

void CallExpiry::watch(Call& call) {
  if (!call.is_watched()) services_.calls.deadlines().add(call);
  arm(call.deadline);
}

void CallExpiry::expire() {
  CallDeadlines& deadlines = services_.calls.deadlines();
  const std::vector<Call*> due = deadlines.take_due(services_.core.clock.now());
  Expired expired;
  // Those in queues first: whether a child is backed up depends on what it has in flight.
  for (const Call* call : due) {
    if (call->place == CallPlace::waiting) expire_waiting(*call, expired);
  }
  for (const Call* call : due) {
    if (call->place == CallPlace::in_flight) expire_in_flight(*call, expired);
  }
  std::vector<CallPtr> stranded;
  for (Child* child : expired.hung) {
    for (CallPtr& call : child->take_calls()) stranded.push_back(std::move(call));
    child->end(ExitReason::hung, "the child has stopped answering", services_.config.pool.grace);
  }
  for (CallPtr& call : expired.calls) {
    events_.on_fault(std::move(call), rpc::faults::plain(rpc::Fault::timeout));
  }
  const rpc::FaultReport hung = rpc::faults::child_failed("the child has stopped answering");
  for (CallPtr& call : stranded) events_.on_fault(std::move(call), hung);
  if (const auto next = deadlines.next()) arm(*next);
  on_room_();
}

// A timeout of a waiting call counts for the children that should have taken it.
void CallExpiry::expire_waiting(const Call& call, Expired& expired) {
  Lease* const lease = leases_.find(call.session);
  if (lease == nullptr) {
    for (const auto& child : children_.all()) {
      if (child->isolation() == config::Isolation::shared && child->is_backed_up()) {
        expired.note_timeout(*child, call.arrived);
      }
    }
  } else if (lease->child != nullptr && lease->child->is_backed_up()) {
    expired.note_timeout(*lease->child, call.arrived);
  }
  expired.calls.push_back((lease == nullptr ? queue_ : lease->queue).take(call));
}

void CallExpiry::expire_in_flight(const Call& call, Expired& expired) {
  Child* const child = children_.find(call.child);
  STDGATE_CHECK(child != nullptr);
  // A cancelled call need not be answered.
  if (!call.cancelled) expired.note_timeout(*child, call.written);
  const bool is_own = call.caller.is_none();
  CallPtr late = child->abandon(call.wire_id, CancelReason::deadline);
  if (!is_own) expired.calls.push_back(std::move(late));
}

void CallExpiry::check_invariants() const {
  const CallDeadlines& deadlines = services_.calls.deadlines();
  deadlines.check_invariants();
  const auto next = deadlines.next();
  STDGATE_CHECK(!next || (timer_.armed() && timer_.due() <= *next));
}

}  // namespace stdgate::pool

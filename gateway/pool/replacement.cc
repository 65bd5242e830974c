#include "gateway/pool/replacement.h"

#include <algorithm>
#include <vector>

namespace stdgate::pool {

namespace {

// Interval of the checks of worn and ageing children.
constexpr Duration kInterval = std::chrono::seconds(1);
// A child that uses too much memory so soon after its start is no leak: the limit is too low.
constexpr Duration kSoon = std::chrono::minutes(1);

bool runs(const Child& child) {
  return child.state() == ChildState::ready || child.state() == ChildState::busy;
}

std::string message_of(const Child& child) {
  return "the child was replaced, see pool.max_" +
         std::string(replace_reason_name(*child.wear().reason));
}

}  // namespace

Replacement::Replacement(const PoolServices& services, Children& children, Leases& leases,
                         SessionLane& sessions, ChildListener& listener)
    : services_(services),
      children_(children),
      leases_(leases),
      sessions_(sessions),
      listener_(listener),
      is_wanted_(config().max_age > Duration::zero() || config().max_calls > 0 ||
                 config().max_memory > 0),
      timer_(services.core.timers, [this] { act(); }) {}

std::optional<ReplaceReason> Replacement::reason_to_go(const Child& child) const {
  if (config().max_memory > 0 && child.wear().memory > config().max_memory)
    return ReplaceReason::memory;
  if (config().max_calls > 0 && child.calls_sent() >= config().max_calls) {
    return ReplaceReason::calls;
  }
  const bool is_old =
      config().max_age > Duration::zero() && now() - child.started_at() >= config().max_age;
  return is_old ? std::optional(ReplaceReason::age) : std::nullopt;
}

void Replacement::look(Child& child) {
  if (children_.is_draining()) return;
  if (!child.wear().reason && runs(child)) child.wear().begin(reason_to_go(child), now());
  if (child.wear().reason) {
    look_soon();
  } else if (!timer_.armed() && config().max_age > Duration::zero()) {
    timer_.arm(now() + kInterval);
  }
}

void Replacement::act() {
  if (children_.is_draining()) return;
  std::vector<uint64_t> numbers;  // an end may change the list
  for (const auto& child : children_.all()) numbers.push_back(child->number());
  bool is_any_left = config().max_age > Duration::zero();
  for (const uint64_t number : numbers) {
    Child* const child = children_.find(number);
    if (child == nullptr || !runs(*child)) continue;
    if (!child->wear().reason) child->wear().begin(reason_to_go(*child), now());
    if (!child->wear().reason) continue;
    is_any_left = true;
    if (child->isolation() == config::Isolation::shared) {
      replace_shared(*child);
    } else if (Lease* const lease = leases_.find(child->lease()); lease != nullptr) {
      replace_leased(*child, *lease);
    } else {
      tell(*child);
      end(*child);
    }
  }
  children_.start_needed();
  if (is_any_left && !children_.empty()) timer_.arm(now() + kInterval);
}

void Replacement::replace_shared(Child& child) {
  if (!child.is_retiring()) {
    const ReplaceWait wait = wait_of(child);
    if (wait != ReplaceWait::none) return note_wait(child, wait);
    retire(child);
  }
  if (holds_work(child)) {
    // Work that comes back has its whole time, like a call under way.
    child.wear().since = now();
    return;
  }
  const bool is_free = child.working() == 0 && !child.bound().has_calls();
  if (is_free || is_overdue(child)) end(child);
}

bool Replacement::holds_work(const Child& child) const {
  return listener_.works_until(child.number()) > now();
}

// Why the child may not stop taking calls yet. The child may stop if a successor takes them, or if
// there is no room for one, so that calls have to wait.
ReplaceWait Replacement::wait_of(const Child& child) const {
  if (const Child* const successor = children_.find(child.wear().successor); successor != nullptr) {
    return runs(*successor) ? ReplaceWait::none : ReplaceWait::successor;
  }
  if (children_.has_room_for_successor()) {
    // The successor cannot be started at the moment. This child is better than none, unless it uses
    // too much memory.
    const bool may_stop = child.wear().reason == ReplaceReason::memory &&
                          now() - child.wear().since > config().start_timeout;
    return may_stop ? ReplaceWait::none : ReplaceWait::successor;
  }
  // New calls must not wait for a client that has to bring something back, and what a child holds
  // is lost with it: even a child that uses too much memory serves until a moment without open
  // work.
  if (holds_work(child)) return ReplaceWait::work;
  const bool is_another_going = std::ranges::any_of(children_.all(), [](const auto& other) {
    return other->wear().reason && (other->is_retiring() || other->state() == ChildState::draining);
  });
  return is_another_going ? ReplaceWait::room : ReplaceWait::none;
}

// Told once of each child that has to serve on for its open work.
void Replacement::note_wait(Child& child, ReplaceWait wait) {
  Wear& wear = child.wear();
  const bool is_told = wear.is_wait_told || wait != ReplaceWait::work;
  wear.wait = wait;
  if (is_told) return;
  wear.is_wait_told = true;
  services_.core.observer.on_replacement_waits(services_.backend, *wear.reason);
  services_.core.log.write(wear.reason == ReplaceReason::memory ? LogLevel::warn : LogLevel::info,
                           "child serves on",
                           {{"backend", services_.config.name},
                            {"child", child.number()},
                            {"pid", int64_t{child.pid()}},
                            {"reason", replace_reason_name(*wear.reason)},
                            {"waits_for", replace_wait_name(wait)},
                            {"memory_bytes", if_any(wear.memory)},
                            {"advice", "a higher pool.max leaves room for its successor"}});
}

void Replacement::replace_leased(Child& child, Lease& lease) {
  if (!sessions_.can_replace(lease)) {
    // Its session cannot get another child, and is lost with this one.
    if (child.wear().reason != ReplaceReason::memory || !is_overdue(child)) return;
    tell(child);
    return end(child);
  }
  if (lease.revival != nullptr) return;
  if (!child.is_retiring()) retire(child);
  if (child.in_flight() == 0) {
    sessions_.replace(lease);
  } else if (is_overdue(child)) {
    end(child);
  }
}

bool Replacement::is_overdue(const Child& child) const {
  return now() - child.wear().since >= services_.config.timeout;
}

void Replacement::retire(Child& child) {
  tell(child);
  child.wear().wait = ReplaceWait::none;
  child.wear().since = now();  // calls under way have their whole time from now on
  child.retire();
}

void Replacement::end(Child& child) {
  child.end(ExitReason::asked, message_of(child), config().grace);
}

void Replacement::describe(BackendStatus& status) const {
  for (size_t i = 0; i < kReplaceReasonCount; ++i) {
    if (replaced_[i] == 0) continue;
    status.replaced[replace_reason_name(static_cast<ReplaceReason>(i))] += replaced_[i];
  }
}

// Counts a child once: when it takes no more calls, or ends.
void Replacement::tell(const Child& child) {
  if (child.is_retiring()) return;
  ++replaced_[static_cast<size_t>(*child.wear().reason)];
  services_.core.observer.on_child_replaced(services_.backend, *child.wear().reason);
  const Duration age = now() - child.started_at();
  const bool is_limit_low = child.wear().reason == ReplaceReason::memory && age < kSoon;
  services_.core.log.write(
      is_limit_low ? LogLevel::warn : LogLevel::info, "child replaced",
      {{"backend", services_.config.name},
       {"child", child.number()},
       {"pid", int64_t{child.pid()}},
       {"reason", replace_reason_name(*child.wear().reason)},
       {"age_ms", age},
       {"calls", child.calls_sent()},
       {"memory_bytes", if_any(child.wear().memory)},
       {"advice",
        if_any(is_limit_low ? "raise pool.max_memory: the server needs more from its start"
                            : std::string_view())}});
}

}  // namespace stdgate::pool

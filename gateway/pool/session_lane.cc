#include "gateway/pool/session_lane.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "gateway/base/check.h"
#include "gateway/pool/message_log.h"

namespace stdgate::pool {

void PlaceShortage::note(size_t at_work, size_t places) {
  if (at_work <= places) return;
  missing_ = std::max(missing(), at_work - places);
  seen_ = now();
  if (missing_ <= told_ && now() - told_at_ < kToldEvery) return;
  told_ = missing_;
  told_at_ = now();
  const std::string hint = "raise backends." + services_.config.name + ".pool.max by " +
                           std::to_string(missing_) +
                           " (the reload replaces all its processes); with each turn a session "
                           "loses what its server keeps in memory";
  services_.core.log.write(LogLevel::warn, "sessions take turns",
                           {{"backend", services_.config.name},
                            {"sessions", uint64_t{at_work}},
                            {"places", uint64_t{places}},
                            {"missing", uint64_t{missing_}},
                            {"hint", hint}});
}

size_t PlaceShortage::missing() const {
  return missing_ > 0 && now() - seen_ < kRemembered ? missing_ : 0;
}

SessionLane::SessionLane(const PoolServices& services, ChildListener& listener,
                         SessionEvents& session_events, Leases& leases, Children& children,
                         std::function<void()> on_places_taken)
    : services_(services),
      listener_(listener),
      session_events_(session_events),
      leases_(leases),
      children_(children),
      on_places_taken_(std::move(on_places_taken)),
      shortage_(services),
      place_timer_(services.core.timers, [this] { take_places(); }) {}

// --- A session's life -----------------------------------------------------------------------

tl::expected<void, rpc::FaultReport> SessionLane::open(session::SessionId session,
                                                       LeaseStart start) {
  if (children_.is_draining()) return tl::unexpected(rpc::faults::shutting_down());
  if (cannot_start()) return tl::unexpected(children_.breaker_report());
  if (start == LeaseStart::when_needed) {
    leases_.open(session);
    return {};
  }
  if (auto obstacle = find_obstacle()) return tl::unexpected(*std::move(obstacle));
  leases_.want_child(leases_.open(session));
  if (Child* const warm = children_.warm(); warm != nullptr) leases_.attach(*warm);
  if (leases_.taken() <= children_.session_places()) take_places();
  return {};
}

// The reason why one more session gets no place and may not wait for one; nothing: it may.
std::optional<rpc::FaultReport> SessionLane::find_obstacle() {
  const uint32_t places = children_.session_places();
  if (leases_.taken() < places || free_place()) return std::nullopt;
  const bool may_wait =
      services_.config.gives_way() && leases_.taken() - places < services_.config.pool.queue;
  if (may_wait) return std::nullopt;
  return rpc::faults::overloaded(children_.shortage());
}

void SessionLane::adopt(session::SessionId session, const Knowledge& client) {
  Lease& lease = leases_.open(session);
  lease.memory.adopt(client);
  lease.has_begun = true;
}

bool SessionLane::is_parked(session::SessionId session) const {
  const Lease* const lease = leases_.find(session);
  return lease != nullptr && lease->state == LeaseState::parked;
}

SessionMemory* SessionLane::memory_of(session::SessionId session) const {
  Lease* const lease = leases_.find(session);
  return lease == nullptr ? nullptr : &lease->memory;
}

std::optional<std::string_view> SessionLane::greeting_of(session::SessionId session) const {
  const SessionMemory* const memory = memory_of(session);
  return memory == nullptr ? std::nullopt : std::optional<std::string_view>(memory->greeting());
}

// Whether sessions must not wait for a child of this backend.
bool SessionLane::cannot_start() const {
  return children_.is_tripped() && children_.census().ready() == 0 && !children_.is_trial_due();
}

tl::expected<void, rpc::FaultReport> SessionLane::submit(Lease& lease, call::CallPtr& call,
                                                         const call::Outgoing& message) {
  const bool wakes = lease.state == LeaseState::parked;
  if (wakes && cannot_start()) return tl::unexpected(children_.breaker_report());
  if (wakes && !lease.has_begun) {
    if (auto obstacle = find_obstacle()) return tl::unexpected(*std::move(obstacle));
  }
  lease.used = now();
  const call::Call& waiting = *call;
  auto taken = leases_.submit(lease, call, message);
  if (services_.logs_messages && taken && !lease.queue.empty()) {
    log_queued(services_, waiting, lease.queue.size());
  }
  if (wakes && taken) wake(lease);
  return taken;
}

bool SessionLane::has_calls_at(session::SessionId session, uint64_t number) const {
  Child* const child = children_.find(number);
  const Lease* const lease = leases_.find(session);
  if (child == nullptr) return false;
  if (child->isolation() != config::Isolation::session) return child->calls().has_call_of(session);
  bool has_call = lease != nullptr && lease->child == child && lease->queue.has_calls();
  child->calls().for_each(
      [&](const auto& call) { has_call |= call.session == session && !call.listens; });
  return has_call;
}

bool SessionLane::notify(Lease& lease, const call::Outgoing& message) {
  const bool wakes = lease.state == LeaseState::parked;
  if (wakes && cannot_start()) return false;
  lease.used = now();
  if (!leases_.notify(lease, message)) return false;
  if (wakes) wake(lease);
  return true;
}

bool SessionLane::complete_greeting(session::SessionId session) {
  Lease* const lease = leases_.find(session);
  if (lease == nullptr || lease->state != LeaseState::parked || lease->memory.greeting().empty()) {
    return false;
  }
  lease->memory.complete();
  return true;
}

void SessionLane::wake(Lease& lease) {
  note_turn(lease);
  if (lease.has_begun) lease.woken = now();
  session_events_.on_session_waking(lease.session);
  leases_.want_child(lease);
  if (Child* const warm = children_.warm(); warm != nullptr) leases_.attach(*warm);
  take_places();
}

void SessionLane::note_turn(Lease& lease) {
  const auto ousted = std::exchange(lease.ousted, std::nullopt);
  if (!ousted || now() - *ousted >= PlaceShortage::kTurn) return;
  size_t at_work = 0;
  leases_.for_each([&](const Lease& one) {
    const bool is_busy = one.child != nullptr && one.child->in_flight() > 0;
    if (is_busy || now() - one.used < PlaceShortage::kTurn) ++at_work;
  });
  shortage_.note(at_work, children_.session_places());
}

void SessionLane::settle() {
  if (leases_.taken() > children_.session_places()) place_timer_.arm_by(now());
}

// If more sessions want a child than there are places, idle sessions give theirs up.
void SessionLane::take_places() {
  while (leases_.taken() > children_.session_places() && free_place()) {
  }
  if (leases_.taken() > children_.session_places()) {
    if (const auto due = children_.kept().lends_at()) place_timer_.arm_by(*due);
  }
  children_.make_places();
  children_.start_needed();
  on_places_taken_();
}

bool SessionLane::free_place() {
  Lease* const idle = longest_idle();
  if (idle == nullptr) return false;
  if (idle->child == nullptr || can_park(*idle)) {
    if (idle->child != nullptr) idle->ousted = now();
    park(*idle, ParkReason::place_needed);
  } else {
    lose(*idle, session::SessionEnd::failed,
         rpc::faults::child_failed("the session was idle, and another one needed its place"), {});
  }
  return true;
}

// The next session to give way. A session that waits for a child and needs none any more comes
// first, sessions whose client has a stream open come last. Null: none at the moment.
Lease* SessionLane::longest_idle() {
  if (!services_.config.gives_way()) return nullptr;
  Lease* longest = nullptr;
  std::pair<bool, TimePoint> best;
  std::optional<TimePoint> next;
  leases_.for_each([&](Lease& lease) {
    if (!lease.is_idle()) return;
    const session::ClientHold hold = session_events_.hold_of(lease.session);
    std::pair rank(false, TimePoint{});
    if (lease.child != nullptr) {
      if (hold == session::ClientHold::connection && !services_.config.revive) return;
      // A child that is not ready has not been idle yet.
      const TimePoint since = std::min(now(), std::max(lease.served, lease.child->idle_since()));
      const TimePoint due = since + services_.config.pool.min_hold;
      if (now() < due) {
        next = std::min(next.value_or(due), due);
        return;
      }
      rank = {hold != session::ClientHold::nothing, since};
    }
    if (longest != nullptr && best <= rank) return;
    longest = &lease;
    best = std::move(rank);
  });
  if (longest == nullptr && next) place_timer_.arm_by(*next);
  return longest;
}

session::Parking SessionLane::park(session::SessionId session) {
  Lease* const lease = leases_.find(session);
  if (lease == nullptr || !can_park(*lease)) return session::Parking::refused;
  if (lease->state == LeaseState::parked) return session::Parking::parked;
  if (!lease->is_idle()) return session::Parking::at_work;
  park(*lease, ParkReason::idle);
  children_.start_needed();
  return session::Parking::parked;
}

void SessionLane::park(Lease& lease, ParkReason reason) {
  lease.woken.reset();
  Child* const child = leases_.detach(lease, LeaseState::parked);
  if (child != nullptr) child->dismiss("its session is parked");
  session_events_.on_session_parked(lease.session, reason);
}

void SessionLane::replace(Lease& lease) {
  park(lease, ParkReason::replaced);
  if (!lease.queue.empty()) wake(lease);
}

bool SessionLane::can_park(const Lease& lease) const {
  return services_.config.revive && lease.memory.is_repeatable() && !children_.is_draining();
}

// A session whose client has not been answered yet has nothing that another child could be told.
bool SessionLane::can_revive(const Lease& lease) const {
  return can_park(lease) && !lease.memory.greeting().empty();
}

std::vector<call::CallPtr> SessionLane::close(session::SessionId session) {
  const std::unique_ptr<Lease> lease = leases_.close(session);
  std::vector<call::CallPtr> calls = lease->queue.take_calls();
  if (lease->child != nullptr) {
    Child& child = *lease->child;
    for (call::CallPtr& call : child.take_calls()) calls.push_back(std::move(call));
    child.set_lease(session::SessionId());
    child.dismiss("its session has ended");
  }
  children_.start_needed();
  return calls;
}

void SessionLane::hold_child(session::SessionId session, bool held) {
  if (Lease* lease = leases_.find(session); lease != nullptr) leases_.hold(*lease, held);
}

// --- Its children ---------------------------------------------------------------------------

void SessionLane::note_own_answer(Child& child, rpc::WireId id, const rpc::Envelope* answer) {
  Lease* const lease = leases_.find(child.lease());
  if (lease == nullptr || lease->revival == nullptr) return;
  if (lease->revival->awaits(id)) return finish_greeting(*lease, child, answer);
  lease->revival->note_answer(id);
}

void SessionLane::finish_greeting(Lease& lease, Child& child, const rpc::Envelope* answer) {
  const RevivalOutcome outcome = lease.revival->judge(answer);
  if (answer != nullptr && answer->kind == rpc::MessageKind::result) {
    listener_.on_greeted_again(lease.memory.greeting(), *answer);
  }
  if (outcome == RevivalOutcome::failed && answer != nullptr && refuses_peer_kind(*answer)) {
    children_.doubt_peer_kind();
    // The client has to begin again, and is then served like the clients of a stateless server.
    return lose(lease, session::SessionEnd::failed,
                rpc::faults::child_failed("the server knows no sessions any more"), {});
  }
  if (outcome == RevivalOutcome::failed) {
    // on_child_gone() decides what becomes of the session.
    return child.end(ExitReason::start_failed, "the child refused the handshake of its session",
                     Duration{0});
  }
  children_.note_success();
  const Duration since = now() - std::exchange(lease.woken, std::nullopt).value_or(now());
  session_events_.on_session_revived(lease.session, outcome, since, lease.revival->notices());
  if (outcome != RevivalOutcome::other_revision) return;
  lose(lease, session::SessionEnd::failed,
       rpc::faults::child_failed("the server speaks another revision of its protocol now"), {});
}

void SessionLane::lose_child(Lease& lease, session::SessionEnd end, const rpc::FaultReport& report,
                             std::vector<call::CallPtr> calls) {
  if (can_revive(lease)) {
    fail(lease, report, std::move(calls));
  } else {
    lose(lease, end, report, std::move(calls));
  }
}

// The child has gone, but the session can have another one: queued messages wait for it. They fail
// too if the child has gone before it was greeted, because the backend probably cannot start.
void SessionLane::fail(Lease& lease, const rpc::FaultReport& report,
                       std::vector<call::CallPtr> calls) {
  const session::SessionId session = lease.session;
  const bool was_told = lease.child != nullptr && lease.revival == nullptr;
  if (!was_told) {
    const Duration since = now() - lease.woken.value_or(now());
    session_events_.on_session_revived(session, RevivalOutcome::failed, since, {});
    for (call::CallPtr& call : take_queue(lease)) calls.push_back(std::move(call));
  }
  lease.woken.reset();
  leases_.detach(lease, LeaseState::parked);
  leases_.watch_queue(lease);
  session_events_.on_session_parked(session, ParkReason::child_ended);
  if (!lease.queue.empty()) wake(lease);
  for (call::CallPtr& call : calls) services_.chain.on_fault(std::move(call), report);
}

// Notifications in the queue are lost, and counted.
std::vector<call::CallPtr> SessionLane::take_queue(Lease& lease) {
  const size_t messages = lease.queue.size();
  std::vector<call::CallPtr> calls = lease.queue.take_calls();
  for (size_t i = calls.size(); i < messages; ++i) services_.drop(DropReason::caller_gone);
  return calls;
}

void SessionLane::lose(Lease& lease, session::SessionEnd end, const rpc::FaultReport& report,
                       std::vector<call::CallPtr> calls) {
  const session::SessionId session = lease.session;
  for (call::CallPtr& call : take_queue(lease)) calls.push_back(std::move(call));
  Child* const child = leases_.detach(lease, LeaseState::lost);
  if (child != nullptr && child->state() != ChildState::dead) {
    child->dismiss("its session has ended");
  }
  for (call::CallPtr& call : calls) services_.chain.on_fault(std::move(call), report);
  session_events_.on_session_end(session, end, report.message);
}

void SessionLane::fail_waiting(const rpc::FaultReport& report) {
  for (const session::SessionId session : leases_.waiting_sessions()) {
    // An earlier on_session_end() may have closed it.
    Lease* lease = leases_.find(session);
    if (lease == nullptr || lease->state != LeaseState::waiting) continue;
    lose_child(*lease, session::SessionEnd::failed, report, {});
  }
}

}  // namespace stdgate::pool

#include "gateway/pool/leases.h"

#include <algorithm>
#include <utility>

#include "gateway/base/check.h"

namespace stdgate::pool {

bool Lease::is_idle() const {
  if (revival != nullptr || !queue.empty()) return false;
  return state == LeaseState::waiting || (child != nullptr && child->in_flight() == 0);
}

Lease& Leases::open(session::SessionId session) {
  if (session.index >= leases_.size()) leases_.resize(session.index + 1);
  auto& lease = leases_[session.index];
  lease = std::make_unique<Lease>(session, services_.config.pool, services_.payer.held);
  ++size_;
  ++counts_[static_cast<size_t>(lease->state)];
  return *lease;
}

void Leases::set_state(Lease& lease, LeaseState state) {
  --counts_[static_cast<size_t>(lease.state)];
  lease.state = state;
  ++counts_[static_cast<size_t>(state)];
}

Lease* Leases::find(session::SessionId session) const {
  if (session.index >= leases_.size()) return nullptr;
  Lease* lease = leases_[session.index].get();
  return lease != nullptr && lease->session == session ? lease : nullptr;
}

std::unique_ptr<Lease> Leases::close(session::SessionId session) {
  STDGATE_CHECK(find(session) != nullptr);
  --size_;
  --counts_[static_cast<size_t>(leases_[session.index]->state)];
  return std::move(leases_[session.index]);
}

std::vector<session::SessionId> Leases::childless_sessions() const {
  std::vector<session::SessionId> sessions;
  for_each([&sessions](const Lease& lease) {
    if (lease.child == nullptr) sessions.push_back(lease.session);
  });
  return sessions;
}

std::vector<session::SessionId> Leases::waiting_sessions() const {
  std::vector<session::SessionId> sessions;
  for_each([&sessions](const Lease& lease) {
    if (lease.state == LeaseState::waiting) sessions.push_back(lease.session);
  });
  return sessions;
}

size_t Leases::queued() const {
  size_t count = 0;
  for_each([&count](const Lease& lease) { count += lease.queue.size(); });
  return count;
}

size_t Leases::queued_bytes() const {
  size_t count = 0;
  for_each([&count](const Lease& lease) { count += lease.queue.bytes(); });
  return count;
}

void Leases::want_child(Lease& lease) {
  lease.turn = ++turns_;
  set_state(lease, LeaseState::waiting);
}

bool Leases::attach(Child& child) {
  if (waiting() == 0) return false;
  Lease* next = nullptr;
  for_each([&next](Lease& lease) {
    if (lease.state != LeaseState::waiting) return;
    if (next == nullptr || lease.turn < next->turn) next = &lease;
  });
  set_state(*next, LeaseState::served);
  next->child = &child;
  next->served = services_.core.clock.now();
  child.set_lease(next->session);
  const bool begins = !std::exchange(next->has_begun, true);
  events_.on_session_served(next->session, child);
  if (!next->memory.greeting().empty()) {
    next->revival = std::make_unique<Revival>(services_, events_, next->session, next->memory);
  } else if (const auto woken = std::exchange(next->woken, std::nullopt)) {
    const TimePoint now = services_.core.clock.now();
    events_.on_session_revived(next->session, RevivalOutcome::same, now - *woken, {});
  } else if (begins) {
    events_.on_session_begun(next->session);
  }
  hold(*next, next->held);
  dispatch(*next);
  return true;
}

Child* Leases::detach(Lease& lease, LeaseState state) {
  set_state(lease, state);
  lease.revival.reset();
  Child* const child = std::exchange(lease.child, nullptr);
  if (child != nullptr) child->set_lease(session::SessionId());
  return child;
}

tl::expected<void, rpc::FaultReport> Leases::submit(Lease& lease, call::CallPtr& call,
                                                    const call::Outgoing& message) {
  if (lease.state == LeaseState::lost) {
    return tl::unexpected(rpc::faults::child_failed("the session's child has gone"));
  }
  if (lease.queue.empty() && lease.takes_messages() && lease.child->admits(*call)) {
    send(lease, std::move(call), message);
    return {};
  }
  if (!lease.queue.has_room(message.bytes())) {
    return tl::unexpected(rpc::faults::overloaded("the queue of this session is full"));
  }
  lease.queue.push(std::move(call), message);
  watch_queue(lease);
  return {};
}

bool Leases::notify(Lease& lease, const call::Outgoing& message) {
  if (lease.state == LeaseState::lost) return false;
  if (lease.queue.empty() && lease.takes_messages()) {
    send_message(lease, message);
    return true;
  }
  if (!lease.queue.has_room(message.bytes())) return false;
  lease.queue.push(nullptr, message);
  watch_queue(lease);
  return true;
}

void Leases::send(Lease& lease, call::CallPtr call, const call::Outgoing& message) {
  if (call->greeting.empty()) lease.memory.note_served();
  lease.child->send(std::move(call), message);
}

void Leases::send_message(Lease& lease, const call::Outgoing& message) {
  if (message.completes_greeting) lease.memory.complete();
  lease.child->send_message(message);
}

void Leases::dispatch(Lease& lease) {
  if (lease.revival != nullptr && lease.child != nullptr && lease.revival->go_on(*lease.child)) {
    lease.revival.reset();
    hold(lease, lease.held);
  }
  while (!lease.queue.empty() && lease.takes_messages()) {
    const call::Call* const next = lease.queue.front();
    if (next != nullptr && !lease.child->admits(*next)) break;
    call::WaitingMessage waiting = lease.queue.pop();
    if (waiting.call) {
      send(lease, std::move(waiting.call), waiting.outgoing());
    } else {
      send_message(lease, waiting.outgoing());
    }
    lease.queue.reuse(std::move(waiting));
  }
  watch_queue(lease);
}

void Leases::watch_queue(Lease& lease) {
  if (!lease.paused && lease.queue.is_half_full()) {
    lease.paused = true;
    events_.on_reading(lease.session, false);
  } else if (lease.paused && lease.queue.is_quarter_full_at_most()) {
    lease.paused = false;
    events_.on_reading(lease.session, true);
  }
}

void Leases::hold(Lease& lease, bool held) {
  lease.held = held;
  // The answers to the gateway's own requests have to be read even while the client takes nothing.
  if (lease.child != nullptr) lease.child->set_reading(!held || lease.revival != nullptr);
}

uint32_t KeptPlaces::all() const {
  const config::PoolConfig& pool = services_.config.pool;
  return std::min(is_shared() ? std::max(pool.min, 1U) : services_.config.kept_for_calls(),
                  pool.max);
}

bool KeptPlaces::is_lending() const {
  if (is_shared() || !queues_.empty()) return false;
  if (last_call_ && now() - *last_call_ < services_.config.pool.idle_timeout) return false;
  return std::ranges::none_of(children_, [](const auto& child) {
    return child->isolation() == config::Isolation::shared && child->load() > 0;
  });
}

std::optional<TimePoint> KeptPlaces::lends_at() const {
  if (is_shared() || all() == 0 || !last_call_) return std::nullopt;
  const TimePoint due = *last_call_ + services_.config.pool.idle_timeout;
  return due > now() ? std::optional(due) : std::nullopt;
}

std::string KeptPlaces::shortage(uint32_t places) const {
  const config::BackendConfig& config = services_.config;
  const std::string number = std::to_string(places);
  std::string text = number + " of " + number;
  text += config.gives_way() ? " sessions are at work" : " children have a session";
  if (const uint32_t kept = unlent(); kept > 0) {
    text += ", and " + std::to_string(kept) + " of " + std::to_string(config.pool.max) +
            " children kept for calls without a session (pool.min)";
  }
  return text + "; raise backends." + config.name +
         ".pool.max; the reload replaces all its processes";
}

}  // namespace stdgate::pool

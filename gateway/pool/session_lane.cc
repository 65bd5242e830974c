#include "gateway/pool/session_lane.h"

#include <utility>

namespace stdgate {

namespace {

bool waits(const Lease& lease) { return lease.child == nullptr && !lease.lost; }

}  // namespace

void SessionLane::open(SessionId session) {
  if (session.index >= leases_.size()) leases_.resize(session.index + 1);
  leases_[session.index] = std::make_unique<Lease>(session, config_, ++opened_);
  ++size_;
}

Lease* SessionLane::find(SessionId session) const {
  if (session.index >= leases_.size()) return nullptr;
  Lease* lease = leases_[session.index].get();
  return lease != nullptr && lease->session == session ? lease : nullptr;
}

std::unique_ptr<Lease> SessionLane::close(SessionId session) {
  --size_;
  return std::move(leases_[session.index]);
}

std::vector<SessionId> SessionLane::waiting_sessions() const {
  std::vector<SessionId> sessions;
  for_each([&sessions](const Lease& lease) {
    if (waits(lease)) sessions.push_back(lease.session);
  });
  return sessions;
}

size_t SessionLane::waiting() const {
  size_t count = 0;
  for_each([&count](const Lease& lease) { count += waits(lease) ? 1 : 0; });
  return count;
}

size_t SessionLane::queued() const {
  size_t count = 0;
  for_each([&count](const Lease& lease) { count += lease.queue.size(); });
  return count;
}

size_t SessionLane::queued_bytes() const {
  size_t count = 0;
  for_each([&count](const Lease& lease) { count += lease.queue.bytes(); });
  return count;
}

bool SessionLane::attach(Child& child) {
  Lease* next = nullptr;
  for_each([&next](Lease& lease) {
    if (waits(lease) && (next == nullptr || lease.number < next->number)) next = &lease;
  });
  if (next == nullptr) return false;
  next->child = &child;
  child.set_lease(next->session);
  if (next->held) child.set_reading(false);
  dispatch(*next);
  return true;
}

tl::expected<void, FaultReport> SessionLane::submit(Lease& lease, CallPtr& call,
                                                    const Outgoing& message) {
  if (lease.lost) {
    return tl::unexpected(FaultReport{Fault::child_failed, "the session's child has gone", {}, {}});
  }
  if (lease.queue.empty() && lease.child != nullptr && lease.child->has_room()) {
    lease.child->send(std::move(call), message);
    return {};
  }
  if (!lease.queue.has_room(message.text.size())) {
    return tl::unexpected(FaultReport{Fault::overloaded,
                                      "too much waits for the child of this session",
                                      {},
                                      std::chrono::seconds(1)});
  }
  lease.queue.push(std::move(call), message);
  watch_queue(lease);
  return {};
}

bool SessionLane::notify(Lease& lease, const Outgoing& message) {
  if (lease.lost) return false;
  if (lease.queue.empty() && lease.child != nullptr && lease.child->has_room()) {
    lease.child->send_message(message);
    return true;
  }
  if (!lease.queue.has_room(message.text.size())) return false;
  lease.queue.push(nullptr, message);
  watch_queue(lease);
  return true;
}

void SessionLane::dispatch(Lease& lease) {
  while (!lease.queue.empty() && lease.child != nullptr && lease.child->has_room()) {
    WaitingMessage waiting = lease.queue.pop();
    if (waiting.call) {
      lease.child->send(std::move(waiting.call), waiting.outgoing());
    } else {
      lease.child->send_message(waiting.outgoing());
    }
    lease.queue.reuse(std::move(waiting));
  }
  watch_queue(lease);
}

void SessionLane::watch_queue(Lease& lease) {
  if (!lease.paused && lease.queue.is_half_full()) {
    lease.paused = true;
    events_.on_reading(lease.session, false);
  } else if (lease.paused && lease.queue.is_quarter_full_at_most()) {
    lease.paused = false;
    events_.on_reading(lease.session, true);
  }
}

void SessionLane::hold(Lease& lease, bool held) {
  lease.held = held;
  if (lease.child != nullptr) lease.child->set_reading(!held);
}

std::vector<CallPtr> SessionLane::lose(Lease& lease) {
  lease.child = nullptr;
  lease.lost = true;
  return lease.queue.take_calls();
}

}  // namespace stdgate

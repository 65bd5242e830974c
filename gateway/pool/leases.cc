#include "gateway/pool/leases.h"

#include <utility>

#include "gateway/base/check.h"

namespace stdgate::pool {

namespace {

bool waits(const Lease& lease) { return lease.child == nullptr && !lease.lost; }

}  // namespace

void Leases::open(session::SessionId session) {
  if (session.index >= leases_.size()) leases_.resize(session.index + 1);
  leases_[session.index] = std::make_unique<Lease>(session, config_, ++opened_);
  ++size_;
}

Lease* Leases::find(session::SessionId session) const {
  if (session.index >= leases_.size()) return nullptr;
  Lease* lease = leases_[session.index].get();
  return lease != nullptr && lease->session == session ? lease : nullptr;
}

std::unique_ptr<Lease> Leases::close(session::SessionId session) {
  STDGATE_CHECK(find(session) != nullptr);
  --size_;
  return std::move(leases_[session.index]);
}

std::vector<session::SessionId> Leases::waiting_sessions() const {
  std::vector<session::SessionId> sessions;
  for_each([&sessions](const Lease& lease) {
    if (waits(lease)) sessions.push_back(lease.session);
  });
  return sessions;
}

size_t Leases::waiting() const {
  size_t count = 0;
  for_each([&count](const Lease& lease) { count += waits(lease) ? 1 : 0; });
  return count;
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

bool Leases::attach(Child& child) {
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

tl::expected<void, rpc::FaultReport> Leases::submit(Lease& lease, CallPtr& call,
                                                    const Outgoing& message) {
  if (lease.lost) {
    return tl::unexpected(rpc::faults::child_failed("the session's child has gone"));
  }
  if (lease.queue.empty() && lease.child != nullptr && lease.child->has_room()) {
    lease.child->send(std::move(call), message);
    return {};
  }
  if (!lease.queue.has_room(message.bytes())) {
    return tl::unexpected(rpc::faults::overloaded("too much waits for the child of this session"));
  }
  lease.queue.push(std::move(call), message);
  watch_queue(lease);
  return {};
}

bool Leases::notify(Lease& lease, const Outgoing& message) {
  if (lease.lost) return false;
  if (lease.queue.empty() && lease.child != nullptr && lease.child->has_room()) {
    lease.child->send_message(message);
    return true;
  }
  if (!lease.queue.has_room(message.bytes())) return false;
  lease.queue.push(nullptr, message);
  watch_queue(lease);
  return true;
}

void Leases::dispatch(Lease& lease) {
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
  if (lease.child != nullptr) lease.child->set_reading(!held);
}

std::vector<CallPtr> Leases::lose(Lease& lease) {
  lease.child = nullptr;
  lease.lost = true;
  return lease.queue.take_calls();
}

}  // namespace stdgate::pool

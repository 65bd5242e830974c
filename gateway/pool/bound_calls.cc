#include "gateway/pool/bound_calls.h"

#include <utility>

#include "gateway/base/check.h"
#include "gateway/pool/message_log.h"
#include "gateway/pool/pool.h"

namespace stdgate::pool {

tl::expected<void, rpc::FaultReport> BoundCalls::submit(call::CallPtr& call,
                                                        const call::Outgoing& message) {
  Child* const child = children_.find(call->route.child);
  if (child == nullptr || !child->keeps_bound()) {
    redirect(std::move(call), message);
    return {};
  }
  // The calls that wait here may depend on a request of the gateway.
  const bool is_next = child->bound().empty() || call->is_own;
  if (is_next && child->has_room_for_bound() && child->admits(*call)) {
    pool_.give(*child, std::move(call), message);
    return {};
  }
  if (!has_room(message.bytes())) {
    return tl::unexpected(rpc::faults::overloaded("the queue of this backend is full"));
  }
  if (services_.logs_messages) log_queued(services_, *call, child->bound().size() + 1);
  child->bound().push(std::move(call), message);
  return {};
}

void BoundCalls::redirect(call::CallPtr call, const call::Outgoing& message) {
  if (call->listens) {
    return bridge_.on_listener_lost(std::move(call), rpc::faults::child_failed("gone"));
  }
  const auto report = rpc::faults::child_failed("the server is another one now");
  services_.chain.on_lost(call, message.text, report);
  if (call == nullptr) return;
  // A server of the other kind was installed while the call waited.
  if (!call->route.is_bound) return services_.chain.on_fault(std::move(call), report);
  call->route.child = 0;
  call->route.is_bound = false;
  pool_.send(std::move(call), message);
}

void BoundCalls::dispatch(Child& child) {
  while (!child.bound().empty() && child.has_room_for_bound()) {
    const call::Call* const next = child.bound().front();
    if (next != nullptr && !child.admits(*next)) return;
    call::WaitingMessage waiting = child.bound().pop();
    pool_.give(child, std::move(waiting.call), waiting.outgoing());
    child.bound().reuse(std::move(waiting));
  }
}

call::CallQueue& BoundCalls::queue_of(const call::Call& waiting, const Children& children) {
  Child* const child = children.find(waiting.route.child);
  STDGATE_CHECK(child != nullptr);
  return child->bound();
}

bool BoundCalls::has_room(size_t more) const {
  const config::PoolConfig& limits = services_.config.pool;
  return queue_.size() + size() < limits.queue &&
         queue_.bytes() + bytes() + more <= limits.queue_bytes;
}

size_t BoundCalls::size() const {
  size_t size = 0;
  for (const auto& child : children_.all()) size += child->bound().size();
  return size;
}

size_t BoundCalls::bytes() const {
  size_t bytes = 0;
  for (const auto& child : children_.all()) bytes += child->bound().bytes();
  return bytes;
}

std::vector<call::WaitingMessage> BoundCalls::take_all(Child& child) {
  std::vector<call::WaitingMessage> messages;
  while (!child.bound().empty()) messages.push_back(child.bound().pop());
  return messages;
}

void BoundCalls::tell_lost(std::vector<call::WaitingMessage> messages) {
  for (call::WaitingMessage& waiting : messages) {
    redirect(std::move(waiting.call), waiting.outgoing());
  }
}

std::vector<call::CallPtr> BoundCalls::take_calls() {
  std::vector<call::CallPtr> calls;
  for (const auto& child : children_.all()) {
    for (call::CallPtr& call : child->bound().take_calls()) calls.push_back(std::move(call));
  }
  return calls;
}

}  // namespace stdgate::pool

#include "gateway/backend/shared_wishes.h"

#include "gateway/base/check.h"

namespace stdgate::backend {

void SharedWishes::finish(const call::Call& call, std::string_view key, Outcome outcome) {
  using Answer = session::Subscriptions::Answer;
  const Answer answer = outcome == Outcome::ok()      ? Answer::granted
                        : outcome == Outcome::error() ? Answer::refused
                                                      : Answer::unknown;
  const uint64_t child = pool_.find_child(call.child) == nullptr ? 0 : call.child;
  subscriptions_.finish(call.session, key, child, answer);
}

std::optional<uint64_t> SharedWishes::unsubscribe(session::SessionId session,
                                                  std::string_view key) {
  const session::Subscriptions::Withdrawal withdrawal = subscriptions_.withdraw(session, key);
  if (!withdrawal.known && !subscriptions_.is_wanted(key)) return 0;
  const pool::Child* child = withdrawal.known ? pool_.find_child(withdrawal.child) : nullptr;
  const bool can_tell = child != nullptr && pool_.can_ask(*child) &&
                        subscriptions_.take_unwanted(withdrawal.child, key);
  return can_tell ? std::optional(withdrawal.child) : std::nullopt;
}

// A stateless child is told with each request.
void SharedWishes::tell(pool::Child& child) {
  if (child.peer_kind() == PeerKind::stateless) return;
  if (!verbosity_.settled() && pool_.can_set_severity(child)) {
    const bool serves_calls = child.peer_kind() == PeerKind::stateful && child.facts().logs;
    const auto severity = verbosity_.take(child.number(), serves_calls);
    if (severity) pool_.set_severity(child, *severity);
  }
  while (pool_.can_ask(child)) {
    const auto key = subscriptions_.take_unwanted(child.number());
    if (!key) break;
    pool_.ask(child, [&](rpc::WireId id) { return services_.dialect.subscribe(id, *key, false); });
  }
  while (pool_.can_ask(child)) {
    const auto key = subscriptions_.adopt(child.number());
    if (!key) break;
    pool_.ask(child, [&](rpc::WireId id) { return services_.dialect.subscribe(id, *key, true); });
  }
}

void SharedWishes::check_invariants(size_t sessions, size_t wishes,
                                    const std::function<bool(session::SessionId)>& is_open) const {
  STDGATE_CHECK(verbosity_.sessions() == sessions);
  STDGATE_CHECK(verbosity_.sessions_with_wish() == wishes);
  subscriptions_.check_invariants(
      is_open, [this](uint64_t child) { return pool_.find_child(child) != nullptr; });
}

}  // namespace stdgate::backend

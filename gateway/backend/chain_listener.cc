#include "gateway/backend/chain_listener.h"

namespace stdgate::backend {

namespace {

call::ChildRef ref_of(const pool::Child& child) {
  const bool is_shared = child.isolation() == config::Isolation::shared;
  return {child.number(), child.peer_kind(), is_shared, child.lease()};
}

}  // namespace

void ChainListener::on_event(const call::Call& call, const rpc::Envelope& notification,
                             TextPlace progress_token) {
  const std::string_view method = notification.decoded_method(method_);
  call::ChildMessage message(notification, method, {call.child, call.child_kind}, &call,
                             progress_token);
  if (!chain_.pass(message)) return;
  next_.on_event(call, message.message(), message.progress_token());
}

void ChainListener::on_notification(pool::Child& child, const rpc::Envelope& notification,
                                    std::string_view method) {
  call::ChildMessage message(notification, method, ref_of(child));
  if (chain_.pass(message)) next_.on_notification(child, message.message(), method);
}

void ChainListener::on_child_gone(const pool::Child& child) {
  const call::ChildRef gone = ref_of(child);
  if (gone.is_shared) notices_.note_gone(child);
  chain_.on_child_gone(gone);
  next_.on_child_gone(child);
}

}  // namespace stdgate::backend

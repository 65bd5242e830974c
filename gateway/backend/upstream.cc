#include "gateway/backend/upstream.h"

namespace stdgate::backend {

// Links the neighbours of this in the chain.
Upstream::~Upstream() {
  if (successor_ != nullptr) successor_->former_ = former_;
  if (former_ != nullptr) former_->successor_ = successor_;
}

void Upstream::succeed(Upstream& former) {
  former_ = &former;
  former.successor_ = this;
}

std::optional<Admission> Upstream::pass_elsewhere(const rpc::ParsedMessage& message,
                                                  const call::CallContext& context) {
  const rpc::Envelope& request = message.envelope;
  const bool stands_alone = message.ok() && request.kind == rpc::MessageKind::request &&
                            context.session.is_none() && !context.is_own;
  if (!stands_alone) return std::nullopt;
  for (Upstream* giver = former_; giver != nullptr; giver = giver->former_) {
    if (giver->gave(request, context)) return giver->accept(message, context);
  }
  const bool is_of_session =
      context.transport != Transport::mcp || context.peer_kind != PeerKind::stateless;
  if (!is_retired_ || is_of_session || gave(request, context)) return std::nullopt;
  refuse(rpc::faults::overloaded("this server is not configured any more"), request.id, context);
  return Admission::answered_by_reply;
}

}  // namespace stdgate::backend

#include "gateway/pool/peer_verdict.h"

#include <utility>

#include "gateway/rpc/fault.h"

namespace stdgate::pool {

bool refuses_peer_kind(const rpc::Envelope& answer) {
  return rpc::error_code(answer) == rpc::rpc_error_code(rpc::RpcError::unsupported_version);
}

PeerVerdict::PeerVerdict(config::Revision revision, Greeting first)
    : revision_(revision), first_(first) {
  if (revision == config::Revision::legacy) peer_kind_ = PeerKind::stateful;
  if (revision == config::Revision::modern) peer_kind_ = PeerKind::stateless;
}

Greeting PeerVerdict::greeting() const {
  if (!peer_kind_) return first_;
  return *peer_kind_ == PeerKind::stateless ? Greeting::discovery : Greeting::handshake;
}

bool PeerVerdict::learn(PeerKind peer_kind) {
  if (revision_ != config::Revision::automatic) return false;
  is_shown_ = true;
  return std::exchange(peer_kind_, peer_kind) != peer_kind;
}

bool PeerVerdict::excuses(Greeting greeting, StartFailure failure) {
  if (revision_ != config::Revision::automatic) return false;
  if (greeting == Greeting::probe) {
    peer_kind_ = PeerKind::stateful;
    return failure == StartFailure::while_asked;
  }
  if (failure != StartFailure::refused) return false;
  const bool was_shown = std::exchange(is_shown_, false);
  // A child that was greeted as a stateful one without a probe may be a stateless one: that comes
  // next.
  const bool is_untried = greeting == Greeting::handshake && !peer_kind_;
  peer_kind_ = is_untried ? std::optional(PeerKind::stateless) : std::nullopt;
  return is_untried || was_shown;
}

void PeerVerdict::doubt() {
  if (revision_ == config::Revision::automatic && peer_kind_ == PeerKind::stateful)
    peer_kind_.reset();
}

}  // namespace stdgate::pool

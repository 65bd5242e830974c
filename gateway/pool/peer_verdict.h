// PeerVerdict: which kind the shared children of a backend speak, and so how the next child is
// greeted.
//
// Learns from the answers of children, and from a child that ends because of the probe. Forgets an
// kind that a start contradicts. Pure. Owner: Children.
#pragma once

#include <cstdint>
#include <optional>

#include "gateway/config/config.h"
#include "gateway/observer.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::pool {

// How the gateway begins with a child.
enum class Greeting : uint8_t {
  probe,      // asks for the kind; a child that is not stateless is greeted as a stateful one
  handshake,  // by the handshake of its protocol
  discovery,  // asks what the child is; there is no handshake
};

// How a start failed.
enum class StartFailure : uint8_t {
  while_asked,  // the process ended by itself before it answered the probe
  refused,      // the process refused the way in which it was begun with
  other,
};

// Whether this answer shows that the child is of another kind than the request.
[[nodiscard]] bool refuses_peer_kind(const rpc::Envelope& answer);

class PeerVerdict {
 public:
  // `first`: probe or handshake, for the time while the kind is not known. A child of both kinds is
  // taken for the kind that is tried first.
  PeerVerdict(config::Revision revision, Greeting first);

  [[nodiscard]] Greeting greeting() const;
  // Nothing: the kind is not known, or has been contradicted.
  [[nodiscard]] std::optional<PeerKind> peer_kind() const { return peer_kind_; }

  // A child has shown its kind. Returns whether the kind is news.
  bool learn(PeerKind peer_kind);
  // A child that was greeted in this way has failed to start. Returns whether the failure is
  // excused: if the probe has caused it (the next child is not probed), or if the server has been
  // exchanged (the next child is probed again).
  bool excuses(Greeting greeting, StartFailure failure);
  // A session's own child is not a stateful one, so the next shared child is probed again.
  void doubt();

 private:
  const config::Revision revision_;
  const Greeting first_;
  std::optional<PeerKind> peer_kind_;
  bool is_shown_ = false;  // a child has shown `peer_kind_`, and none has contradicted it since
};

}  // namespace stdgate::pool

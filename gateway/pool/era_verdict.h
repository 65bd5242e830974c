// EraVerdict: which era of their protocol the shared children of a backend speak, and so how the
// next one is greeted.
//
// Learns from children: what one has answered, and that one has ended because it was asked. Forgets
// what a start contradicts. Pure. Owner: Children.
#pragma once

#include <cstdint>
#include <optional>

#include "gateway/config/config.h"
#include "gateway/observer.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::pool {

// How the gateway begins with a child.
enum class Greeting : uint8_t {
  probe,   // asks of which era it is; a child that is not modern is then greeted as a legacy one
  legacy,  // by the handshake of its protocol
  modern,  // asks what it is; there is no handshake
};

// How a start failed.
enum class StartFailure : uint8_t {
  while_asked,  // the process ended by itself, before it said of which era it is
  refused,      // it did not take what it was begun with
  other,
};

// Whether an answer says that the child is of another era than that in which it was spoken to.
[[nodiscard]] bool refuses_era(const rpc::Envelope& answer);

class EraVerdict {
 public:
  // `first`: what is tried while the era is not known, of probe and legacy. A child of both eras is
  // of the one that is tried first.
  EraVerdict(config::Revision revision, Greeting first);

  [[nodiscard]] Greeting greeting() const;
  // Nothing: not known yet, or not any more.
  [[nodiscard]] std::optional<Era> era() const { return era_; }

  // A child has shown its era. Whether that is news.
  bool learn(Era era);
  // A child that was begun with so has failed to start. Whether that counts as no failure: it could
  // not bear to be asked, and the next one will not be; or the server is another one now, and the
  // next one will be asked.
  bool excuses(Greeting greeting, StartFailure failure);
  // A session's own child is not of the legacy era: the next shared one is asked again.
  void doubt();

 private:
  const config::Revision revision_;
  const Greeting first_;
  std::optional<Era> era_;
  bool is_shown_ = false;  // a child has shown it, and none has contradicted since
};

}  // namespace stdgate::pool

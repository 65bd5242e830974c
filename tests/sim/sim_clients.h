// SimClients: callers without a session who use the same ids, leave in the middle, and check every
// answer they get.
#pragma once

#include <optional>
#include <string>

#include "gateway/pool/backend_set.h"
#include "gateway/session/reply_sink.h"
#include "tests/sim/sim_calls.h"
#include "tests/sim/sim_world.h"

namespace stdgate::sim {

// One connection: at most a few calls at a time.
class SimClient final : public ReplySink {
 public:
  SimClient(SimWorld& world, Origins& origins, SimOwners& owners, BackendSet& backends,
            Backend& backend, Protocol protocol);
  ~SimClient() override;

  // Sends a request, a notification, a cancel, or nonsense.
  void act();
  // Closes the connection: calls under way are withdrawn, nothing may arrive afterwards.
  void leave();

  [[nodiscard]] size_t open_calls() const { return calls_.open(); }
  [[nodiscard]] uint64_t requests() const { return calls_.requests(); }

  void on_reply(Tag tag, const Reply& reply) override;
  void on_event(Tag tag, std::string_view notification) override;
  void on_cancelled(Tag tag) override;

 private:
  void send(std::string text, bool wants_events = false, Tag tag = 0);

  SimWorld& world_;
  Origins& origins_;
  BackendSet& backends_;
  Backend& backend_;
  // Else which call a progress belongs to is a guess that may be wrong after one was given up.
  const bool has_tokens_;
  std::optional<Origin> origin_;
  SimCalls calls_;
  EnvelopeParser parser_;
};

}  // namespace stdgate::sim

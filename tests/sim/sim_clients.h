// SimClients: callers without a session that use the same ids, leave in the middle, and check every
// answer.
#pragma once

#include <optional>
#include <string>

#include "gateway/backend/backend.h"
#include "gateway/backend/upstream.h"
#include "gateway/session/sinks.h"
#include "tests/sim/sim_calls.h"
#include "tests/sim/sim_world.h"

namespace stdgate::sim {

// One connection, with a few calls at a time.
class SimClient final : public session::ReplySink {
 public:
  SimClient(SimWorld& world, session::Callers& callers, SimOwners& owners,
            backend::Upstreams& backends, backend::Backend& backend,
            const config::BackendConfig& config, SimRecords& records);
  ~SimClient() override;

  // Sends a request, a notification, a cancel, or nonsense.
  void act();
  // Closes the connection. Calls under way are withdrawn, and nothing may arrive afterwards.
  void leave();

  [[nodiscard]] size_t open_calls() const { return calls_.open(); }
  [[nodiscard]] uint64_t requests() const { return calls_.requests(); }

  void on_reply(session::Tag tag, const session::Reply& reply) override;
  void on_event(session::Tag tag, std::string_view notification) override;
  void on_cancelled(session::Tag tag) override;

 private:
  void send(SimCalls::Request request, bool wants_events = false);
  void send(std::string text) { send({0, std::move(text)}); }

  SimWorld& world_;
  session::Callers& callers_;
  backend::Upstreams& backends_;
  backend::Backend& backend_;
  // Without tokens the gateway guesses which call a progress belongs to. The guess may be wrong
  // after a call was given up.
  const bool has_tokens_;
  std::optional<session::Caller> caller_;
  SimCalls calls_;
  rpc::EnvelopeParser parser_;
};

}  // namespace stdgate::sim

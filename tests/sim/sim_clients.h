// SimClients: callers who use the same ids, leave in the middle, and check every answer they get.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gateway/pool/backend_set.h"
#include "gateway/pool/reply_sink.h"
#include "tests/sim/sim_world.h"

namespace stdgate::sim {

// One connection: at most a few calls at a time.
class SimClient final : public ReplySink {
 public:
  // `has_tokens`: the backend's dialect tells by token which call a progress belongs to; else it is
  // a guess that may be wrong after a call was given up.
  SimClient(SimWorld& world, Origins& origins, BackendSet& backends, Backend& backend,
            bool has_tokens);
  ~SimClient() override;

  // Sends a request, a notification, a cancel, or nonsense.
  void act();
  // Closes the connection: calls under way are withdrawn, nothing may arrive afterwards.
  void leave();

  [[nodiscard]] bool has_left() const { return !origin_.has_value(); }
  [[nodiscard]] size_t open_calls() const { return open_.size(); }
  [[nodiscard]] uint64_t requests() const { return requests_; }

  void on_reply(Tag tag, const Reply& reply) override;
  void on_event(Tag tag, std::string_view notification) override;

 private:
  struct OpenCall {
    std::string id;
    std::string nonce;
    std::string progress_token;
  };
  void send_request();
  void send(std::string text, bool wants_events, Tag tag);

  SimWorld& world_;
  Origins& origins_;
  BackendSet& backends_;
  Backend& backend_;
  const bool has_tokens_;
  std::optional<Origin> origin_;
  std::map<Tag, OpenCall> open_;
  Tag next_tag_ = 1;
  uint64_t requests_ = 0;
  EnvelopeParser parser_;
};

}  // namespace stdgate::sim

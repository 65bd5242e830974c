#include "tests/sim/sim_clients.h"

#include <gtest/gtest.h>

#include <array>

namespace stdgate::sim {

namespace {

// Few, so that clients collide all the time.
constexpr std::array<std::string_view, 6> kIds = {
    "1", R"("1")", "1.0", "12345678901234567890", R"("\u00e9")", "null"};
constexpr std::array<std::string_view, 3> kTokens = {"1", R"("token")", "7"};

uint64_t next_nonce(SimWorld& world) { return world.random()(); }

}  // namespace

SimClient::SimClient(SimWorld& world, Origins& origins, BackendSet& backends, Backend& backend,
                     bool has_tokens)
    : world_(world),
      origins_(origins),
      backends_(backends),
      backend_(backend),
      has_tokens_(has_tokens),
      origin_(origins.add(*this)),
      parser_(backend.envelope_limits()) {}

SimClient::~SimClient() {
  if (origin_) leave();
}

void SimClient::leave() {
  backends_.cancel_calls_of(*origin_);
  origins_.remove(*origin_);
  origin_.reset();
  open_.clear();
}

void SimClient::act() {
  const uint64_t dice = world_.pick(0, 99);
  if (dice < 70) {
    send_request();
  } else if (dice < 80) {
    send(R"({"jsonrpc":"2.0","method":"note","params":{"a":1}})", false, 0);
  } else if (dice < 88) {
    const std::string id(kIds[world_.pick(0, kIds.size() - 1)]);
    send(R"({"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":)" + id + "}}", false, 0);
  } else if (dice < 94) {
    send(R"({"jsonrpc":"2.0","id":"stray","result":1})", false, 0);
  } else {
    const Tag tag = next_tag_++;
    open_[tag] = OpenCall{"5", "", ""};
    ++requests_;
    send(R"({"jsonrpc":"1.0","id":5,"method":"wrong"})", false, tag);
  }
}

void SimClient::send_request() {
  const Tag tag = next_tag_++;
  OpenCall call;
  call.id = kIds[world_.pick(0, kIds.size() - 1)];
  call.nonce = std::to_string(next_nonce(world_));
  std::string params = R"({"nonce":)" + call.nonce;
  const bool wants_events = world_.chance(0.3);
  if (world_.chance(0.5)) {
    call.progress_token = kTokens[world_.pick(0, kTokens.size() - 1)];
    params += R"(,"_meta":{"progressToken":)" + call.progress_token + "}";
  }
  params += "}";
  const std::string method = world_.chance(0.02) ? "initialize" : "echo";
  std::string text = world_.chance(0.5) ? R"({"jsonrpc":"2.0","id":)" + call.id + R"(,"method":")" +
                                              method + R"(","params":)" + params + "}"
                                        : R"({"params":)" + params + R"(,"method":")" + method +
                                              R"(","id":)" + call.id + R"(,"jsonrpc":"2.0"})";
  if (method == "initialize") call.nonce.clear();
  open_[tag] = call;
  ++requests_;
  send(std::move(text), wants_events, tag);
}

void SimClient::send(std::string text, bool wants_events, Tag tag) {
  const auto document = parser_.parse(text);
  ASSERT_TRUE(document.has_value()) << text;
  CallContext context;
  context.origin = *origin_;
  context.tag = tag;
  context.arrived = world_.now();
  context.wants_events = wants_events;
  backend_.accept(document->messages[0], context);
}

void SimClient::on_reply(Tag tag, const Reply& reply) {
  const std::string text =
      std::string(reply.head) + std::string(reply.id) + std::string(reply.tail);
  ASSERT_TRUE(origin_.has_value()) << "an answer to a client that has left: " << text;
  const auto call = open_.find(tag);
  ASSERT_NE(call, open_.end()) << "a second answer, or one to another client's call: " << text;
  const std::string head = R"({"jsonrpc":"2.0","id":)" + call->second.id + ",";
  EXPECT_EQ(text.substr(0, head.size()), head);
  if (!reply.fault && !call->second.nonce.empty()) {
    EXPECT_EQ(text, head + R"("result":)" + call->second.nonce + "}");
  }
  open_.erase(call);
}

void SimClient::on_event(Tag tag, std::string_view notification) {
  ASSERT_TRUE(origin_.has_value());
  const auto call = open_.find(tag);
  ASSERT_NE(call, open_.end()) << "an event for no call: " << notification;
  if (!has_tokens_ || notification.find("/progress") == std::string_view::npos) return;
  EXPECT_NE(notification.find(R"("progressToken":)" + call->second.progress_token + ","),
            std::string_view::npos)
      << notification;
  EXPECT_NE(notification.find(R"("for":)" + call->second.nonce + "}"), std::string_view::npos)
      << "progress of another call: " << notification;
}

}  // namespace stdgate::sim

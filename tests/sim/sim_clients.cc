#include "tests/sim/sim_clients.h"

#include <gtest/gtest.h>

namespace stdgate::sim {

SimClient::SimClient(SimWorld& world, Origins& origins, SimOwners& owners, BackendSet& backends,
                     Backend& backend, Protocol protocol)
    : world_(world),
      origins_(origins),
      backends_(backends),
      backend_(backend),
      has_tokens_(protocol == Protocol::mcp),
      origin_(origins.add(*this)),
      calls_(world, owners, protocol, SimOwners::kNoSession),
      parser_(backend.envelope_limits()) {}

SimClient::~SimClient() {
  if (origin_) leave();
}

void SimClient::leave() {
  backends_.cancel_calls_of(*origin_);
  origins_.remove(*origin_);
  origin_.reset();
  calls_.forget_all();
}

void SimClient::act() {
  const uint64_t dice = world_.pick(0, 99);
  if (dice < 70) {
    SimCalls::Request request = calls_.new_request();
    send(std::move(request.text), world_.chance(0.3), request.tag);
  } else if (dice < 80) {
    send(R"({"jsonrpc":"2.0","method":"note","params":{"a":1}})");
  } else if (dice < 88) {
    send(calls_.new_cancel());
  } else if (dice < 94) {
    send(R"({"jsonrpc":"2.0","id":"stray","result":1})");
  } else {
    SimCalls::Request request = calls_.new_broken_request();
    send(std::move(request.text), false, request.tag);
  }
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
  ASSERT_TRUE(origin_.has_value()) << "an answer to a client that has left";
  calls_.check_reply(tag, reply);
}

void SimClient::on_cancelled(Tag tag) {
  ASSERT_TRUE(origin_.has_value());
  calls_.check_cancelled(tag);
}

void SimClient::on_event(Tag tag, std::string_view notification) {
  ASSERT_TRUE(origin_.has_value());
  ASSERT_NE(calls_.find(tag), nullptr) << "an event for no call: " << notification;
  if (has_tokens_ && notification.find("/progress") != std::string_view::npos) {
    calls_.check_progress(notification);
  }
}

}  // namespace stdgate::sim

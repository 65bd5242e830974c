#include "tests/sim/sim_clients.h"

#include <gtest/gtest.h>

#include "gateway/rpc/json_reader.h"

namespace stdgate::sim {

SimClient::SimClient(SimWorld& world, session::Callers& callers, SimOwners& owners,
                     backend::Upstreams& backends, backend::Backend& backend,
                     const config::BackendConfig& config, SimRecords& records)
    : world_(world),
      callers_(callers),
      backends_(backends),
      backend_(backend),
      has_tokens_(config.protocol == config::Protocol::mcp),
      caller_(callers.add(*this)),
      calls_(world, owners, config, records, SimOwners::kNoSession),
      parser_(backend.envelope_limits()) {}

SimClient::~SimClient() { leave(); }

void SimClient::leave() {
  if (!caller_) return;
  backends_.cancel_calls_of(*caller_);
  callers_.remove(*caller_);
  caller_.reset();
  calls_.forget_all();
}

void SimClient::act() {
  const uint64_t dice = world_.pick(0, 99);
  if (dice < 70) {
    SimCalls::Request request = calls_.new_request();
    send(std::move(request), world_.chance(0.3));
  } else if (dice < 80) {
    send(R"({"jsonrpc":"2.0","method":"note","params":{"a":1}})");
  } else if (dice < 88) {
    send(calls_.new_cancel());
  } else if (dice < 94) {
    send(R"({"jsonrpc":"2.0","id":"stray","result":1})");
  } else {
    send(calls_.new_broken_request());
  }
}

void SimClient::send(SimCalls::Request request, bool wants_events) {
  const auto document = parser_.parse(request.text);
  ASSERT_TRUE(document.has_value()) << request.text;
  call::CallContext context;
  context.caller = *caller_;
  context.tag = request.tag;
  context.arrived = world_.now();
  context.timeout = request.timeout;
  context.wants_events = wants_events;
  const AccountRef account = world_.accounts().of({});
  context.account = account.get();
  backend_.accept(document->messages[0], context);
}

void SimClient::on_reply(session::Tag tag, const session::Reply& reply) {
  ASSERT_TRUE(caller_.has_value()) << "an answer to a client that has left";
  calls_.check_reply(tag, reply);
}

void SimClient::on_cancelled(session::Tag tag) {
  ASSERT_TRUE(caller_.has_value());
  calls_.check_cancelled(tag);
}

void SimClient::on_event(session::Tag tag, std::string_view notification) {
  ASSERT_TRUE(caller_.has_value());
  ASSERT_NE(calls_.find(tag), nullptr) << "an event for no call: " << notification;
  calls_.check_cause(rpc::find_member(notification, "params").value_or("{}"));
  if (has_tokens_ && notification.find("/progress") != std::string_view::npos) {
    calls_.check_progress(notification);
  }
}

}  // namespace stdgate::sim

#include "tests/sim/sim_eras.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "gateway/mcp/mcp_revision.h"
#include "gateway/rpc/json_reader.h"

namespace stdgate::sim {

namespace {

constexpr std::array<std::string_view, 4> kModernMembers = {
    mcp::kVersionKey, mcp::kClientInfoKey, mcp::kClientCapabilitiesKey, mcp::kLogLevelKey};
// Methods that only the legacy era has, so modern children do not know them.
constexpr std::array<std::string_view, 6> kGone = {
    "initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe",
    "roots/list"};

std::string_view meta_of(const rpc::Envelope& message) {
  return rpc::find_member(message.params, "_meta").value_or("{}");
}

}  // namespace

SimEras draw_eras(SimWorld& world) {
  SimEras eras;
  eras.speaks = static_cast<Speaks>(world.pick(0, 2));
  if (world.chance(0.5)) eras.when_asked = static_cast<WhenAsked>(world.pick(0, 3));
  return eras;
}

bool is_stamped(const rpc::Envelope& request) {
  const std::string_view meta = meta_of(request);
  const auto version = rpc::find_member(meta, mcp::kVersionKey);
  const auto capabilities = rpc::find_member(meta, mcp::kClientCapabilitiesKey);
  return version && *version == "\"" + std::string(mcp::kModernRevision) + "\"" && capabilities &&
         capabilities->front() == '{';
}

void SimDialogue::check_sent(const rpc::Envelope& message) {
  const bool is_answer =
      message.kind == rpc::MessageKind::result || message.kind == rpc::MessageKind::error;
  if (is_answer) {
    EXPECT_EQ(phase_, Phase::legacy) << "no child of the modern era gets answers: " << message.text;
  } else if (message.kind == rpc::MessageKind::request) {
    check_request(message, message.method);
  } else if (phase_ == Phase::modern) {
    const bool is_of_legacy = message.method == "notifications/initialized" ||
                              message.method == "notifications/roots/list_changed";
    EXPECT_FALSE(is_of_legacy) << message.text;
  } else {
    EXPECT_NE(phase_, Phase::asked) << "it has not said what it is: " << message.text;
    if (phase_ == Phase::silent) begin_legacy(message, message.method);
    check_bare(message);
  }
}

// Checks that a message for a legacy child has nothing of a modern request.
void SimDialogue::check_bare(const rpc::Envelope& message) const {
  for (const std::string_view key : kModernMembers) {
    EXPECT_FALSE(rpc::find_member(meta_of(message), key)) << message.text;
  }
  if (!eras_.keeps_answers_apart) return;
  for (const std::string_view key : {"inputResponses", "requestState"}) {
    EXPECT_FALSE(rpc::find_member(message.params, key)) << message.text;
  }
}

void SimDialogue::check_request(const rpc::Envelope& request, std::string_view method) {
  switch (phase_) {
    case Phase::silent:
      if (method == "server/discover") {
        EXPECT_TRUE(is_stamped(request)) << request.text;
        phase_ = Phase::asked;
        return;
      }
      begin_legacy(request, method);
      break;
    case Phase::asked:
      EXPECT_EQ(method, "initialize") << "it has not said what it is: " << request.text;
      world_.tally().note(Seen::fell_back);
      begin_legacy(request, method);
      EXPECT_FALSE(is_own_) << "a child of many is greeted by a client: " << request.text;
      break;
    case Phase::legacy:
      EXPECT_NE(method, "server/discover") << request.text;
      EXPECT_NE(method, "subscriptions/listen") << request.text;
      break;
    case Phase::modern:
      EXPECT_TRUE(is_stamped(request)) << request.text;
      EXPECT_EQ(std::ranges::count(kGone, method), 0) << request.text;
      return;
  }
  check_bare(request);
}

void SimDialogue::begin_legacy(const rpc::Envelope& request, std::string_view method) {
  phase_ = Phase::legacy;
  const auto info = rpc::find_member(request.params, "clientInfo");
  const auto name = info ? rpc::find_member(*info, "name") : info;
  is_own_ = method != "initialize" || !name || *name != R"("stdgate")";
}

void SimDialogue::note_discovery() {
  if (phase_ == Phase::asked) phase_ = Phase::modern;
  if (phase_ == Phase::legacy) world_.tally().note(Seen::discovered_late);
}

}  // namespace stdgate::sim

// The end of sessions: by their client, their child, the gateway's shutdown or death, or silence.
// Processes of an ended session are gone in time, and both sides are told the reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <ostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "tests/integration/harness/setups.h"
#include "tests/integration/harness/websocket_client.h"

namespace stdgate::harness::session_end_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using Clock = std::chrono::steady_clock;

constexpr Millis kGrace = Millis(300);
constexpr Millis kAfterKill = Millis(2000);
constexpr const char* kOwnChild = "isolation: session, pool: { grace: 300ms }";
constexpr const char* kSharedChild = "isolation: shared, pool: { min: 1, max: 1, grace: 300ms }";

WebSocketClient open(const GatewayProcess& gateway) { return WebSocketClient(gateway.url()); }

// --- By the client -------------------------------------------------------------------------------

// The processes of a session's child. All of them answer calls.
struct Family {
  std::string name;
  Command command;
  size_t processes;  // including the guard
};

std::ostream& operator<<(std::ostream& out, const Family& family) { return out << family.name; }

const Family kFamilies[] = {
    {"plain", rogue({"rpc"}), 2},
    {"stubborn", rogue({"stubborn"}), 2},
    {"stubborn_grandchild", rogue({"grandchild"}), 3},
};

// How the session's client leaves.
struct Leaving {
  std::string name;
  void (*leave)(WebSocketClient& client);
};

std::ostream& operator<<(std::ostream& out, const Leaving& leaving) { return out << leaving.name; }

const Leaving kLeavings[] = {
    {"close_frame",
     [](WebSocketClient& client) {
       client.send_close(1000);
       EXPECT_EQ(client.read_closing().code, 1000);
     }},
    {"end_of_stream", [](WebSocketClient& client) { client.close(); }},
    {"reset", [](WebSocketClient& client) { client.reset(); }},
    {"violation", [](WebSocketClient& client) { client.send_frame({.opcode = 3}); }},
};

class ClientLeaves : public testing::TestWithParam<std::tuple<Family, Leaving>> {};

TEST_P(ClientLeaves, AndItsChildIsGoneWithAllThatItStarted) {
  const Family& family = std::get<0>(GetParam());
  GatewayProcess gateway(serve_one(family.command, kOwnChild));
  WebSocketClient staying = open(gateway);
  WebSocketClient client = open(gateway);
  ASSERT_EQ(staying.call("any", "[1]"), result("1", "[1]"));
  ASSERT_EQ(client.call("any", "[2]"), result("1", "[2]"));
  ASSERT_TRUE(eventually("both families run",
                         [&] { return gateway.descendants().size() == 2 * family.processes; }));
  std::get<1>(GetParam()).leave(client);
  EXPECT_TRUE(eventually(
      "one of them is gone", [&] { return gateway.descendants().size() == family.processes; },
      kGrace + Millis(1000)));
  EXPECT_EQ(staying.call("any", "[3]"), result("1", "[3]"));
  EXPECT_EQ(state_of(gateway).number("/backends/0/sessions"), 1);
}

INSTANTIATE_TEST_SUITE_P(Each, ClientLeaves,
                         testing::Combine(testing::ValuesIn(kFamilies),
                                          testing::ValuesIn(kLeavings)),
                         [](const auto& given) {
                           return std::get<0>(given.param).name + "_" +
                                  std::get<1>(given.param).name;
                         });

TEST(ClientLeavesWithTheGuardStopped, AndAllOfItsChildIsGoneAllTheSame) {
  GatewayProcess gateway(serve_one(rogue({"grandchild"}), kOwnChild));
  WebSocketClient client = open(gateway);
  ASSERT_EQ(client.call("any", "[1]"), result("1", "[1]"));
  ASSERT_TRUE(eventually("all run", [&] { return gateway.descendants().size() == 3; }));
  for (const ProcessInfo& guard : children_of(gateway.pid())) kill(guard.pid, SIGSTOP);
  client.close();
  EXPECT_TRUE(eventually(
      "nothing is left", [&] { return gateway.descendants().empty(); }, 2 * kGrace + Millis(1500)))
      << describe(gateway.descendants());
}

TEST(ClientLeavesSharedChild, CallsAreCancelledThere) {
  for (const Leaving& leaving : kLeavings) {
    SCOPED_TRACE(leaving.name);
    GatewayProcess gateway(serve_one(puppet(), kSharedChild));
    WebSocketClient client = open(gateway);
    client.send(request("hang"));
    await_in_flight(gateway, 1);
    leaving.leave(client);
    await_in_flight(gateway, 0);
    HttpClient http = gateway.connect();
    const auto lines = JsonValue(call(http, "history").body).texts("/result");
    ASSERT_EQ(lines.size(), 3U);
    EXPECT_THAT(lines[1], HasSubstr("$/cancelRequest"));
  }
}

// --- By the child --------------------------------------------------------------------------------

TEST(ChildEnds, CallsInFlightAreFaultedThenTheSessionIsClosed) {
  GatewayProcess gateway(serve_one(puppet(), kOwnChild));
  WebSocketClient other = open(gateway);
  WebSocketClient client = open(gateway);
  for (const char* id : {"1", "\"two\""}) client.send(request("hang", "", id));
  client.send(request("signal", R"({"number":9})", "3"));
  for (const char* id : {"1", "\"two\"", "3"}) {
    EXPECT_THAT(client.message(),
                AllOf(StartsWith(R"({"jsonrpc":"2.0","id":)" + std::string(id) + ","),
                      HasSubstr("-32004"), HasSubstr("killed by signal 9")));
  }
  EXPECT_EQ(client.read_message(), std::nullopt);
  EXPECT_EQ(client.closing().value().code, 1011);
  EXPECT_EQ(client.closing()->reason, "the child was killed by signal 9 (SIGKILL)");
  EXPECT_TRUE(client.ended_within(Millis(5000)));
  EXPECT_THAT(other.call("pid"), StartsWith(R"({"jsonrpc":"2.0","id":1,"result":)"));
}

TEST(ChildEnds, OnItsOwnAccount) {
  struct Case {
    const char* script;
    int code;
    const char* reason;
  };
  for (const Case& given : {Case{"read line; exit 0", 1000, "the child exited with code 0"},
                            Case{"read line; exit 3", 1011, "the child exited with code 3"},
                            Case{"exit 0", 1000, "the child exited with code 0"}}) {
    SCOPED_TRACE(given.script);
    GatewayProcess gateway(serve_one(shell(given.script), kOwnChild));
    WebSocketClient client = open(gateway);
    client.send(request("go", "", ""));
    const Closing closing = client.read_closing();
    EXPECT_EQ(closing.code, given.code);
    EXPECT_EQ(closing.reason, given.reason);
    EXPECT_EQ(client.messages(), 0U);
  }
}

TEST(ChildEnds, OneThatCannotStart) {
  GatewayProcess gateway(serve_one({"/nonexistent/program"}, kOwnChild));
  WebSocketClient client = open(gateway);
  client.send(request("any"));
  const Closing closing = client.read_closing();
  EXPECT_EQ(closing.code, 1011);
  EXPECT_EQ(closing.reason, "the child could not be started");  // clients are told no paths
}

TEST(ChildEnds, ASharedOneIsReplacedAndSessionsGoOn) {
  GatewayProcess gateway(
      serve_one(puppet(), "isolation: shared, pool: { min: 1, max: 1, backoff_min: 1ms }"));
  WebSocketClient client = open(gateway);
  WebSocketClient other = open(gateway);
  other.send(request("hang"));
  await_in_flight(gateway, 1);
  EXPECT_THAT(client.call("exit", R"({"code":1})"), HasSubstr("exited with code 1"));
  EXPECT_THAT(other.message(), HasSubstr("exited with code 1"));
  for (WebSocketClient* each : {&client, &other}) {
    EXPECT_THAT(each->call("pid"), StartsWith(R"({"jsonrpc":"2.0","id":1,"result":)"));
  }
}

// --- By the gateway ------------------------------------------------------------------------------

class GatewayEnds : public testing::TestWithParam<const char*> {};

TEST_P(GatewayEnds, CallsUnderWayAreAnsweredBeforeTheirSessionIsClosed) {
  GatewayProcess gateway(serve_one(demo_server(), GetParam()));
  WebSocketClient working = open(gateway);
  WebSocketClient mute = open(gateway);
  WebSocketClient idle = open(gateway);
  EXPECT_EQ(idle.call("math/add", "[1,2]"), result("1", "3"));
  working.send(request("sleep", "[1500]"));
  working.send("[" + request("sleep", "[1000]", "2") + "]");
  await_in_flight(gateway, 2);
  const auto begin = Clock::now();
  gateway.signal(SIGTERM);
  EXPECT_EQ(idle.read_closing().code, 1001);
  EXPECT_LT(Clock::now() - begin, Millis(1000));
  EXPECT_TRUE(idle.ended_within(Millis(1000)));
  EXPECT_THROW(open(gateway), std::runtime_error);

  EXPECT_EQ(working.message(), "[" + result("2", R"({"slept_ms":1000})") + "]");
  EXPECT_EQ(working.message(), result("1", R"({"slept_ms":1500})"));
  EXPECT_EQ(working.read_closing().code, 1001);
  // A client that does not answer the close frame delays the others only briefly.
  EXPECT_EQ(mute.read_frame().value().opcode, Frame::kClose);
  const auto status = gateway.wait_for_exit(Millis(5000));
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 0);
  EXPECT_EQ(describe(gateway.descendants()), "");
}

TEST_P(GatewayEnds, ByForceAndNoChildOfASessionIsLeft) {
  GatewayProcess gateway(serve_one(rogue({"grandchild"}), GetParam()));
  std::vector<WebSocketClient> clients;
  for (int i = 0; i < 5; ++i) {
    clients.push_back(open(gateway));
    EXPECT_EQ(clients.back().call("any", "[1]"), result("1", "[1]"));
  }
  ASSERT_TRUE(eventually("guard, command and grandchild run",
                         [&] { return gateway.descendants().size() >= 3; }));
  gateway.signal(SIGKILL);
  gateway.wait_for_exit();
  EXPECT_TRUE(eventually(
      "all are gone", [&] { return gateway.descendants().empty(); }, kAfterKill))
      << describe(gateway.descendants());
  for (WebSocketClient& client : clients) {
    EXPECT_EQ(client.read_closing().code, Closing::kCutOff);
  }
}

INSTANTIATE_TEST_SUITE_P(Each, GatewayEnds, testing::Values(kOwnChild, kSharedChild),
                         [](const auto& given) {
                           return std::string(given.param == kOwnChild ? "own" : "shared");
                         });

TEST(GatewayDrains, CallsThatTakeTooLongAreCutOff) {
  GatewayProcess gateway(serve_one(puppet(), kOwnChild, "timeouts: { drain: 200ms }"));
  WebSocketClient client = open(gateway);
  client.send(request("hang"));
  await_in_flight(gateway, 1);
  gateway.signal(SIGTERM);
  EXPECT_THAT(client.message(), AllOf(HasSubstr("-32005"), HasSubstr("shutting down")));
  EXPECT_EQ(client.read_closing().code, 1001);
  EXPECT_EQ(gateway.wait_for_exit().value().code, 3);
}

// --- By silence ----------------------------------------------------------------------------------

TEST(Pings, CloseWhoDoesNotAnswerThem) {
  GatewayProcess gateway(serve_one(demo_server(), "", "timeouts: { ping: 100ms, pong: 800ms }"));
  WebSocketClient silent = open(gateway);
  std::thread other([&] {
    WebSocketClient answering = open(gateway);
    // Longer than the silent client is allowed to take.
    const auto end = Clock::now() + Millis(1500);
    while (Clock::now() < end) {
      const Frame ping = answering.read_frame().value_or(Frame());
      ASSERT_EQ(ping.opcode, Frame::kPing);
      answering.send_frame({.opcode = Frame::kPong, .payload = ping.payload});
    }
    EXPECT_EQ(answering.call("math/add", "[1,2]"), result("1", "3"));
  });
  EXPECT_EQ(silent.read_frame().value().opcode, Frame::kPing);
  const Frame frame = silent.read_frame().value();
  EXPECT_EQ(frame.opcode, Frame::kClose);
  EXPECT_EQ(frame.payload, close_payload(1001, "no pong"));
  other.join();
}

}  // namespace
}  // namespace stdgate::harness::session_end_test

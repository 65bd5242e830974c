// Modern clients at a legacy child that all clients share: which log messages they receive, and
// what happens to questions that they cannot be asked.

#include <gmock/gmock.h>

#include "tests/unit/mcp/modern_bench.h"

namespace stdgate::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kLoggingGreeting = R"({"protocolVersion":"2025-11-25","serverInfo":{"name":"s"},)"
                                     R"("capabilities":{"tools":{},"logging":{}}})";
const std::string kSharedAsk =
    R"({"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"who?",)"
    R"("requestedSchema":{"type":"object","properties":{}}}})";
const std::string kFailure = R"("error":{"code":-32601,"message":"Method not found"})";
const std::string kLacking = R"("code":-32021,)";

std::string call_with(const std::string& id, const std::string& level) {
  return request(id, "tools/call", R"("name":"t")",
                 meta("{}", R"(,"io.modelcontextprotocol/logLevel":")" + level + "\""));
}

class McpLegacyShared : public testing::Test {
 public:
  // The methods of the requests that a child has received.
  static Texts methods(FakeChild& of) {
    Texts all;
    for (const std::string& line : of.take_lines()) all.push_back(parse_asked(line).method);
    return all;
  }
  // Sends a plain call, which stays in flight. Returns its id at the child.
  std::string call(FakeClient& by, const std::string& id = "1") {
    bench.send_modern(by, request(id, "tools/call", R"("name":"t")"));
    return child.take_ids().at(0);
  }
  void answer(const std::string& id, const std::string& member) {
    child.say(R"({"jsonrpc":"2.0","id":)" + id + "," + member + "}");
  }
  // The child asks, receives a refusal, and then fails the call with this id.
  void ask_and_fail(const std::string& id) {
    child.say(kSharedAsk);
    EXPECT_THAT(child.take_line(), HasSubstr(R"("id":7,"error":{"code":-32601)"));
    answer(id, kFailure);
  }

  static backend::BackendOptions options_of() {
    auto options = ModernBench::options_of(config::Revision::automatic, config::Isolation::shared);
    options.config.pool.queue = 8;
    return options;
  }
  ModernBench bench{options_of()};
  FakeChild& child = bench.begin(0, kLoggingGreeting);
  FakeClient client{bench.callers};
  FakeClient other{bench.callers};
  const std::string debug = note("message", R"({"level":"debug","data":1})");
};

// --- Log messages

TEST_F(McpLegacyShared, TheFirstLogMessageOfACallThatLowersTheLevelIsNotLost) {
  bench.send_modern(client, call_with("1", "debug"));
  EXPECT_THAT(methods(child), ElementsAre("logging/setLevel", "tools/call"));
  child.say(debug);  // the child has answered neither request
  EXPECT_EQ(events_of(client), Texts{debug});
}

// The child is not ready, or has no room for the call.
TEST_F(McpLegacyShared, TheLevelIsSetBeforeACallThatHasWaitedForItsChild) {
  ModernBench slow(options_of());
  FakeClient caller(slow.callers);
  slow.send_modern(caller, call_with("1", "debug"));
  FakeChild& late = slow.child(0);
  late.start();
  late.answer(late.take_ids().at(0), kLoggingGreeting);
  late.take_line();  // notifications/initialized
  EXPECT_THAT(methods(late), ElementsAre("logging/setLevel", "tools/call"));
}

TEST_F(McpLegacyShared, TheLevelIsSetBeforeACallThatHasWaitedForRoom) {
  auto options = options_of();
  options.config.pool.max_in_flight = 2;
  ModernBench full(options);
  FakeChild& busy = full.begin(0, kLoggingGreeting);
  FakeClient caller(full.callers);
  for (const char* const id : {"1", "2"}) {
    full.send_modern(caller, request(id, "tools/call", R"("name":"t")"));
  }
  full.send_modern(caller, call_with("3", "debug"));
  const Texts ids = busy.take_ids();
  ASSERT_EQ(ids.size(), 2U);
  busy.answer(ids[0]);
  busy.answer(ids[1]);
  const Texts lines = busy.take_lines();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(parse_asked(lines[0]).method, "logging/setLevel");
  EXPECT_EQ(parse_asked(lines[1]).method, "tools/call");
}

TEST_F(McpLegacyShared, ASessionGetsTheFirstMessageOfItsNewLevelToo) {
  SharedClient session(bench);
  session.request("logging/setLevel", R"({"level":"debug"})");
  session.call("2");
  session.take();
  child.say(debug);
  EXPECT_EQ(session.take(), Texts{debug});
}

TEST_F(McpLegacyShared, AChildThatIgnoresTheLevelIsAskedNoLongerThanACallMayLast) {
  bench.send_modern(client, call_with("1", "debug"));
  child.answer(child.take_ids().at(1));
  bench.advance(bench.backend.timeout());
  EXPECT_EQ(bench.status().in_flight, 0U);
  bench.backend.check_invariants();
  bench.backend.drain();
  EXPECT_EQ(bench.backend.calls(), 0U);
}

// --- Questions that a client cannot be asked

TEST_F(McpLegacyShared, ACallThatFailsForWhatItsClientCannotBeAskedSaysSo) {
  ask_and_fail(call(client));
  EXPECT_THAT(client.texts(), ElementsAre(HasSubstr(kLacking)));
  EXPECT_THAT(client.texts().at(0), HasSubstr(R"("requiredCapabilities":{"elicitation":{)"));
  // Nothing is known about the reason of the next failure.
  answer(call(client, "2"), kFailure);
  EXPECT_THAT(client.texts().at(1), HasSubstr("-32601"));
}

TEST_F(McpLegacyShared, AChildThatGoesOnWithoutIsBelieved) {
  const std::string id = call(client);
  child.say(kSharedAsk);
  child.take_line();
  child.answer(id, R"({"content":[]})");
  EXPECT_THAT(client.texts(), ElementsAre(HasSubstr(R"("result":{)")));
}

TEST_F(McpLegacyShared, WhatNoClientCanBeAskedIsNoLack) {
  const std::string id = call(client);
  child.say(R"({"jsonrpc":"2.0","id":7,"method":"odd/ask","params":{}})");
  child.take_line();
  answer(id, kFailure);
  EXPECT_THAT(client.texts(), ElementsAre(HasSubstr("-32601")));
}

// The gateway cannot tell which call the question is for.
TEST_F(McpLegacyShared, AmongSeveralCallsNoneIsBlamed) {
  const std::string first = call(client);
  const std::string second = call(other);
  ask_and_fail(first);
  answer(second, kFailure);
  EXPECT_THAT(client.texts(), ElementsAre(HasSubstr("-32601")));
  EXPECT_THAT(other.texts(), ElementsAre(HasSubstr("-32601")));
}

TEST_F(McpLegacyShared, AfterACallThatWasGivenUpNoneIsBlamed) {
  call(client);
  bench.leave(client);
  child.take_line();
  ask_and_fail(call(other));
  EXPECT_THAT(other.texts(), ElementsAre(HasSubstr("-32601")));
}

TEST_F(McpLegacyShared, PlainCallsFailAsBefore) {
  bench.send(client, R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}})");
  ask_and_fail(child.take_ids().at(0));
  EXPECT_THAT(client.texts(), ElementsAre(HasSubstr("-32601")));
}

TEST_F(McpLegacyShared, AnErrorThatNamesAQuestionNamesTheCapabilityToo) {
  answer(call(client),
         R"("error":{"code":-32042,"message":"open this","data":{"elicitations":[)"
         R"({"mode":"url","elicitationId":"e","url":"https://a/b","message":"m"}]}})");
  EXPECT_THAT(client.texts(), ElementsAre(HasSubstr(kLacking)));
}

}  // namespace
}  // namespace stdgate::test

// MCP children that sessions share: no client receives messages of another client.

#include <gmock/gmock.h>

#include "tests/unit/mcp/shared_bench.h"

namespace stdgate::test {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using Texts = std::vector<std::string>;

std::string notification(const std::string& method, const std::string& params = "{}") {
  return R"({"jsonrpc":"2.0","method":"notifications/)" + method + R"(","params":)" + params + "}";
}

const Texts& of_a_call() {
  static const Texts kTexts = {notification("message", R"({"level":"info","data":1})"),
                               notification("elicitation/complete", R"({"elicitationId":"e"})"),
                               notification("tasks/status", R"({"taskId":"t"})"),
                               notification("something/else")};
  return kTexts;
}

TEST(McpShared, ChangesOfListsGoToEverybody) {
  SharedBench bench(1);
  SharedClient a(bench);
  SharedClient b(bench);
  b.call("1");
  for (const char* list : {"tools", "prompts", "resources"}) {
    const std::string text = notification(std::string(list) + "/list_changed");
    bench.child(0).say(text);
    EXPECT_EQ(a.take(), Texts{text});
    EXPECT_EQ(b.take(), Texts{text});
  }
}

TEST(McpShared, WhatACallMayHaveCausedGoesToTheOnlyCaller) {
  SharedBench bench(1);
  SharedClient a(bench);
  SharedClient b(bench);
  FakeClient alone(bench.callers);
  FakeChild& child = bench.child(0);
  const auto expect = [&](const char* when, bool to_a, bool to_b) {
    for (const std::string& text : of_a_call()) {
      child.say(text);
      EXPECT_EQ(a.take(), to_a ? Texts{text} : Texts()) << when << text;
      EXPECT_EQ(b.take(), to_b ? Texts{text} : Texts()) << when << text;
    }
  };
  expect("nobody calls", false, false);
  a.call("1");
  expect("one calls", true, false);
  a.call("2");
  expect("it calls twice", true, false);
  b.call("1");
  expect("two call", false, false);
  const auto ids = child.take_ids();
  child.answer(ids.at(0));
  child.answer(ids.at(1));
  a.take();
  expect("the first is done", false, true);
  bench.call(alone, "1");
  expect("a call stands alone", false, false);
  child.answer(child.take_ids().at(0));
  expect("that is done", false, true);
  EXPECT_EQ(alone.events.size(), 0U);
  EXPECT_EQ(bench.observer.dropped[DropReason::no_listener], 3 * 4);
}

// Lists that the gateway requests itself.
class McpSharedAndAsked : public testing::Test {
 public:
  static backend::BackendOptions checked() {
    backend::BackendOptions options = shared_mcp_options(1);
    options.config.check.arguments = true;
    return options;
  }
  // A client calls a tool. The call waits for the list of tools, which the child is asked for.
  void ask() {
    waiting.request("tools/call", R"({"name":"t"})");
    EXPECT_EQ(next_of(child).method, "tools/list");
  }
  // A virtual server requests its own list.
  void ask_as_server(FakeClient& server) {
    rpc::EnvelopeParser parser{rpc::EnvelopeLimits{}};
    std::string text = R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}})";
    call::CallContext context;
    context.caller = server.caller();
    context.arrived = bench.clock.now();
    context.is_own = true;
    bench.backend.accept(parser.parse(text)->messages[0], context);
    EXPECT_EQ(next_of(child).method, "tools/list");
  }
  void expect_heard_by(SharedClient& client) {
    for (const std::string& text : of_a_call()) {
      child.say(text);
      EXPECT_EQ(client.take(), Texts{text});
    }
  }

  SharedBench bench{checked()};
  SharedClient calling{bench};
  SharedClient waiting{bench};
  FakeChild& child = bench.child(0);
};

TEST_F(McpSharedAndAsked, WhatTheOnlyCallMayHaveCausedGoesToIt) {
  calling.call();
  EXPECT_FALSE(child.take_line().empty());
  ask();
  expect_heard_by(calling);
  FakeClient server(bench.callers);
  ask_as_server(server);
  expect_heard_by(calling);
  EXPECT_TRUE(waiting.take().empty());
  EXPECT_TRUE(bench.observer.dropped.empty());
}

TEST_F(McpSharedAndAsked, AStreamHearsItToo) {
  FakeClient stream(bench.callers);
  bench.send(stream, R"({"jsonrpc":"2.0","id":1,"method":"m"})", 5, true);
  EXPECT_FALSE(child.take_line().empty());
  ask();
  for (const std::string& text : of_a_call()) child.say(text);
  EXPECT_EQ(stream.events.size(), of_a_call().size());
}

TEST_F(McpSharedAndAsked, NobodyHearsWhatAListMayHaveCaused) {
  ask();
  for (const std::string& text : of_a_call()) child.say(text);
  EXPECT_TRUE(calling.take().empty());
  EXPECT_TRUE(waiting.take().empty());
  EXPECT_EQ(bench.observer.dropped[DropReason::no_listener], of_a_call().size());
}

TEST_F(McpSharedAndAsked, AListThatWasGivenUpRevealsNothingEither) {
  const Duration half = checked().config.timeout / 2;
  ask();
  bench.advance(half);
  calling.call();
  EXPECT_FALSE(child.take_line().empty());
  bench.advance(half + seconds(1));
  EXPECT_THAT(child.take_lines(), testing::Contains(HasSubstr("notifications/cancelled")));
  expect_heard_by(calling);
}

TEST(McpShared, ChildrenAreNotMixedUp) {
  SharedBench bench(2);
  SharedClient a(bench);
  SharedClient b(bench);
  a.call("1");
  b.call("1");
  const bool a_has_first = true;  // the first of equally loaded children is taken
  for (const std::string& text : of_a_call()) {
    bench.child(a_has_first ? 0 : 1).say(text);
    EXPECT_EQ(a.take(), Texts{text});
    EXPECT_TRUE(b.take().empty());
    bench.child(1).say(text);
    EXPECT_TRUE(a.take().empty());
    EXPECT_EQ(b.take(), Texts{text});
  }
}

TEST(McpShared, AStreamGetsWhatItsCallMayHaveCaused) {
  SharedBench bench(1);
  SharedClient a(bench);
  FakeClient stream(bench.callers);
  bench.send(stream, R"({"jsonrpc":"2.0","id":1,"method":"m"})", 5, true);
  for (const std::string& text : of_a_call()) bench.child(0).say(text);
  EXPECT_TRUE(a.take().empty());
  ASSERT_EQ(stream.events.size(), of_a_call().size());
  EXPECT_EQ(stream.events[0], std::make_pair(session::Tag{5}, of_a_call()[0]));
}

TEST(McpShared, EqualIdsAndTokensOfTwoSessionsFindTheirOwn) {
  SharedBench bench(1);
  SharedClient a(bench);
  SharedClient b(bench);
  FakeChild& child = bench.child(0);
  const std::string params = R"({"name":"t","_meta":{"progressToken":"tok"}})";
  a.request("tools/call", params, "\"x\"");
  b.request("tools/call", params, "\"x\"");
  Texts ids;
  Texts tokens;
  rpc::EnvelopeParser parser{rpc::EnvelopeLimits{}};
  for (std::string& line : child.take_lines()) {
    const rpc::Envelope envelope = parser.parse(line).value().messages[0].envelope;
    ids.emplace_back(envelope.id);
    const auto meta = rpc::find_member(envelope.params, "_meta").value();
    tokens.emplace_back(rpc::find_member(meta, "progressToken").value());
  }
  ASSERT_EQ(ids.size(), 2U);
  EXPECT_NE(tokens[0], tokens[1]);
  const auto progress = [](const std::string& token, int value) {
    return notification("progress", R"({"progressToken":)" + token + R"(,"progress":)" +
                                        std::to_string(value) + "}");
  };
  child.say(progress(tokens[1], 1));
  EXPECT_TRUE(a.take().empty());
  EXPECT_EQ(b.take(), Texts{progress("\"tok\"", 1)});
  child.say(progress(tokens[0], 2));
  EXPECT_EQ(a.take(), Texts{progress("\"tok\"", 2)});
  EXPECT_TRUE(b.take().empty());
  child.say(progress("\"tok\"", 3));
  EXPECT_TRUE(a.take().empty() && b.take().empty()) << "a token that no child was given";

  // Each session cancels its own call, although the ids are equal.
  b.send(notification("cancelled", R"({"requestId":"x"})"));
  const auto lines = child.take_lines();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find(R"("requestId":)" + ids[1]), std::string::npos) << lines[0];
  EXPECT_EQ(b.cancelled().size(), 1U);
  EXPECT_TRUE(a.cancelled().empty());
  child.answer(ids[1]);
  child.answer(ids[0], "1");
  EXPECT_TRUE(b.take().empty());
  EXPECT_EQ(a.take(), Texts{R"({"jsonrpc":"2.0","id":"x","result":1})"});
  child.say(progress(tokens[0], 4));
  EXPECT_TRUE(a.take().empty() && b.take().empty()) << "after the end of its call";
}

TEST(McpShared, ASessionDoesNotCancelAnothersCall) {
  SharedBench bench(1);
  SharedClient a(bench);
  SharedClient b(bench);
  a.call("7");
  bench.child(0).take_lines();
  EXPECT_EQ(b.send(notification("cancelled", R"({"requestId":7})")), backend::Admission::dropped);
  EXPECT_TRUE(bench.child(0).take_lines().empty());
  EXPECT_TRUE(a.cancelled().empty());
}

// --- The gateway's own requests, here subscriptions -----------------------------------------

// A backend on which `a` is subscribed to "u". Closing `a` ends the subscription.
class McpOwnRequest : public testing::Test {
 protected:
  explicit McpOwnRequest(const backend::BackendOptions& options = shared_mcp_options(1))
      : bench_(options) {
    a_.subscribe("u");
    child_.answer(take_subscribe(child_, "u"), "{}");
    a_.take();
  }

  SharedBench bench_;
  FakeChild& child_ = bench_.child(0);
  SharedClient a_{bench_};
  SharedClient b_{bench_};
};

TEST_F(McpOwnRequest, IsNoCallOfAClient) {
  const size_t records = bench_.observer.records.size();
  a_.close();
  EXPECT_EQ(bench_.status().in_flight, 0U);
  EXPECT_EQ(bench_.backend.calls(), 0U) << "a drain need not wait for it";
  child_.answer(take_unsubscribe(child_, "u"), "{}");
  EXPECT_EQ(bench_.observer.records.size(), records);
  EXPECT_EQ(bench_.observer.dropped.size(), 0U);
}

TEST_F(McpOwnRequest, AnyAnswerWillDo) {
  const Texts answers = {R"("error":{"code":-32603,"message":"no"})",
                         R"("result":1,"error":{"code":1,"message":"both"})", R"("what":1)"};
  for (const std::string& answer : answers) {
    SharedClient c(bench_);
    c.subscribe("v");
    child_.answer(take_subscribe(child_, "v"), "{}");
    c.close();
    child_.say(R"({"jsonrpc":"2.0","id":)" + take_unsubscribe(child_, "v") + "," + answer + "}");
    EXPECT_TRUE(child_.ends().empty()) << answer;
    EXPECT_EQ(bench_.status().children.at(0).state, ChildState::ready);
    EXPECT_TRUE(child_.take_lines().empty()) << "not again";
  }
}

TEST_F(McpOwnRequest, WithoutAnAnswerItIsGivenUpAtItsDeadline) {
  const size_t records = bench_.observer.records.size();
  bench_.advance(seconds(100));
  a_.close();
  const std::string id = take_unsubscribe(child_, "u");
  bench_.advance(seconds(10));
  const auto lines = child_.take_lines();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("cancelled"), std::string::npos);
  EXPECT_EQ(bench_.observer.records.size(), records) << "it was nobody's call";
  child_.answer(id, "{}");
  EXPECT_EQ(bench_.observer.dropped[DropReason::unknown_id], 1);
  EXPECT_EQ(bench_.status().children.at(0).state, ChildState::ready);
  b_.call("1");
  child_.answer(child_.take_ids().at(0));
  EXPECT_EQ(b_.take().size(), 1U);
}

TEST_F(McpOwnRequest, TheChildsDeathEndsItInSilence) {
  const size_t records = bench_.observer.records.size();
  a_.close();
  child_.die(9);
  bench_.settle();
  EXPECT_EQ(bench_.observer.records.size(), records);
}

class McpOneAtATime : public McpOwnRequest {
 protected:
  static backend::BackendOptions options() {
    backend::BackendOptions options = shared_mcp_options(1);
    options.config.pool.max_in_flight = 1;
    return options;
  }
  McpOneAtATime() : McpOwnRequest(options()) {}
};

TEST_F(McpOneAtATime, ClientsComeFirst) {
  b_.call("1");
  b_.call("2");
  a_.close();
  auto ids = child_.take_ids();
  ASSERT_EQ(ids.size(), 1U) << "no room for the gateway's own";
  child_.answer(ids[0]);
  ids = child_.take_ids();
  ASSERT_EQ(ids.size(), 1U) << "the second call";
  child_.answer(ids[0]);
  EXPECT_EQ(b_.take().size(), 2U);
  take_unsubscribe(child_, "u");
}

TEST_F(McpOneAtATime, AlsoThoseThatWaitForASubscriptionToBeAnswered) {
  b_.subscribe("v", "1");
  b_.call("2");
  a_.close();
  child_.answer(take_subscribe(child_, "v"), "{}");
  child_.answer(take_asked(child_, "m", ""));
  EXPECT_EQ(b_.take().size(), 2U);
  take_unsubscribe(child_, "u");
}

TEST_F(McpOneAtATime, WhatWaitsGoesOnWithItsAnswer) {
  for (const bool answers : {true, false}) {
    SharedClient c(bench_);
    c.subscribe("v");
    child_.answer(take_subscribe(child_, "v"), "{}");
    c.close();
    const std::string own = take_unsubscribe(child_, "v");
    bench_.advance(seconds(1));
    b_.call("1");
    EXPECT_TRUE(child_.take_lines().empty()) << "it is busy";
    if (answers) {
      child_.answer(own, "{}");
    } else {
      bench_.advance(seconds(9));
      EXPECT_NE(child_.take_line().find("cancelled"), std::string::npos);
    }
    const auto ids = child_.take_ids();
    ASSERT_EQ(ids.size(), 1U);
    child_.answer(ids[0]);
    EXPECT_EQ(b_.take().size(), 1U);
  }
}

TEST(McpOwnRequests, LeaveRoomForClients) {
  SharedBench bench(1);
  FakeChild& child = bench.child(0);
  auto a = std::make_unique<SharedClient>(bench);
  for (int i = 0; i < 20; ++i) {
    a->subscribe("u" + std::to_string(i));
    child.answer(child.take_ids().at(0), "{}");
  }
  a->close();
  size_t ended = 0;
  for (auto ids = child.take_ids(); !ids.empty(); ids = child.take_ids()) {
    EXPECT_LE(ids.size(), 8U);
    ended += ids.size();
    for (const std::string& id : ids) child.answer(id, "{}");
  }
  EXPECT_EQ(ended, 20U);
}

}  // namespace
}  // namespace stdgate::test

// Subscriptions of sessions that share MCP children: who receives which updates, and which requests
// children receive.

#include "tests/unit/mcp/shared_bench.h"

namespace stdgate::test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using Texts = std::vector<std::string>;

class McpSubscriptions : public testing::Test {
 protected:
  // Subscribes at a child that grants the subscription.
  void subscribe(SharedClient& session, const std::string& uri, FakeChild& child) {
    session.subscribe(uri);
    child.answer(take_subscribe(child, uri), "{}");
    EXPECT_EQ(session.take(), Texts{empty_result()});
  }
  void subscribe(SharedClient& session, const std::string& uri) { subscribe(session, uri, child_); }
  void expect_updates(const std::string& uri, bool to_a, bool to_b) {
    child_.say(updated(uri));
    EXPECT_EQ(a_.take(), to_a ? Texts{updated(uri)} : Texts()) << uri;
    EXPECT_EQ(b_.take(), to_b ? Texts{updated(uri)} : Texts()) << uri;
  }

  SharedBench bench_{1};
  FakeChild& child_ = bench_.child(0);
  SharedClient a_{bench_};
  SharedClient b_{bench_};
};

TEST_F(McpSubscriptions, OnlySubscribersHearOfUpdates) {
  expect_updates("file:///x", false, false);
  subscribe(a_, "file:///x");
  subscribe(b_, "file:///y");
  expect_updates("file:///x", true, false);
  expect_updates("file:///y", false, true);
  expect_updates("file:///z", false, false);
  expect_updates("file:///X", false, false);
  subscribe(b_, "file:///x");
  expect_updates("file:///x", true, true);
}

TEST_F(McpSubscriptions, TheUriCountsNotItsSpelling) {
  subscribe(a_, R"(file:\/\/\/\u0078)");
  expect_updates("file:///x", true, false);
  subscribe(b_, "file:///x");
  expect_updates(R"(\u0066ile:///x)", true, true);
  b_.unsubscribe(R"(file:///\u0078)");
  EXPECT_EQ(b_.take(), Texts{empty_result()});
  expect_updates("file:///x", true, false);
}

TEST_F(McpSubscriptions, APartOfWhatIsSubscribedToCounts) {
  subscribe(a_, "file:///dir");
  subscribe(b_, "file:///dir/sub/");
  expect_updates("file:///dir/x", true, false);
  expect_updates("file:///dir?q=1", true, false);
  expect_updates("file:///dir/", true, false);
  expect_updates("file:///directory", false, false);
  expect_updates("file:///", false, false);
  expect_updates("file:///dir/sub/x", false, true);
  expect_updates("file:///dir/sub", true, false);
  expect_updates("", false, false);
  child_.say(updated("file:///dir/" + std::string(1 << 20, '/')));
  EXPECT_TRUE(a_.take().empty()) << "too long to be looked for";
}

TEST_F(McpSubscriptions, ARefusedOneDoesNotCount) {
  a_.subscribe("u");
  child_.say(R"({"jsonrpc":"2.0","id":)" + take_subscribe(child_, "u") +
             R"(,"error":{"code":-32002,"message":"no such resource"}})");
  EXPECT_NE(a_.take().at(0).find("no such resource"), std::string::npos);
  expect_updates("u", false, false);
  a_.close();
  EXPECT_TRUE(child_.take_lines().empty()) << "nothing is to be ended";
}

TEST_F(McpSubscriptions, NothingIsHeardBeforeTheAnswer) {
  a_.subscribe("u");
  child_.say(updated("u"));
  EXPECT_TRUE(a_.take().empty());
  child_.answer(take_subscribe(child_, "u"), "{}");
}

TEST_F(McpSubscriptions, TheSecondOfASessionNeedsNoChild) {
  subscribe(a_, "u");
  a_.subscribe("u", "\"again\"");
  EXPECT_EQ(a_.take(), Texts{empty_result("\"again\"")});
  EXPECT_TRUE(child_.take_lines().empty());
  const auto& record = bench_.observer.records.back();
  EXPECT_EQ(record.method, "resources/subscribe");
  EXPECT_EQ(record.outcome, "ok");
  EXPECT_FALSE(record.reached_child);
  EXPECT_EQ(bench_.observer.started, bench_.observer.records.size());
  expect_updates("u", true, false);
}

TEST_F(McpSubscriptions, OnlyTheLastUnsubscribeReachesTheChild) {
  subscribe(a_, "u");
  subscribe(b_, "u");
  a_.unsubscribe("u", "\"x\"");
  EXPECT_EQ(a_.take(), Texts{empty_result("\"x\"")});
  EXPECT_TRUE(child_.take_lines().empty());
  expect_updates("u", false, true);
  b_.unsubscribe("u", "\"y\"");
  const std::string id = take_unsubscribe(child_, "u");
  EXPECT_TRUE(b_.take().empty()) << "the child answers";
  expect_updates("u", false, false);
  child_.answer(id, R"({"_meta":{}})");
  EXPECT_EQ(b_.take(), Texts{R"({"jsonrpc":"2.0","id":"y","result":{"_meta":{}}})"});
}

TEST_F(McpSubscriptions, WhatASessionNeverSubscribedToIsTheChildsBusiness) {
  subscribe(a_, "u");
  b_.unsubscribe("v");
  child_.say(R"({"jsonrpc":"2.0","id":)" + take_unsubscribe(child_, "v") +
             R"(,"error":{"code":1,"message":"what?"}})");
  EXPECT_NE(b_.take().at(0).find("what?"), std::string::npos);
}

TEST_F(McpSubscriptions, NobodyEndsAnothers) {
  FakeClient alone(bench_.callers);
  a_.subscribe("u");
  const std::string id = take_subscribe(child_, "u");
  for (const bool granted : {false, true}) {
    b_.unsubscribe("u");
    EXPECT_EQ(b_.take(), Texts{empty_result()});
    alone.answers.clear();
    bench_.send(
        alone, R"({"jsonrpc":"2.0","id":1,"method":"resources/unsubscribe","params":{"uri":"u"}})");
    EXPECT_EQ(alone.texts(), Texts{empty_result()});
    EXPECT_TRUE(child_.take_lines().empty());
    if (!granted) child_.answer(id, "{}");
    a_.take();
  }
  expect_updates("u", true, false);
}

TEST_F(McpSubscriptions, UnsubscribedTwice) {
  subscribe(a_, "u");
  a_.unsubscribe("u");
  child_.answer(take_unsubscribe(child_, "u"), "{}");
  a_.unsubscribe("u");
  child_.answer(take_unsubscribe(child_, "u"), "{}");
  EXPECT_EQ(a_.take().size(), 2U);
}

TEST_F(McpSubscriptions, AClosingSessionLetsGo) {
  subscribe(a_, "mine");
  subscribe(a_, "ours");
  subscribe(b_, "ours");
  a_.close();
  const std::string id = take_unsubscribe(child_, "mine");
  child_.answer(id, "{}");
  child_.say(updated("ours"));
  EXPECT_EQ(b_.take(), Texts{updated("ours")});
  b_.close();
  take_unsubscribe(child_, "ours");
}

TEST_F(McpSubscriptions, ASessionThatClosesBeforeTheAnswer) {
  a_.subscribe("u");
  const std::string id = take_subscribe(child_, "u");
  a_.close();
  const auto lines = child_.take_lines();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_NE(lines[0].find("notifications/cancelled"), std::string::npos);
  EXPECT_EQ(parse_asked(lines[1]).method, "resources/unsubscribe") << "it may have subscribed";
  child_.answer(id, "{}");
  EXPECT_TRUE(child_.take_lines().empty());
}

TEST_F(McpSubscriptions, ACancelledOneIsEnded) {
  a_.subscribe("u", "5");
  take_subscribe(child_, "u");
  a_.send(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}})");
  const auto lines = child_.take_lines();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(parse_asked(lines[1]).method, "resources/unsubscribe");
  expect_updates("u", false, false);
}

TEST_F(McpSubscriptions, OneThatTimesOutIsEnded) {
  a_.subscribe("u");
  take_subscribe(child_, "u");
  bench_.advance(seconds(10));
  const auto lines = child_.take_lines();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(parse_asked(lines[1]).method, "resources/unsubscribe");
}

TEST_F(McpSubscriptions, UnsubscribedBeforeTheAnswer) {
  a_.subscribe("u", "1");
  const std::string id = take_subscribe(child_, "u");
  a_.unsubscribe("u", "2");
  EXPECT_EQ(a_.take(), Texts{empty_result("2")});
  EXPECT_TRUE(child_.take_lines().empty()) << "the child could not tell which came first";
  child_.answer(id, "{}");
  EXPECT_EQ(a_.take(), Texts{empty_result("1")});
  take_unsubscribe(child_, "u");
  expect_updates("u", false, false);
}

TEST_F(McpSubscriptions, AnUnsubscribeDoesNotOvertakeAnothersSubscribe) {
  subscribe(a_, "u");
  b_.subscribe("u");
  const std::string id = take_subscribe(child_, "u");
  a_.unsubscribe("u");
  EXPECT_EQ(a_.take(), Texts{empty_result()});
  EXPECT_TRUE(child_.take_lines().empty());
  child_.answer(id, "{}");
  EXPECT_EQ(b_.take(), Texts{empty_result()});
  EXPECT_TRUE(child_.take_lines().empty()) << "the child holds it for the other one";
  expect_updates("u", false, true);
}

TEST_F(McpSubscriptions, ThatOneMayBeRefused) {
  subscribe(a_, "u");
  b_.subscribe("u");
  const std::string id = take_subscribe(child_, "u");
  a_.close();
  EXPECT_TRUE(child_.take_lines().empty());
  child_.say(R"({"jsonrpc":"2.0","id":)" + id + R"(,"error":{"code":1,"message":"no"}})");
  take_unsubscribe(child_, "u");
}

TEST_F(McpSubscriptions, SubscribedAgainBeforeTheUnsubscribeIsAnswered) {
  subscribe(a_, "u");
  a_.unsubscribe("u", "1");
  const std::string first = take_unsubscribe(child_, "u");
  b_.subscribe("u", "2");
  const std::string second = take_subscribe(child_, "u");
  child_.answer(first, "{}");
  child_.answer(second, "{}");
  a_.take();
  b_.take();
  expect_updates("u", false, true);
}

TEST_F(McpSubscriptions, WhileTheChildReadsNothingTheGatewayAnswers) {
  subscribe(a_, "u");
  child_.stop_reading();
  b_.send(R"({"jsonrpc":"2.0","method":"n","params":[")" + std::string(2 << 20, 'x') + R"("]})");
  child_.take_lines();
  a_.unsubscribe("u");
  EXPECT_EQ(a_.take(), Texts{empty_result()});
  EXPECT_TRUE(child_.take_lines().empty());
  child_.drain_stdin();
  take_unsubscribe(child_, "u");
}

TEST_F(McpSubscriptions, ThoseWithoutASessionAreNotKept) {
  FakeClient alone(bench_.callers);
  const std::string request =
      R"({"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"u"}})";
  bench_.send(alone, request, 1);
  child_.answer(take_subscribe(child_, "u"), "{}");
  bench_.send(alone, request, 2);
  child_.answer(take_subscribe(child_, "u"), "{}");
  expect_updates("u", false, false);
  bench_.leave(alone);
  EXPECT_TRUE(child_.take_lines().empty());
}

TEST_F(McpSubscriptions, AnothersStreamDoesNotHearOfThem) {
  FakeClient stream(bench_.callers);
  bench_.send(stream, R"({"jsonrpc":"2.0","id":1,"method":"m"})", 1, true);
  child_.say(updated("its-own"));
  EXPECT_EQ(stream.events.size(), 1U) << "nobody else subscribes";
  a_.subscribe("u");
  child_.answer(child_.take_ids().at(1), "{}");
  a_.take();
  expect_updates("u", true, false);
  expect_updates("v", false, false);
  EXPECT_EQ(stream.events.size(), 1U);
}

TEST_F(McpSubscriptions, NorOfThoseThatAreStillToBeEnded) {
  subscribe(a_, "u");
  FakeClient stream(bench_.callers);
  child_.stop_reading();
  bench_.send(
      stream,
      R"({"jsonrpc":"2.0","id":1,"method":"m","params":[")" + std::string(2 << 20, 'x') + R"("]})",
      1, true);
  a_.close();
  child_.say(updated("u"));
  EXPECT_TRUE(stream.events.empty());
  child_.drain_stdin();
  const auto ids = child_.take_ids();
  ASSERT_EQ(ids.size(), 2U);
  child_.say(updated("u"));
  EXPECT_TRUE(stream.events.empty()) << "it need not have read it yet";
  child_.answer(ids[1], "{}");
  child_.say(updated("u"));
  EXPECT_EQ(stream.events.size(), 1U);
}

TEST_F(McpSubscriptions, WithoutAUriTheChildIsToJudge) {
  for (const char* params : {R"({})", R"({"uri":1})", R"({"uri":""})", R"(["u"])"}) {
    a_.request("resources/subscribe", params);
    const auto ids = child_.take_ids();
    ASSERT_EQ(ids.size(), 1U) << params;
    child_.answer(ids[0], "{}");
  }
  a_.take();
  a_.request("resources/subscribe", R"({"uri":"a","uri":"b"})");
  EXPECT_EQ(bench_.observer.records.back().outcome, "invalid_request");
  a_.close();
  EXPECT_TRUE(child_.take_lines().empty());
}

TEST_F(McpSubscriptions, AreBounded) {
  for (size_t i = 0; i < session::Subscriptions::kMaxPerSession; ++i) {
    subscribe(a_, "u" + std::to_string(i));
  }
  a_.subscribe("more");
  EXPECT_NE(a_.take().at(0).find("this session has too many subscriptions"), std::string::npos);
  EXPECT_EQ(bench_.observer.records.back().outcome, "overloaded");
  b_.subscribe(std::string(session::Subscriptions::kMaxKey + 1, 'x'));
  EXPECT_EQ(b_.take().size(), 1U);
  EXPECT_EQ(bench_.observer.records.back().outcome, "too_large");
  EXPECT_TRUE(child_.take_lines().empty());
  subscribe(b_, "more");
  a_.unsubscribe("u7");
  child_.answer(take_unsubscribe(child_, "u7"), "{}");
  a_.take();
  subscribe(a_, "more");
}

// --- Several children, and their ends -------------------------------------------------------

class McpSubscriptionsOfTwo : public testing::Test {
 protected:
  // Each session has subscribed through a child of its own.
  McpSubscriptionsOfTwo() {
    a_.subscribe("u", "1");
    const std::string first = take_subscribe(first_, "u");
    b_.subscribe("u", "1");
    const std::string second = take_subscribe(second_, "u");
    first_.answer(first, "{}");
    second_.answer(second, "{}");
    a_.take();
    b_.take();
  }

  SharedBench bench_{2};
  FakeChild& first_ = bench_.child(0);
  FakeChild& second_ = bench_.child(1);
  SharedClient a_{bench_};
  SharedClient b_{bench_};
};

TEST_F(McpSubscriptionsOfTwo, EachHearsItOnceFromItsOwn) {
  first_.say(updated("u"));
  EXPECT_EQ(a_.take().size(), 1U);
  EXPECT_EQ(b_.take().size(), 0U);
  second_.say(updated("u"));
  EXPECT_EQ(a_.take().size(), 0U);
  EXPECT_EQ(b_.take().size(), 1U);
}

TEST_F(McpSubscriptionsOfTwo, TheRightChildIsAskedToEndIt) {
  b_.unsubscribe("u");
  EXPECT_TRUE(first_.take_lines().empty());
  second_.answer(take_unsubscribe(second_, "u"), "{}");
  EXPECT_EQ(b_.take(), Texts{empty_result()});
  a_.close();
  take_unsubscribe(first_, "u");
  EXPECT_TRUE(second_.take_lines().empty());
}

TEST_F(McpSubscriptionsOfTwo, AChildThatHasItAlreadyIsNotAskedAgain) {
  first_.die(9);
  EXPECT_TRUE(second_.take_lines().empty());
  second_.say(updated("u"));
  EXPECT_EQ(a_.take().size(), 1U);
  EXPECT_EQ(b_.take().size(), 1U);
  b_.unsubscribe("u");
  EXPECT_TRUE(second_.take_lines().empty());
  a_.unsubscribe("u");
  take_unsubscribe(second_, "u");
}

TEST_F(McpSubscriptionsOfTwo, AnotherChildTakesThemOver) {
  b_.unsubscribe("u");
  second_.answer(take_unsubscribe(second_, "u"), "{}");
  first_.die(9);
  const std::string id = take_subscribe(second_, "u");
  second_.answer(id, "{}");
  second_.say(updated("u"));
  EXPECT_EQ(a_.take().size(), 1U);
  EXPECT_EQ(b_.take().size(), 1U) << "the answer to its unsubscribe alone";
}

TEST_F(McpSubscriptionsOfTwo, TheNextChildTakesThemOver) {
  first_.die(9);
  second_.die(9);
  bench_.advance(seconds(1));
  ASSERT_GT(bench_.launcher.launched(), 2U);
  FakeChild& third = bench_.greet(2);
  third.answer(take_subscribe(third, "u"), "{}");
  third.say(updated("u"));
  EXPECT_EQ(a_.take().size(), 1U);
  EXPECT_EQ(b_.take().size(), 1U);
  // A session whose former child has ended can still unsubscribe.
  a_.unsubscribe("u");
  EXPECT_EQ(a_.take(), Texts{empty_result()});
  b_.close();
  take_unsubscribe(third, "u");
}

TEST_F(McpSubscriptionsOfTwo, WhileThereIsNoChildTheyMayGo) {
  first_.die(9);
  second_.die(9);
  a_.unsubscribe("u");
  EXPECT_EQ(a_.take(), Texts{empty_result()});
  b_.close();
  bench_.advance(seconds(1));
  EXPECT_TRUE(bench_.greet(2).take_lines().empty());
}

TEST_F(McpSubscriptionsOfTwo, ASubscribeThatDiesWithItsChildIsAFault) {
  a_.subscribe("v");
  take_subscribe(first_, "v");
  first_.die(9);
  EXPECT_NE(a_.take().at(0).find("-31502"), std::string::npos);
  EXPECT_TRUE(second_.take_lines().empty());
  second_.say(updated("v"));
  EXPECT_TRUE(a_.take().empty());
}

TEST(McpSubscriptionsIdle, AChildThatIsNeededStays) {
  backend::BackendOptions options = shared_mcp_options(1);
  options.config.pool.min = 0;
  SharedBench bench(options);
  SharedClient a(bench);
  a.subscribe("u");
  FakeChild& child = bench.greet(0);
  child.answer(take_subscribe(child, "u"), "{}");
  bench.advance(minutes(60));
  EXPECT_TRUE(child.ends().empty());
  child.say(updated("u"));
  EXPECT_EQ(a.take().size(), 2U);
  a.unsubscribe("u");
  child.answer(take_unsubscribe(child, "u"), "{}");
  bench.advance(minutes(6));
  EXPECT_EQ(child.ends().size(), 1U);
}

TEST(McpSubscriptionsIdle, OneWhoseSubscriberHasLeftGoes) {
  backend::BackendOptions options = shared_mcp_options(1);
  options.config.pool.min = 0;
  SharedBench bench(options);
  SharedClient a(bench);
  a.subscribe("u");
  FakeChild& child = bench.greet(0);
  child.answer(take_subscribe(child, "u"), "{}");
  bench.advance(minutes(60));
  a.close();
  child.answer(take_unsubscribe(child, "u"), "{}");
  bench.advance(minutes(6));
  EXPECT_EQ(child.ends().size(), 1U);
}

TEST(McpSubscriptionsOfASession, PassAsTheyAre) {
  backend::BackendOptions options = session_options(2);
  options.config.protocol = config::Protocol::mcp;
  BackendBench bench(options, std::make_unique<mcp::McpDialect>("1"));
  SharedClient a(bench);
  a.call("0");
  FakeChild& child = bench.start_child();
  child.answer(child.take_ids().at(0));
  a.take();
  for (int i = 0; i < 2; ++i) {
    a.subscribe("u");
    child.answer(take_subscribe(child, "u"), "{}");
  }
  for (int i = 0; i < 2; ++i) {
    a.unsubscribe("u");
    child.answer(take_unsubscribe(child, "u"), "{}");
  }
  EXPECT_EQ(a.take().size(), 4U);
  child.say(updated("any"));
  EXPECT_EQ(a.take().size(), 1U);
}

}  // namespace
}  // namespace stdgate::test

// Claims that clients bring back: they reach the child that gave them out, byte for byte. If that
// is impossible, the client is told so.

#include <gmock/gmock.h>

#include "tests/unit/mcp/returning_bench.h"

namespace stdgate::test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

TEST_F(Returns, ToTheChildByteForByte) {
  for (const size_t child : {0U, 1U}) {
    const std::string state = give_state(child);
    EXPECT_THAT(state, Not(HasSubstr("s\\u00e9")));
    come_back(state);
    EXPECT_TRUE(bench.child(1 - child).take_lines().empty());
    const std::string line = bench.child(child).take_line();
    EXPECT_THAT(line, HasSubstr(R"("requestState":"s\u00e9\"1")"));
    bench.child(child).answer(parse_asked(line).id, "{}");

    const std::string task = give_task(child);
    get(task);
    const std::string asked = bench.child(child).take_line();
    EXPECT_THAT(asked, HasSubstr(R"("taskId":"t1")"));
    bench.child(child).answer(parse_asked(asked).id, "{}");
  }
}

TEST_F(Returns, ATaskHasOneNameForAClient) {
  const std::string task = give_task(1);
  get(task);
  answer(1, R"({"resultType":"complete","taskId":"t1","status":"working","ttlMs":600000})");
  EXPECT_EQ(member_of(last(), "taskId"), task);
  EXPECT_NE(give_task(0), task) << "of another child";
}

TEST_F(Returns, BeyondTheLimitOfCallsInFlight) {
  const std::string state = give_state(0);
  for (int i = 0; i < 5; ++i) bench.send_modern(other, request(std::to_string(i), "hold"));
  EXPECT_EQ(bench.child(0).take_lines().size(), 2U);
  EXPECT_EQ(bench.child(1).take_lines().size(), 2U);
  for (int i = 0; i < 3; ++i) come_back(state);
  EXPECT_EQ(bench.child(0).take_lines().size(), 2U) << "two more";
  EXPECT_EQ(bench.status().queued, 2U) << "one of each kind";
  bench.advance(seconds(10));
  EXPECT_EQ(bench.backend.calls(), 0U);
  EXPECT_EQ(bench.status().queued, 0U);
}

TEST_F(Returns, NoneOfOneChildIsTakenForOneOfAnother) {
  const std::string state = give_state(0);
  const std::string task = give_task(1);
  bench.send_modern(
      client,
      request("1", "tools/call", R"("name":"t","requestState":)" + state,
              meta(kTasks, R"(,"io.modelcontextprotocol/related-task":{"taskId":)" + task + "}")));
  EXPECT_THAT(last(), HasSubstr("-32602"));
  // A task is no state.
  come_back(task);
  EXPECT_EQ(last(), failed("1", "requestState is not valid"));
}

TEST_F(Returns, StatesExpire) {
  const std::string state = give_state(0);
  bench.advance(minutes(5));
  come_back(state);
  EXPECT_EQ(last(), failed("1", "requestState is not valid"));
  EXPECT_EQ(bench.observer.returns[ReturnEnd::expired], 1);
}

TEST_F(Returns, AreLostWithTheChild) {
  const std::string state = give_state(0);
  const std::string task = give_task(0);
  const std::string cursor =
      give(0, R"({"tools":[],"nextCursor":"c"})", "nextCursor", "tools/list");
  bench.child(0).exit(1);
  EXPECT_THAT(bench.log.lines, testing::Contains(HasSubstr("work lost")));
  come_back(state);
  EXPECT_EQ(last(), failed("1", "requestState is not valid"));
  get(task);
  EXPECT_EQ(last(), failed("1", "Task not found"));
  EXPECT_EQ(bench.observer.returns[ReturnEnd::lost], 2);
  // A cursor may also be valid at another child.
  send("tools/list", R"("cursor":)" + cursor);
  EXPECT_THAT(bench.child(1).take_line(), HasSubstr(R"("cursor":"c")"));
}

TEST_F(Returns, WhatWaitsForTheChildIsLostWithIt) {
  const std::string state = give_state(0);
  for (int i = 0; i < 3; ++i) come_back(state);
  EXPECT_EQ(bench.status().queued, 1U);
  bench.child(0).exit(1);
  EXPECT_THAT(client.texts(), testing::Contains(failed("1", "requestState is not valid")));
  EXPECT_EQ(bench.backend.calls(), 0U);
}

TEST_F(Returns, WhatWaitsCanBeCancelled) {
  const std::string state = give_state(0);
  for (int i = 0; i < 3; ++i) come_back(state);
  bench.leave(client);
  EXPECT_EQ(bench.status().queued, 0U);
  EXPECT_EQ(bench.backend.calls(), 0U);
}

TEST_F(Returns, WithACursorToTheChildThatGaveIt) {
  const std::string cursor =
      give(1, R"({"tools":[],"nextCursor":"c"})", "nextCursor", "tools/list");
  EXPECT_NE(cursor, "\"c\"");
  send("tools/list", R"("cursor":)" + cursor);
  EXPECT_THAT(bench.child(1).take_line(), HasSubstr(R"("cursor":"c")"));
  send("tools/list", R"("cursor":"c")");
  EXPECT_EQ(last(), failed("1", "cursor is not valid"));
}

TEST_F(Returns, AKeyWithEscapesIsTheSame) {
  const std::string state = give_state(0);
  send("tools/call", R"("name":"t","requestSt\u0061te":"raw")");
  EXPECT_EQ(last(), failed("1", "requestState is not valid"));
  send("tools/call", R"("name":"t","requestSt\u0061te":)" + state);
  EXPECT_THAT(bench.child(0).take_line(), HasSubstr(R"("s\u00e9\"1")"));
}

TEST_F(Returns, WhatIsTooLongIsAnErrorThatNamesTheKey) {
  give(0, R"({"resultType":"task","taskId":")" + std::string(2000, 'x') + "\"}", "taskId");
  EXPECT_THAT(last(), HasSubstr("pool.sticky"));
}

class ReturnsOfIdle : public Returns {
 protected:
  ReturnsOfIdle() : Returns(returning_options(0)) {}
  FakeChild& first() {
    send("tools/call", R"("name":"t")");
    FakeChild& child = bench.child(0);
    child.start();
    child.answer(child.take_ids().at(0), std::string(kTaskDiscovery));
    return child;
  }
  [[nodiscard]] bool has_been_ended() { return !bench.child(0).ends().empty(); }
};

TEST_F(ReturnsOfIdle, AChildStaysForAState) {
  FakeChild& child = first();
  child.answer(parse_asked(child.take_line()).id,
               R"({"resultType":"input_required","requestState":"s"})");
  EXPECT_EQ(bench.status().children.at(0).states, 1U);
  bench.advance(minutes(4));
  EXPECT_FALSE(has_been_ended());
  bench.advance(minutes(1));
  EXPECT_TRUE(has_been_ended()) << "the state has expired";
}

TEST_F(ReturnsOfIdle, AReloadChangesHowLongAStateIsOpen) {
  FakeChild& child = first();
  config::TimeoutsConfig timeouts;
  timeouts.input = minutes(30);
  bench.backend.set_limits(config::LimitsConfig(), timeouts);
  child.answer(parse_asked(child.take_line()).id,
               R"({"resultType":"input_required","requestState":"s"})");
  bench.advance(minutes(29));
  EXPECT_FALSE(has_been_ended());
  come_back(member_of(last(), "requestState"));
  EXPECT_FALSE(child.take_lines().empty());
}

TEST_F(ReturnsOfIdle, AStateThatHasComeBackKeepsItNoLonger) {
  FakeChild& child = first();
  child.answer(parse_asked(child.take_line()).id,
               R"({"resultType":"input_required","requestState":"s"})");
  come_back(member_of(last(), "requestState"));
  child.answer(parse_asked(child.take_line()).id, "{}");
  bench.advance(minutes(2));
  EXPECT_TRUE(has_been_ended());
}

// The request is refused for another reason, or because the queue is full.
TEST_F(Returns, AStateThatIsNotTakenStaysOpen) {
  const std::string state = give_state(0);
  const std::string related = R"(,"io.modelcontextprotocol/related-task":{"taskId":"t1"})";
  bench.send_modern(
      client,
      request("4", "tools/call", R"("name":"t","requestState":)" + state, meta(kTasks, related)),
      who);
  EXPECT_EQ(last(), failed("4", "Task not found"));
  EXPECT_EQ(bench.status().children.at(0).states, 1U);
  EXPECT_TRUE(bench.child(0).take_lines().empty());
  come_back(state);
  EXPECT_FALSE(bench.child(0).take_lines().empty());
  EXPECT_EQ(bench.status().children.at(0).states, 0U);
}

class ReturnsToAFullQueue : public Returns {
 public:
  static backend::BackendOptions options() {
    backend::BackendOptions options = returning_options(1);
    options.config.pool.max = 1;
    options.config.pool.queue = 1;
    return options;
  }
  ReturnsToAFullQueue() : Returns(options()) {}
};

TEST_F(ReturnsToAFullQueue, AStateThatHasNoRoomStaysOpen) {
  const std::string task = give_task(0);
  const std::string state = give_state(0);
  for (int i = 0; i < 3; ++i) get(task);  // two are at the child, and one waits
  const size_t before = client.texts().size();
  come_back(state);
  ASSERT_EQ(client.answers.size(), before + 1);
  EXPECT_EQ(client.answers.back().fault, rpc::Fault::overloaded);
  EXPECT_EQ(bench.status().children.at(0).states, 1U);
}

TEST_F(ReturnsToAFullQueue, AStateWhoseRequestIsGivenUpBeforeItIsSentStaysOpen) {
  const std::string task = give_task(0);
  const std::string state = give_state(0);
  for (int i = 0; i < 2; ++i) get(task);
  come_back(state);
  EXPECT_EQ(bench.status().children.at(0).states, 0U) << "it waits for the child";
  bench.backend.cancel_calls_of(client.caller());
  EXPECT_EQ(bench.status().children.at(0).states, 1U);
}

TEST_F(ReturnsOfIdle, AChildStaysForATask) {
  FakeChild& child = first();
  child.answer(parse_asked(child.take_line()).id,
               R"({"resultType":"task","taskId":"t1","status":"working","ttlMs":600000})");
  const std::string task = member_of(last(), "taskId");
  EXPECT_EQ(bench.status().children.at(0).tasks, 1U);
  EXPECT_TRUE(bench.backend.holds_work());
  bench.advance(minutes(9));
  EXPECT_FALSE(has_been_ended());
  get(task);
  answer(0, R"({"taskId":"t1","status":"completed","ttlMs":600000})");
  bench.advance(minutes(2));
  EXPECT_TRUE(has_been_ended()) << "its time to live is over";
}

TEST_F(ReturnsOfIdle, ATaskThatIsDoneIsKeptForItsClientForAWhile) {
  FakeChild& child = first();
  child.answer(parse_asked(child.take_line()).id,
               R"({"resultType":"task","taskId":"t1","status":"working","ttlMs":null})");
  get(member_of(last(), "taskId"));
  answer(0, R"({"taskId":"t1","status":"completed","ttlMs":null})");
  bench.advance(minutes(4));
  EXPECT_FALSE(has_been_ended());
  bench.advance(minutes(2));
  EXPECT_TRUE(has_been_ended());
}

class ReturnsToAny : public Returns {
 protected:
  static backend::BackendOptions options() {
    backend::BackendOptions options = returning_options(2);
    options.config.pool.sticky = false;
    return options;
  }
  ReturnsToAny() : Returns(options()) {}
};

TEST_F(ReturnsToAny, EverythingPassesAsItIs) {
  const std::string state = give_state(1);
  EXPECT_EQ(state, R"("s\u00e9\"1")");
  come_back(state);
  EXPECT_THAT(bench.child(0).take_line(), HasSubstr(R"("requestState":"s\u00e9\"1")"));
}

// A stream that names tasks of two children.
class ReturnsToStreams : public Returns {
 public:
  ReturnsToStreams() {
    first = give_task(0);
    second = give_task(1);
    send("subscriptions/listen",
         R"("notifications":{"toolsListChanged":true,"taskIds":[)" + first + "," + second +
             R"(,"never"]})",
         "7");
    for (const size_t i : {0U, 1U}) asked.push_back(parse_asked(line(i)).id);
  }
  std::string line(size_t child) {
    lines.push_back(bench.child(child).take_line());
    return lines.back();
  }
  void tell(size_t child, const std::string& method, const std::string& more) {
    bench.child(child).say(note(method, R"({"_meta":{"io.modelcontextprotocol/subscriptionId":)" +
                                            asked[child] + "}," + more + "}"));
  }
  void acknowledge(size_t child, const std::string& wishes) {
    tell(child, "subscriptions/acknowledged", R"("notifications":)" + wishes);
  }

  std::string first;
  std::string second;
  Texts lines;
  Texts asked;
};

TEST_F(ReturnsToStreams, EachChildIsAskedForItsOwn) {
  EXPECT_THAT(lines[0], HasSubstr(R"({"toolsListChanged":true,"taskIds":["t1"]})"));
  EXPECT_THAT(lines[1], HasSubstr(R"({"taskIds":["t1"]})"));
  acknowledge(0, R"({"toolsListChanged":true,"taskIds":["t1"]})");
  tell(0, "tasks", R"("taskId":"t1","status":"completed")");
  EXPECT_TRUE(client.events.empty()) << "it waits for the other one";
  acknowledge(1, R"({"taskIds":["t1"]})");
  tell(1, "tasks", R"("taskId":"t1","status":"failed")");
  const Texts told = events_of(client);
  ASSERT_EQ(told.size(), 3U);
  EXPECT_THAT(told[0], HasSubstr("[" + first + "," + second + "]"));
  EXPECT_THAT(told[1], HasSubstr(first + R"(,"status":"completed")"));
  EXPECT_THAT(told[2], HasSubstr(second + R"(,"status":"failed")"));
  for (const std::string& text : told) {
    EXPECT_THAT(text, HasSubstr(R"("io.modelcontextprotocol/subscriptionId":7)"));
  }
}

TEST_F(ReturnsToStreams, AChildThatDoesNotAcknowledgeIsNotWaitedForLong) {
  acknowledge(0, R"({"taskIds":["t1"]})");
  bench.advance(seconds(5));
  const Texts told = events_of(client);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_THAT(told[0], HasSubstr("[" + first + "]"));
}

TEST_F(ReturnsToStreams, WhatComesBeforeTheStreamHasBegunIsBounded) {
  acknowledge(0, R"({"taskIds":["t1"]})");
  const std::string data = std::string(400 << 10, 'x');
  for (int i = 0; i < 4; ++i) {
    tell(0, "tasks", R"("taskId":"t1","status":"working","statusMessage":")" + data + "\"");
  }
  acknowledge(1, R"({"taskIds":["t1"]})");
  EXPECT_EQ(client.events.size(), 3U) << "that it has begun, and two of the four";
  EXPECT_EQ(bench.observer.dropped[DropReason::outbox_full], 2);
}

TEST_F(ReturnsToStreams, WhatComesBeforeTheStreamHasBegunIsItsClients) {
  const auto held = [this] {
    return bench.accounts.held_at(0).of[static_cast<size_t>(Holding::calls)];
  };
  acknowledge(0, R"({"taskIds":["t1"]})");
  const size_t before = held();
  const std::string data = std::string(100 << 10, 'x');
  tell(0, "tasks", R"("taskId":"t1","status":"working","statusMessage":")" + data + "\"");
  EXPECT_GE(held(), before + data.size());
  EXPECT_GE(bench.account->used(), data.size());
  {
    Share full({bench.account.get(), &bench.accounts.unrouted()}, Holding::receiving);
    full.set(bench.accounts.bounds().client + 1);
    tell(0, "tasks", R"("taskId":"t1","status":"completed")");
  }
  acknowledge(1, R"({"taskIds":["t1"]})");
  EXPECT_EQ(client.events.size(), 2U) << "its client holds too much for the last one";
  EXPECT_LT(held(), before + data.size());
  bench.leave(client);
  EXPECT_EQ(held(), 0U);
}

TEST_F(ReturnsToStreams, AllEndWithTheClient) {
  acknowledge(0, R"({"taskIds":["t1"]})");
  acknowledge(1, R"({"taskIds":["t1"]})");
  bench.leave(client);
  for (const size_t i : {0U, 1U}) {
    EXPECT_THAT(bench.child(i).take_line(), HasSubstr("notifications/cancelled"));
  }
  EXPECT_EQ(bench.backend.calls(), 0U);
}

// The related task must belong to the child of the other tasks.
TEST_F(ReturnsToStreams, ARelatedTaskIsOfTheSameChild) {
  const auto listen = [this](const std::string& wishes) {
    bench.send_modern(other,
                      request("8", "subscriptions/listen", R"("notifications":)" + wishes,
                              meta(kTasks, R"(,"io.modelcontextprotocol/related-task":{"taskId":)" +
                                               second + "}")),
                      who);
  };
  listen(R"({"taskIds":[)" + first + "]}");
  ASSERT_EQ(other.texts().size(), 2U);
  EXPECT_THAT(other.texts().back(), HasSubstr("-32602"));
  EXPECT_THAT(other.texts().back(), HasSubstr("related-task"));
  for (const size_t i : {0U, 1U}) EXPECT_TRUE(bench.child(i).take_lines().empty());
  for (const std::string& wishes :
       {std::string(R"({"toolsListChanged":true})"), R"({"taskIds":[)" + second + "]}"}) {
    listen(wishes);
    EXPECT_TRUE(bench.child(0).take_lines().empty()) << wishes;
    EXPECT_THAT(bench.child(1).take_line(), HasSubstr(R"(related-task":{"taskId":"t1"})"))
        << wishes;
  }
}

TEST_F(ReturnsToStreams, OneChildMayGo) {
  acknowledge(0, R"({"taskIds":["t1"]})");
  acknowledge(1, R"({"taskIds":["t1"]})");
  bench.child(1).exit(1);
  tell(0, "tasks", R"("taskId":"t1","status":"completed")");
  EXPECT_EQ(events_of(client).size(), 2U);
  EXPECT_TRUE(client.texts().size() == 2U) << "the stream goes on";
}

}  // namespace
}  // namespace stdgate::test

// The claims of children belong to one client. No other client receives them, or reaches a child
// with them.

#include <gmock/gmock.h>

#include "tests/unit/mcp/returning_bench.h"

namespace stdgate::test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST_F(Returns, AreOfOneClient) {
  who = &ada;
  const std::string state = give_state(0);
  const std::string task = give_task(0);
  who = &bob;
  come_back(state);
  EXPECT_EQ(last(), failed("1", "requestState is not valid"));
  get(task);
  EXPECT_EQ(last(), failed("1", "Task not found"));
  get(task, "tasks/cancel");
  EXPECT_EQ(last(), failed("1", "Task not found"));
  who = nullptr;
  get(task);
  EXPECT_EQ(last(), failed("1", "Task not found"));
  come_back("\"never\"");
  EXPECT_EQ(last(), failed("1", "requestState is not valid"));
  EXPECT_TRUE(bench.child(0).take_lines().empty());
  EXPECT_EQ(bench.observer.returns[ReturnEnd::unknown], 5);
  who = &ada;
  get(task);
  EXPECT_FALSE(bench.child(0).take_lines().empty());
}

// Whatever a client listens for, no child receives an id that was not sealed for this client.
TEST_F(Returns, AStreamNamesNoTaskThatIsNotItsClients) {
  who = &ada;
  give_task(0);
  who = &bob;
  for (const std::string wishes :
       {R"("notifications":{"taskIds":["x"]},"notifications":{"taskIds":["t1"]})",
        R"("notifications":{"taskIds":["x"],"taskIds":["t1"]})",
        R"("notifications":{"taskIds":["x"],"task\u0049ds":["t1"]})",
        R"("notifications":{"taskIds":["x"],"TaskIDs":["t1"]})",
        R"("notifications":{"taskIds":[]},"Notifications":{"taskIds":["t1"]})"}) {
    send("subscriptions/listen", wishes, "7");
    EXPECT_THAT(last(), HasSubstr("-32602")) << wishes;
    for (const size_t i : {0U, 1U}) {
      EXPECT_TRUE(bench.child(i).take_lines().empty()) << wishes;
    }
  }
  for (const std::string ids : {R"("t1")", R"({"a":"t1"})", R"([["t1"]])", "[\"t1\"]"}) {
    send("subscriptions/listen",
         R"("notifications":{"toolsListChanged":true,"taskIds":)" + ids + "}", "8");
    for (const size_t i : {0U, 1U}) {
      for (const std::string& line : bench.child(i).take_lines()) {
        EXPECT_THAT(line, Not(HasSubstr("t1"))) << ids;
      }
    }
  }
}

TEST_F(Returns, OnlyModernClientsListenForTasks) {
  who = &ada;
  give_task(0);
  const auto listen = [this](const std::string& wishes) {
    bench.send(other,
               R"({"jsonrpc":"2.0","id":9,"method":"subscriptions/listen","params":)"
               R"({"_meta":{"progressToken":5},"notifications":)" +
                   wishes + "}}",
               0, true);
    size_t asked = 0;
    for (const size_t i : {0U, 1U}) asked += bench.child(i).take_lines().size();
    return asked;
  };
  EXPECT_EQ(listen(R"({"taskIds":["t1"]})"), 0U);
  EXPECT_EQ(listen(R"({"taskIds":[],"taskIds":["t1"]})"), 0U);
  ASSERT_EQ(other.texts().size(), 2U);
  EXPECT_THAT(other.texts()[0], HasSubstr("-32602"));
  EXPECT_EQ(listen(R"({"toolsListChanged":true})"), 1U);
}

TEST_F(Returns, NothingRawReachesAChild) {
  who = &ada;
  const std::string task = give_task(0);
  const std::string state = give_state(0);
  const std::string related = R"("io.modelcontextprotocol/related-task":{"taskId":"t1"})";
  struct Case {
    std::string method;
    std::string params;
  };
  const Case cases[] = {
      {"tasks/get", R"("taskId":)" + task + R"(,"taskId":"t1")"},
      {"tasks/get", R"("taskId":)" + task + R"(,"taskID":"t1")"},
      {"tasks/get", R"("taskId":["t1"])"},
      {"tasks/cancel", R"("taskId":"t1","taskId":)" + task},
      {"tasks/result", R"("taskId":)" + task + R"(,"task\u0049d":"t1")"},
      {"tasks/update", R"("taskId":)" + task + R"(,"requestState":"raw")"},
      {"tools/call", R"("name":"t","requestState":)" + state + R"(,"requestState":"raw")"},
      {"tools/call", R"("name":"t","requestState":["raw"])"},
      {"tools/call", R"("name":"t","inputResponses":{"q":{"_meta":{)" + related + "}}}"},
      {"tools/list", R"("cursor":"raw","cursor":"raw")"},
      {"tools/list", R"("Cursor":"raw")"},
  };
  for (const Case& one : cases) {
    send(one.method, one.params);
    EXPECT_THAT(last(), HasSubstr("-32602")) << one.params;
    EXPECT_TRUE(bench.child(0).take_lines().empty()) << one.params;
    EXPECT_TRUE(bench.child(1).take_lines().empty()) << one.params;
  }
  const std::string similar = R"(,"io.modelcontextprotocol/Related-Task":{"taskId":"t1"})";
  bench.send_modern(client, request("4", "tools/call", R"("name":"t")", meta(kTasks, similar)),
                    who);
  EXPECT_EQ(last(), failed("4", "Task not found"));
  bench.send(other, R"({"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"t",)"
                    R"("_meta":{"io.modelcontextprotocol\/related-task":{"taskId":"t1"}}}})");
  ASSERT_EQ(other.texts().size(), 1U);
  EXPECT_THAT(other.texts()[0], HasSubstr("-32602"));
}

TEST_F(Returns, NobodyIsToldOfTasksOfOthers) {
  who = &ada;
  give_task(0);
  who = &bob;
  send("tasks/list", "");
  EXPECT_THAT(last(), HasSubstr("-32601"));
  for (const size_t i : {0U, 1U}) EXPECT_TRUE(bench.child(i).take_lines().empty()) << "not asked";
  // These messages name no stream, and there is only one call.
  send("tools/call", R"("name":"t")", "3");
  for (const size_t i : {0U, 1U}) {
    bench.child(i).say(note("tasks", R"({"taskId":"t1","status":"completed"})"));
    bench.child(i).say(note("message",
                            R"({"level":"info","data":1,"_meta":)"
                            R"({"io.modelcontextprotocol/related-task":{"taskId":"t1"}}})"));
  }
  EXPECT_TRUE(client.events.empty());
}

TEST_F(Returns, AnIdThatIsTooLongIsNotKept) {
  send("subscriptions/listen", R"("notifications":{"toolsListChanged":true})", "7");
  const std::string asked = parse_asked(bench.child(0).take_line()).id;
  give_task(1);
  bench.child(0).say(note("tasks", R"({"_meta":{"io.modelcontextprotocol/subscriptionId":)" +
                                       asked + R"(},"taskId":")" + std::string(2000, 'x') +
                                       R"(","status":"working"})"));
  EXPECT_EQ(client.events.size(), 1U);
  EXPECT_EQ(bench.status().children.at(0).tasks, 0U);
}

TEST_F(Returns, NoStateIsOpenThatHasNotBeenGiven) {
  send("tools/call", R"("name":"t")");
  answer(0, R"({"resultType":"input_required","requestState":")" + std::string((1 << 20) + 1, 'x') +
                "\"}");
  EXPECT_THAT(last(), HasSubstr("pool.sticky"));
  EXPECT_EQ(bench.status().children.at(0).states, 0U);
}

// A session of a client of the legacy era.
TEST_F(Returns, AreOfThePrincipalOfASession) {
  FakeSession session{bench.callers};
  ASSERT_FALSE(bench.open(session).has_value());
  const auto send_as = [&](const std::string& id, const std::string& method,
                           const std::string& params) {
    std::string text = R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":")" + method +
                       R"(","params":{)" + params + "}}";
    rpc::EnvelopeParser parser(bench.backend.envelope_limits());
    call::CallContext context;
    context.caller = session.caller();
    context.session = session.id;
    context.transport = Transport::mcp;
    context.arrived = bench.clock.now();
    context.account = bench.account.get();
    context.principal = &bob;
    bench.backend.accept(parser.parse(text).value().messages[0], context);
  };
  send_as("0", "initialize",
          R"("protocolVersion":"2025-11-25","capabilities":{},)"
          R"("clientInfo":{"name":"c","version":"1"})");
  bench.settle();
  session.take();
  for (const size_t i : {0U, 1U}) bench.child(i).take_lines();
  send_as("9", "subscriptions/listen",
          R"("_meta":{"progressToken":5},"notifications":{"taskIds":["t1"]})");
  const auto refused = session.take();
  ASSERT_FALSE(refused.empty());
  EXPECT_THAT(refused[0], HasSubstr("-32602"));
  send_as("10", "tools/call", R"("name":"t")");
  for (const size_t i : {0U, 1U}) {
    for (const std::string& line : bench.child(i).take_lines()) {
      EXPECT_THAT(line, HasSubstr("tools/call"));
      bench.child(i).answer(parse_asked(line).id,
                            R"({"resultType":"task","taskId":"t9","status":"working"})");
    }
  }
  const auto told = session.take();
  ASSERT_FALSE(told.empty());
  const std::string task = member_of(told[0], "taskId");
  get(task);
  EXPECT_EQ(last(), failed("1", "Task not found")) << "it is not nobody's";
  who = &bob;
  get(task);
  EXPECT_FALSE(bench.child(0).take_lines().empty() && bench.child(1).take_lines().empty());
  bench.backend.close_session(session.id, {});
}

}  // namespace
}  // namespace stdgate::test

// A backend of MCP children: the handshake, progress, cancels, faults.

#include "gateway/mcp/mcp_dialect.h"
#include "tests/support/backend_fixture.h"

namespace stdgate::test {
namespace {

backend::BackendOptions one_child(uint32_t min = 1) {
  backend::BackendOptions options = plain_options();
  options.config.protocol = config::Protocol::mcp;
  options.config.pool.min = min;
  options.config.pool.max = 1;
  return options;
}

constexpr std::string_view kInitialized =
    R"({"jsonrpc":"2.0","method":"notifications/initialized"})";
constexpr std::string_view kServer =
    R"({"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s"}})";

class McpBackend : public testing::Test {
 protected:
  explicit McpBackend(const backend::BackendOptions& options = one_child())
      : bench_(options, std::make_unique<mcp::McpDialect>("1")) {}

  // Lets the newest child start and answer the greeting.
  FakeChild& get_ready() {
    FakeChild& child = bench_.start_child();
    child.answer(child.take_ids().at(0), std::string(kServer));
    EXPECT_EQ(child.take_line(), kInitialized);
    return child;
  }

  BackendBench bench_;
  FakeClient client_{bench_.callers};
};

TEST_F(McpBackend, GreetsBeforeItGivesCalls) {
  bench_.call(client_, "1");
  bench_.send(client_, R"({"jsonrpc":"2.0","method":"notifications/roots/list_changed"})");
  FakeChild& child = bench_.start_child();
  const auto greeting = child.take_ids();
  ASSERT_EQ(greeting.size(), 1U);
  EXPECT_EQ(bench_.status().children.at(0).state, ChildState::starting);
  EXPECT_FALSE(bench_.status().ready);
  bench_.advance(seconds(2));
  child.answer(greeting[0], std::string(kServer));
  const auto lines = child.take_lines();
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0], kInitialized);
  EXPECT_EQ(lines[2], R"({"jsonrpc":"2.0","method":"notifications/roots/list_changed"})");
  EXPECT_TRUE(bench_.status().ready);
  EXPECT_EQ(bench_.observer.records.size(), 0U) << "the greeting is nobody's call";
}

TEST_F(McpBackend, TheGreetingIsNoCallInFlight) {
  bench_.start_child();
  EXPECT_EQ(bench_.status().in_flight, 0U);
  EXPECT_EQ(bench_.backend.calls(), 0U) << "a drain need not wait for it";
}

TEST_F(McpBackend, ARefusedGreetingIsAFailedStart) {
  const std::vector<std::string> answers = {
      R"("error":{"code":-32600,"message":"no"})",
      R"("result":{"protocolVersion":"1999-01-01"})",
      R"("result":1,"error":{"code":1,"message":"both"})",
  };
  for (const std::string& answer : answers) {
    BackendBench bench(one_child(0), std::make_unique<mcp::McpDialect>("1"));
    FakeClient client(bench.callers);
    bench.call(client);
    FakeChild& child = bench.start_child();
    child.say(R"({"jsonrpc":"2.0","id":)" + child.take_ids().at(0) + "," + answer + "}");
    EXPECT_EQ(child.ends(), std::vector<Duration>{Duration{0}}) << answer;
    child.die(9);
    EXPECT_EQ(client.answers.at(0).fault, rpc::Fault::child_failed);
    EXPECT_NE(client.answers[0].text.find("-31502"), std::string::npos);
    EXPECT_EQ(bench.observer.exits, std::vector<ExitReason>{ExitReason::start_failed});
  }
}

TEST_F(McpBackend, AnUnansweredGreetingTimesOut) {
  FakeChild& child = bench_.start_child();
  bench_.advance(seconds(30));
  EXPECT_EQ(child.ends(), std::vector<Duration>{Duration{0}});
  child.answer(child.take_ids().at(0), std::string(kServer));
  EXPECT_EQ(bench_.status().children.at(0).state, ChildState::draining) << "too late";
  EXPECT_TRUE(child.take_lines().empty());
}

TEST_F(McpBackend, InitializeIsAnsweredFromTheHandshake) {
  const std::string request =
      R"({"jsonrpc":"2.0","method":"initialize","params":{},"id":"\u0041"})";
  const std::string expected =
      R"({"jsonrpc":"2.0","id":"\u0041","result":)" + std::string(kServer) + "}";
  bench_.send(client_, request);
  EXPECT_TRUE(client_.answers.empty()) << "no child is ready";
  FakeChild& child = get_ready();
  EXPECT_EQ(client_.texts(), std::vector<std::string>{expected});
  EXPECT_TRUE(child.take_lines().empty());
  bench_.send(client_, request);
  EXPECT_EQ(client_.texts().at(1), expected);
  EXPECT_EQ(bench_.send(client_, std::string(kInitialized)), backend::Admission::delivered);
  EXPECT_TRUE(child.take_lines().empty()) << "the child has had its handshake";
  const auto& record = bench_.observer.records.at(1);
  EXPECT_EQ(record.method, "initialize");
  EXPECT_EQ(record.outcome, "ok");
  EXPECT_EQ(record.bytes_out, expected.size());
  EXPECT_FALSE(record.reached_child);
}

TEST_F(McpBackend, InitializeFromWithinABatchOfAnswers) {
  FakeChild& child = get_ready();
  for (session::Tag tag = 1; tag <= 3; ++tag) bench_.call(client_, std::to_string(tag), tag);
  const auto ids = child.take_ids();
  client_.after_reply = [this](const FakeClient::Answer& answer) {
    if (answer.tag != 1) return;
    bench_.send(client_, R"({"jsonrpc":"2.0","id":"i","method":"initialize"})", 9);
  };
  std::string batch = "[";
  for (const std::string& id : ids) {
    batch += (id == ids[0] ? "" : ",") + (R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":1})");
  }
  child.say(batch + "]");
  const std::vector<std::string> expected = {
      R"({"jsonrpc":"2.0","id":1,"result":1})",
      R"({"jsonrpc":"2.0","id":"i","result":)" + std::string(kServer) + "}",
      R"({"jsonrpc":"2.0","id":2,"result":1})", R"({"jsonrpc":"2.0","id":3,"result":1})"};
  EXPECT_EQ(client_.texts(), expected);
}

TEST_F(McpBackend, ManyInitializesBeforeTheChildIsReady) {
  // Each answer makes the client send another message while the queue is served.
  for (session::Tag tag = 0; tag < 20; ++tag) {
    bench_.send(client_, R"({"jsonrpc":"2.0","id":1,"method":"initialize"})", tag);
  }
  client_.after_reply = [this](const FakeClient::Answer& answer) {
    if (answer.tag < 20) bench_.call(client_, "2", answer.tag + 20);
  };
  FakeChild& child = bench_.start_child();
  child.answer(child.take_ids().at(0), std::string(kServer));
  EXPECT_EQ(client_.answers.size(), 20U);
  EXPECT_EQ(child.take_ids().size(), 20U);
}

TEST(McpReentry, AWithdrawalMayStartManyChildren) {
  backend::BackendOptions options = one_child();
  options.config.pool.max = 16;
  options.config.pool.max_in_flight = 1;
  BackendBench bench(options, std::make_unique<mcp::McpDialect>("1"));
  FakeClient leaver(bench.callers);
  FakeClient client(bench.callers);
  FakeChild& child = bench.start_child();
  child.answer(child.take_ids().at(0), std::string(kServer));
  bench.call(leaver);
  bench.send(client, R"({"jsonrpc":"2.0","id":1,"method":"initialize"})", 1);
  client.after_reply = [&](const FakeClient::Answer& answer) {
    for (session::Tag tag = 2; answer.tag == 1 && tag < 12; ++tag) bench.call(client, "2", tag);
  };
  // The free place lets the gateway answer the initialize, and this answer causes calls for ten
  // children.
  bench.leave(leaver);
  EXPECT_EQ(client.answers.size(), 1U);
  EXPECT_EQ(bench.launcher.launched(), 10U);
  EXPECT_EQ(bench.backend.calls(), 10U);
}

TEST_F(McpBackend, NobodyOvertakesTheQueue) {
  bench_.send(client_, R"({"jsonrpc":"2.0","id":"i","method":"initialize"})", 1);
  bench_.send(client_, R"({"jsonrpc":"2.0","id":1,"method":"first"})", 2);
  client_.after_reply = [this](const FakeClient::Answer& answer) {
    if (answer.tag == 1) bench_.send(client_, R"({"jsonrpc":"2.0","id":1,"method":"second"})", 3);
  };
  const auto lines = get_ready().take_lines();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_NE(lines[0].find("first"), std::string::npos);
  EXPECT_NE(lines[1].find("second"), std::string::npos);
}

TEST_F(McpBackend, ThePingOfAChildIsAnswered) {
  FakeChild& starting = bench_.start_child();
  const auto greeting = starting.take_ids();
  starting.say(R"({"jsonrpc":"2.0","id":"p","method":"ping"})");
  starting.say(R"({"jsonrpc":"2.0","id":)" + greeting[0] + R"(,"method":"roots/list"})");
  const std::vector<std::string> expected = {
      R"({"jsonrpc":"2.0","id":"p","result":{}})",
      R"({"jsonrpc":"2.0","id":)" + greeting[0] +
          R"(,"error":{"code":-32601,"message":"no client here takes requests"}})"};
  EXPECT_EQ(starting.take_lines(), expected);
  EXPECT_EQ(bench_.status().children.at(0).state, ChildState::starting);
}

TEST_F(McpBackend, IdAndTokenAreSplicedInEitherOrder) {
  FakeChild& child = get_ready();
  const std::string meta = R"("params":{"x":1.0,"_meta":{"progress\u0054oken":)";
  struct Case {
    std::string head;
    std::string middle;
    std::string tail;
    bool id_first;
  };
  const std::vector<Case> cases = {
      {R"({"jsonrpc":"2.0","id":)", R"(,"method":"tools/call",)" + meta, "}}}", true},
      {R"({"method":"tools/call",)" + meta, R"( , "y":2}},"id": )", R"( ,"jsonrpc":"2.0"})", false},
  };
  for (const Case& c : cases) {
    bench_.send(client_, c.head + (c.id_first ? "\"ID\"" : "\"TOKEN\"") + c.middle +
                             (c.id_first ? "\"TOKEN\"" : "\"ID\"") + c.tail);
    const auto lines = child.take_lines();
    ASSERT_EQ(lines.size(), 1U);
    const size_t digits = (lines[0].size() - c.head.size() - c.middle.size() - c.tail.size()) / 2;
    const std::string number = lines[0].substr(c.head.size(), digits);
    EXPECT_TRUE(rpc::parse_wire_id(number).has_value());
    EXPECT_EQ(lines[0], c.head + number + c.middle + number + c.tail);
  }
}

TEST_F(McpBackend, ProgressFindsTheCallThatSetTheToken) {
  FakeChild& child = get_ready();
  FakeClient other(bench_.callers);
  FakeClient deaf(bench_.callers);
  const auto call = [](const std::string& token) {
    return R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":)" +
           token + "}}}";
  };
  bench_.send(client_, call("\"t\""), 1, true);
  bench_.send(other, call("1.50"), 2, true);
  bench_.send(deaf, call("\"t\""), 3, false);
  bench_.send(deaf, R"({"jsonrpc":"2.0","id":1,"method":"tools/call"})", 4, true);
  const auto ids = child.take_ids();
  const auto progress = [](const std::string& token) {
    return R"({"jsonrpc":"2.0","params":{"progress":0.10, "progressToken" : )" + token +
           R"( },"method":"notifications/progress"})";
  };
  for (const std::string& id : ids) child.say(progress(id));
  for (const char* token : {"\"t\"", "1.50", "2000000000", "null"}) child.say(progress(token));
  const std::vector<std::pair<session::Tag, std::string>> to_client = {{1, progress("\"t\"")}};
  const std::vector<std::pair<session::Tag, std::string>> to_other = {{2, progress("1.50")}};
  EXPECT_EQ(client_.events, to_client);
  EXPECT_EQ(other.events, to_other);
  EXPECT_TRUE(deaf.events.empty());
  EXPECT_EQ(bench_.observer.dropped[DropReason::no_listener], 6);

  child.answer(ids[0]);
  child.say(progress(ids[0]));
  EXPECT_EQ(client_.events, to_client) << "not after its answer";
}

TEST_F(McpBackend, AWrongTokenIsAnInvalidRequest) {
  FakeChild& child = get_ready();
  for (const char* meta : {R"({"progressToken":{}})", R"({"progressToken":1,"progressToken":2})"}) {
    client_.answers.clear();
    bench_.send(client_, std::string(R"({"jsonrpc":"2.0","id":8,"method":"m","params":{"_meta":)") +
                             meta + "}}");
    EXPECT_EQ(client_.answers.at(0).fault, rpc::Fault::invalid_request);
    EXPECT_EQ(client_.answers[0].text.find(R"({"jsonrpc":"2.0","id":8,)"), 0U);
  }
  EXPECT_TRUE(child.take_lines().empty());
  EXPECT_EQ(bench_.backend.calls(), 0U);
}

TEST_F(McpBackend, CancelsNameTheWireId) {
  FakeChild& child = get_ready();
  bench_.call(client_, "1");
  bench_.call(client_, "2");
  bench_.call(client_, "3");
  const auto ids = child.take_ids();
  const auto cancel = [](const std::string& id, const std::string& reason) {
    return R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" + id +
           R"(,"reason":")" + reason + "\"}}";
  };
  bench_.send(client_, cancel("2", "never mind"));
  EXPECT_EQ(child.take_lines(),
            std::vector<std::string>{cancel(ids[1], "cancelled by the client")});
  child.answer(ids[1]);
  bench_.advance(seconds(10));
  const std::vector<std::string> expected = {cancel(ids[0], "deadline exceeded"),
                                             cancel(ids[2], "deadline exceeded")};
  EXPECT_EQ(child.take_lines(), expected);
  EXPECT_NE(client_.texts().back().find("-31504"), std::string::npos);
  bench_.call(client_, "4");
  const auto last = child.take_ids();
  bench_.leave(client_);
  EXPECT_EQ(child.take_lines(), std::vector<std::string>{cancel(last[0], "the client has left")});
}

TEST_F(McpBackend, AToolsErrorHasItsOwnOutcome) {
  FakeChild& child = get_ready();
  bench_.send(client_, R"({"jsonrpc":"2.0","id":1,"method":"tools/call"})");
  child.answer(child.take_ids().at(0), R"({"content":[],"isError":true})");
  EXPECT_EQ(bench_.observer.records.at(0).outcome, "tool_error");
  EXPECT_FALSE(client_.answers.at(0).fault.has_value());
}

std::string tool_call(const std::string& name) {
  return R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":")" + name + R"("}})";
}

TEST_F(McpBackend, AToolGetsItsNameWhenAChildHasRunIt) {
  FakeChild& child = get_ready();
  const std::vector<std::string> other = {"_other"};
  const auto& records = bench_.observer.records;
  const auto call = [&](const std::string& spelled, const std::string& answer) {
    bench_.send(client_, tool_call(spelled));
    child.say(R"({"jsonrpc":"2.0","id":)" + child.take_ids().at(0) + "," + answer + "}");
  };
  call("invented", R"("error":{"code":-32602,"message":"unknown tool"})");
  EXPECT_EQ(records.back().tool, kOtherTool);
  EXPECT_EQ(records.back().tool_name, "invented");
  EXPECT_EQ(bench_.observer.tools, other);
  call(R"(\u0065cho)", R"("result":{})");
  EXPECT_EQ(records.back().tool, ToolId{1});
  EXPECT_EQ(records.back().tool_name, "echo");
  call("echo", R"("error":{"code":1,"message":"e"})");
  EXPECT_EQ(records.back().tool, ToolId{1}) << "it has a name whatever becomes of it later";
  call("fails", R"("result":{"isError":true})");
  EXPECT_EQ(records.back().tool, ToolId{2});
  const std::vector<std::string> all = {"_other", "echo", "fails"};
  EXPECT_EQ(bench_.observer.tools, all);
  bench_.call(client_);
  child.answer(child.take_ids().at(0));
  EXPECT_FALSE(records.back().tool.has_value());
  EXPECT_EQ(records.back().tool_name, "");
}

TEST_F(McpBackend, AToolsCallThatNobodyAnswersIsStillItsOwn) {
  FakeChild& child = get_ready();
  bench_.send(client_, tool_call("slow"));
  bench_.advance(seconds(10));
  const auto& record = bench_.observer.records.at(0);
  EXPECT_EQ(record.outcome, "timeout");
  EXPECT_EQ(record.tool, kOtherTool);
  EXPECT_EQ(record.tool_name, "slow");
  child.take_lines();
}

TEST(McpTools, TheirNamesAreBounded) {
  backend::BackendOptions options = one_child();
  options.method_names = 2;
  BackendBench bench(options, std::make_unique<mcp::McpDialect>("1"));
  FakeClient client(bench.callers);
  FakeChild& child = bench.start_child();
  child.answer(child.take_ids().at(0), std::string(kServer));
  const std::string too_long(call::NameTable::kMaxName + 1, 'x');
  for (const std::string& name : {too_long, std::string("a"), std::string("b"), std::string("c")}) {
    bench.send(client, tool_call(name));
    child.answer(child.take_ids().at(0));
    EXPECT_EQ(bench.observer.records.back().tool_name, name);
  }
  const std::vector<std::string> expected = {"_other", "a", "b"};
  EXPECT_EQ(bench.observer.tools, expected);
}

TEST_F(McpBackend, KnownMethodsHaveTheirPlacesFromTheStart) {
  const auto& methods = bench_.observer.methods;
  EXPECT_EQ(methods.at(0), "_other");
  for (const char* name : {"tools/call", "tools/list", "initialize", "notifications/progress"}) {
    EXPECT_NE(std::find(methods.begin(), methods.end(), name), methods.end()) << name;
  }
}

}  // namespace
}  // namespace stdgate::test

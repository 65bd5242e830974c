// Sessions at modern children that ask questions first: what the client is asked, what the child
// receives, and what ends a call meanwhile.

#include <gmock/gmock.h>

#include "gateway/mcp/bridge/input_rounds.h"
#include "tests/support/rpc_texts.h"
#include "tests/unit/mcp/modern_bench.h"

namespace stdgate::test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kRoundAsk =
    R"({"method":"elicitation/create","params":{"message":"who?","requestedSchema":{}}})";

std::string input_required(const std::string& requests, const std::string& state = "\"s1\"") {
  std::string text = R"({"resultType":"input_required")";
  if (!requests.empty()) text += R"(,"inputRequests":{)" + requests + "}";
  if (!state.empty()) text += R"(,"requestState":)" + state;
  return text + "}";
}

// The id of a request of the gateway.
std::string id_of(const std::string& text) { return std::string(ParsedText(text).envelope.id); }

std::string one_ask() { return input_required("\"name\":" + std::string(kRoundAsk)); }

std::string gave_up(const std::string& what) {
  return R"({"jsonrpc":"2.0","id":"x","error":{"code":-31504,"message":"stdgate gave up: )" + what +
         "\"}}";
}

class McpInputRounds : public testing::Test {
 public:
  McpInputRounds() {
    greet(R"({"elicitation":{},"sampling":{},"roots":{"listChanged":true}})");
    call();
  }
  void greet(const std::string& capabilities) {
    session.request("initialize", R"({"protocolVersion":"2025-11-25","capabilities":)" +
                                      capabilities +
                                      R"(,"clientInfo":{"name":"c","version":"2"}})");
    session.take();
  }
  // Makes the session call a tool. The request at the child is kept in `line` and `asked`.
  void call() {
    session.request("tools/call", R"({"name":"t","_meta":{"progressToken":"p"}})", "\"x\"");
    line = child.take_line();
    asked = parse_asked(line);
  }
  // Sends the child's answer. Returns the messages to the session.
  Texts answer(const std::string& result) {
    child.answer(asked.id, result);
    return session.take();
  }
  // Lets the child ask a single question. Returns the id of the question.
  std::string ask(const std::string& result = one_ask()) {
    const Texts told = answer(result);
    return told.size() == 1 ? id_of(told[0]) : "none";
  }
  // Sends the client's answer to the question with this id.
  void reply(const std::string& member, const std::string& id) {
    session.send(R"({"jsonrpc":"2.0","id":)" + id + "," + member + "}");
  }
  static std::string ended(const std::string& why) {
    return R"({"jsonrpc":"2.0","id":"x","error":{"code":-32603,"message":")" + why + "\"}}";
  }

  ModernBench bench{config::Revision::modern, config::Isolation::shared};
  FakeChild& child = bench.begin(0, kDiscovery);
  SharedClient session{bench};
  std::string line;
  Asked asked;
};

TEST_F(McpInputRounds, TheChildIsToldWhoCalls) {
  EXPECT_THAT(line, HasSubstr(R"("io.modelcontextprotocol/clientInfo":{"name":"c","version":"2"},)"
                              R"("io.modelcontextprotocol/clientCapabilities":)"
                              R"({"sampling":{},"elicitation":{},"roots":{}},)"
                              R"("io.modelcontextprotocol/logLevel":"info","progressToken":)"));
  session.request("logging/setLevel", R"({"level":"debug"})", "2");
  EXPECT_EQ(session.take(), Texts{empty_result("2")});
  call();
  EXPECT_THAT(line, HasSubstr(R"("io.modelcontextprotocol/logLevel":"debug")"));
  session.request("logging/setLevel", R"({"level":"error"})", "2");
  call();
  EXPECT_THAT(line, HasSubstr(R"("io.modelcontextprotocol/logLevel":"error")"));
  EXPECT_THAT(line, Not(HasSubstr("debug")));
}

TEST_F(McpInputRounds, TheClientIsAskedAndTheCallGoesOn) {
  const Texts told = answer(one_ask());
  ASSERT_EQ(told.size(), 1U);
  const std::string id = id_of(told[0]);
  EXPECT_EQ(told[0], R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":"elicitation/create",)" +
                         R"("params":{"message":"who?","requestedSchema":{}}})");
  EXPECT_TRUE(child.take_lines().empty());
  EXPECT_EQ(bench.observer.parked_calls, 1);
  reply(R"("result":{"action":"accept","content":{"name":"ada"}})", id);
  EXPECT_EQ(bench.observer.parked_ends[ParkedEnd::resumed], 1);
  const std::string again = child.take_line();
  const Asked second = parse_asked(again);
  EXPECT_NE(second.id, asked.id);
  EXPECT_THAT(again, HasSubstr(R"("name":"t",)"));
  EXPECT_THAT(again, HasSubstr(R"("progressToken":)" + second.id));
  EXPECT_THAT(again, HasSubstr(R"("inputResponses":{"name":{"action":"accept",)"
                               R"("content":{"name":"ada"}}},"requestState":"s1"})"));
  child.say(note("progress", R"({"progressToken":)" + second.id + R"(,"progress":1})"));
  EXPECT_EQ(session.take(), Texts{note("progress", R"({"progressToken":"p","progress":1})")});
  asked = second;
  EXPECT_EQ(answer(R"({"content":[]})"),
            Texts{R"({"jsonrpc":"2.0","id":"x","result":{"content":[]}})"});
  EXPECT_EQ(bench.backend.calls(), 0U);
}

TEST_F(McpInputRounds, SeveralQuestionsAreAnsweredTogether) {
  const Texts questions = answer(input_required(
      R"("a":{"method":"roots/list"},"b\"":{"method":"sampling/createMessage","params":{"messages":[]}})",
      ""));
  ASSERT_EQ(questions.size(), 2U);
  EXPECT_THAT(questions[0], HasSubstr(R"(,"method":"roots/list"})"));
  reply(R"("result":{"model":"m"})", id_of(questions[1]));
  EXPECT_TRUE(child.take_lines().empty());
  reply(R"("result":{"roots":[]})", id_of(questions[0]));
  EXPECT_THAT(child.take_line(),
              HasSubstr(R"("inputResponses":{"b\"":{"model":"m"},"a":{"roots":[]}}})"));
}

// A state without questions asks the gateway to send the call again.
TEST_F(McpInputRounds, AStateAloneIsGivenBackAtOnce) {
  EXPECT_TRUE(answer(input_required("")).empty());
  const std::string again = child.take_line();
  EXPECT_THAT(again, HasSubstr(R"("requestState":"s1"})"));
  EXPECT_THAT(again, Not(HasSubstr("inputResponses")));
}

// A retry has the answers and the state of the last round only.
TEST_F(McpInputRounds, RoundsFollowEachOther) {
  for (int round = 1; round <= mcp::InputRounds::kMaxRounds; ++round) {
    const std::string state = "\"r" + std::to_string(round) + "\"";
    reply(R"("result":{"action":"decline"})",
          ask(input_required("\"k\":" + std::string(kRoundAsk), state)));
    line = child.take_line();
    asked = parse_asked(line);
    EXPECT_THAT(line, HasSubstr(R"("inputResponses":{"k":{"action":"decline"}},"requestState":)" +
                                state + "}"));
  }
  EXPECT_EQ(answer(one_ask()), Texts{ended("the server wants to know more and more")});
  EXPECT_EQ(bench.backend.calls(), 0U);
}

TEST_F(McpInputRounds, HostileAnswersEndTheCall) {
  std::string many;
  for (size_t i = 0; i <= mcp::InputRounds::kMaxQuestions; ++i) {
    many.append(i == 0 ? "\"" : ",\"").append(std::to_string(i)).append("\":").append(kRoundAsk);
  }
  const std::string undeclared = "the server asks for what the client has not declared";
  const std::string malformed = "the server has answered input_required without a question";
  const std::pair<std::string, std::string> cases[] = {
      {input_required("", ""), malformed},
      {R"({"resultType":"input_required","inputRequests":[]})", malformed},
      {input_required(R"("a":1)"), malformed},
      {input_required(R"("a":{"method":1})"), malformed},
      {input_required(R"("a":{"method":"roots/list","params":[]})"), malformed},
      {input_required(R"("a":{"method":")" + std::string(1025, 'm') + "\"}"), undeclared},
      {input_required("\"a\":" + std::string(kRoundAsk), "7"), malformed},
      {input_required(many), "the server wants to know too much at once"},
      {input_required(R"("a":{"method":"tools/call","params":{}})"), undeclared},
      {input_required(R"("a":{"method":")" + std::string(2000, 'm') + "\"}"), undeclared},
      {input_required("\"n\":" + std::string(kRoundAsk) +
                      R"(,"u":{"method":"elicitation/create","params":{"mode":"url"}})"),
       undeclared},
  };
  for (const auto& [result, why] : cases) {
    EXPECT_EQ(answer(result).back(), ended(why)) << result;
    EXPECT_EQ(bench.backend.calls(), 0U);
    call();
  }
}

TEST_F(McpInputRounds, CallsThatWaitAreBounded) {
  backend::BackendOptions options =
      ModernBench::options_of(config::Revision::modern, config::Isolation::shared);
  options.config.pool.queue = 1;
  ModernBench narrow(options);
  FakeChild& server = narrow.begin(0, kDiscovery);
  SharedClient client(narrow);
  client.request("initialize", R"({"protocolVersion":"2025-11-25","capabilities":)"
                               R"({"elicitation":{}},"clientInfo":{"name":"c","version":"2"}})");
  client.take();
  for (const std::string id : {"1", "2"}) {
    client.request("tools/call", R"({"name":"t"})", id);
    server.answer(parse_asked(server.take_line()).id, one_ask());
    const Texts told = client.take();
    ASSERT_EQ(told.size(), 1U);
    EXPECT_THAT(told[0], HasSubstr(id == "1" ? "elicitation/create" : R"("id":2,"error")"));
  }
  EXPECT_EQ(narrow.backend.calls(), 1U);
}

TEST_F(McpInputRounds, WhoDeclaresNothingIsNotAsked) {
  greet("{}");
  call();
  EXPECT_THAT(line, HasSubstr(R"(clientCapabilities":{})"));
  EXPECT_EQ(answer(one_ask()).back(), ended("the server asks, and nobody can answer"));
}

TEST_F(McpInputRounds, AClientThatRefusesEndsTheCall) {
  const Texts questions =
      answer(input_required(R"("a":{"method":"roots/list"},"b":)" + std::string(kRoundAsk)));
  ASSERT_EQ(questions.size(), 2U);
  reply(R"("error":{"code":-1,"message":"no"})", id_of(questions[0]));
  const Texts told = session.take();
  ASSERT_EQ(told.size(), 2U);
  EXPECT_THAT(told[0], HasSubstr(R"("requestId":)" + id_of(questions[1])))
      << "the other question needs no answer";
  EXPECT_EQ(told[1], ended("the client has not answered what the server wants to know"));
  reply(R"("result":{})", id_of(questions[1]));
  EXPECT_TRUE(child.take_lines().empty());
  EXPECT_EQ(bench.observer.parked_ends[ParkedEnd::given_up], 1);
}

TEST_F(McpInputRounds, AClientThatCancelsIsAskedNoMore) {
  const std::string id = ask();
  session.send(note("cancelled", R"({"requestId":"x"})"));
  EXPECT_EQ(session.session().received_before_cancel.size(), 1U)
      << "the question ends on the stream of the call, before the stream ends";
  EXPECT_THAT(session.take().at(0), HasSubstr(R"("requestId":)" + id));
  EXPECT_EQ(session.cancelled().size(), 1U);
  reply(R"("result":{})", id);
  EXPECT_TRUE(child.take_lines().empty());
  EXPECT_EQ(bench.backend.calls(), 0U);
  EXPECT_EQ(bench.observer.parked_ends[ParkedEnd::given_up], 1);
}

TEST_F(McpInputRounds, AClientThatLeavesEndsItsCalls) {
  answer(one_ask());
  session.close();
  EXPECT_EQ(bench.backend.calls(), 0U);
  EXPECT_EQ(bench.observer.parked_ends[ParkedEnd::given_up], 1);
  EXPECT_TRUE(child.take_lines().empty());
}

TEST_F(McpInputRounds, AClientHasItsTime) {
  bench.advance(seconds(1));
  const std::string question = ask();
  bench.advance(minutes(5) - seconds(1));
  EXPECT_TRUE(session.take().empty()) << "the deadline of the call does not count meanwhile";
  bench.advance(seconds(1));
  const Texts told = session.take();
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0],
            R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" +
                question + R"(,"reason":"deadline exceeded"}})");
  EXPECT_EQ(told[1], gave_up("the client has not answered within 5m (timeouts.input)"));
  EXPECT_EQ(bench.observer.parked_ends[ParkedEnd::expired], 1);
}

// The client's answer is a sign of life, but all rounds of a call together are limited by its
// max_time.
TEST_F(McpInputRounds, MaxTimeBoundsAllRounds) {
  bench.advance(seconds(9));
  const std::string question = ask();
  bench.advance(minutes(4));
  reply(R"("result":{"action":"decline"})", question);
  asked = parse_asked(child.take_line());
  bench.advance(seconds(10) - Duration{1});
  EXPECT_TRUE(session.take().empty());
  for (int round = 2; round <= 10; ++round) {
    const std::string next = ask();
    bench.advance(minutes(5) - Duration{1});
    EXPECT_TRUE(session.take().empty());
    reply(R"("result":{"action":"decline"})", next);
    asked = parse_asked(child.take_line());
  }
  // By now, 49 minutes have passed.
  bench.advance(seconds(10));
  EXPECT_EQ(session.take(),
            Texts{gave_up("no answer and no sign of life for 10s (backends.fake.timeout)")});
}

TEST(McpInputRoundsOfAnHour, EndInTheMiddle) {
  backend::BackendOptions options =
      ModernBench::options_of(config::Revision::modern, config::Isolation::shared);
  options.config.max_time = minutes(7);
  ModernBench bench(options);
  FakeChild& child = bench.begin(0, kDiscovery);
  SharedClient session(bench);
  session.request("initialize", R"({"protocolVersion":"2025-11-25","capabilities":{"elicitation":)"
                                R"({}},"clientInfo":{"name":"c","version":"2"}})");
  session.take();
  session.request("tools/call", R"({"name":"t"})", "\"x\"");
  child.answer(parse_asked(child.take_line()).id, one_ask());
  const std::string question = id_of(session.take().at(0));
  bench.advance(minutes(4));
  session.send(R"({"jsonrpc":"2.0","id":)" + question + R"(,"result":{"action":"accept"}})");
  child.answer(parse_asked(child.take_line()).id, one_ask());
  EXPECT_EQ(session.take().size(), 1U);
  bench.advance(minutes(3) - Duration{1});
  EXPECT_TRUE(session.take().empty());
  bench.advance(Duration{1});
  const Texts told = session.take();
  ASSERT_EQ(told.size(), 2U) << "the question is taken back";
  EXPECT_EQ(told[1], gave_up("no answer within 7m (backends.fake.max_time)"));
}

// Without a state the child keeps nothing, so another child can continue.
TEST_F(McpInputRounds, TheChildMayDieMeanwhile) {
  const std::string id = ask(input_required("\"name\":" + std::string(kRoundAsk), ""));
  child.exit(1);
  bench.advance(seconds(10));
  FakeChild& next = bench.begin(1, kDiscovery);
  EXPECT_TRUE(session.take().empty());
  reply(R"("result":{"action":"accept"})", id);
  const Asked again = parse_asked(next.take_line());
  EXPECT_EQ(again.method, "tools/call");
  next.answer(again.id, "{}");
  EXPECT_EQ(session.take(), Texts{R"({"jsonrpc":"2.0","id":"x","result":{}})"});
}

TEST_F(McpInputRounds, WithTheChildItsStateIsLost) {
  const std::string id = ask();
  child.exit(1);
  bench.advance(seconds(10));
  FakeChild& next = bench.begin(1, kDiscovery);
  reply(R"("result":{"action":"accept"})", id);
  EXPECT_TRUE(next.take_lines().empty()) << "it would not know the state";
  const Texts told = session.take();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_THAT(told[0], HasSubstr("the child that has asked has ended"));
  EXPECT_EQ(bench.backend.calls(), 0U);
}

TEST_F(McpInputRounds, ADrainEndsThem) {
  answer(one_ask());
  bench.backend.drain();
  const Texts told = session.take();
  ASSERT_EQ(told.size(), 2U);
  EXPECT_THAT(told[1], HasSubstr("-31503"));
  EXPECT_EQ(bench.backend.calls(), 0U);
  EXPECT_EQ(bench.observer.parked_ends[ParkedEnd::stopped], 1);
}

// For a method that may not ask, the gateway keeps nothing.
TEST_F(McpInputRounds, OtherMethodsPassAsTheyAre) {
  session.request("tools/list", "{}", "\"l\"");
  asked = parse_asked(child.take_line());
  EXPECT_EQ(answer(one_ask()).back(),
            R"({"jsonrpc":"2.0","id":"l","error":{"code":-32603,"message":)"
            R"("the server asks, and nobody can answer"}})");
}

}  // namespace
}  // namespace stdgate::test

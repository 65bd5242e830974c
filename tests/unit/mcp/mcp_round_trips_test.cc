// Modern clients at legacy children that ask: the round trips, what ends them, and which client may
// continue them.

#include <regex>

#include "tests/unit/mcp/trip_bench.h"

namespace stdgate::test {
namespace {

class McpRoundTrips : public RoundTripsTest {};

INSTANTIATE_TEST_SUITE_P(Isolations, McpRoundTrips,
                         testing::Values(config::Isolation::shared, config::Isolation::session));

TEST_P(McpRoundTrips, TheChildIsToldOfTheTrace) {
  config::TracesConfig traces;
  traces.sample = 1;
  bench.services.traces = &traces;
  called();
  bench.child(0).answer(call_id, R"({"content":[]})");
  ASSERT_EQ(bench.observer.records.size(), 1U);
  const auto& record = bench.observer.records[0];
  EXPECT_THAT(call_line, HasSubstr("\"traceparent\":\"" +
                                   std::string(TraceParentText(record.trace, record.span).view())));
}

TEST_P(McpRoundTrips, TheChildIsGreetedWithWhatTheClientDeclares) {
  bench.call(client, "1", "",
             R"({"elicitation":{"url":{}},"sampling":{},"extensions":{"a/b":{}}})");
  const std::string greeting = bench.greet(0);
  EXPECT_THAT(greeting, HasSubstr(R"("capabilities":{"sampling":{},"elicitation":{"url":{}}})"));
  const std::string line = bench.child(0).take_line();
  EXPECT_EQ(parse_asked(line).method, "tools/call");
  bench.child(0).answer(parse_asked(line).id, R"({"content":[]})");
  EXPECT_EQ(client.texts(),
            Texts{R"({"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}})"});
}

TEST_P(McpRoundTrips, WhatTheChildAsksEndsTheRequest) {
  FakeChild& child = called();
  child.say(kAsk);
  bench.advance(kGather - milliseconds(1));
  EXPECT_TRUE(client.answers.empty()) << "more may follow";
  bench.settle();
  ASSERT_EQ(client.answers.size(), 1U);
  const Needed asked = needed_of(client.texts()[0]);
  EXPECT_EQ(asked.request, R"({"method":"elicitation/create","params":{"message":"who?",)"
                           R"("requestedSchema":{"type":"object","properties":{}}}})");
  EXPECT_FALSE(asked.state.empty());
  EXPECT_TRUE(child.take_lines().empty());
  EXPECT_EQ(bench.status().parked_calls, 1U);
  EXPECT_EQ(bench.status().sessions, 0U);
}

TEST_P(McpRoundTrips, QuestionsOneAfterTheOtherAreOfOneRound) {
  FakeChild& child = called();
  const auto ask = [&child](const std::string& id) {
    std::string text = kAsk;
    child.say(text.replace(text.find("\"id\":7"), 6, "\"id\":" + id));
  };
  ask("7");
  bench.advance(kGather - milliseconds(1));
  ask("8");
  EXPECT_TRUE(client.answers.empty());
  bench.advance(milliseconds(1));
  ASSERT_EQ(client.answers.size(), 1U) << "later ones do not delay the round";
  ask("9");
  bench.settle();
  const std::string round = client.texts()[0];
  const std::regex keys_of_inputs("\"(input-[0-9]+)\":");
  std::string answers;
  size_t keys = 0;
  for (std::sregex_iterator at(round.begin(), round.end(), keys_of_inputs), end; at != end; ++at) {
    answers.append(answers.empty() ? "" : ",")
        .append("\"")
        .append((*at)[1])
        .append(R"(":{"action":"decline"})");
    ++keys;
  }
  EXPECT_EQ(keys, 2U);
  bench.call(client, "2",
             ",\"inputResponses\":{" + answers + "}" + with_state(needed_of(round).state));
  EXPECT_EQ(child.take_lines().size(), 2U) << "the answers";
  bench.settle();
  ASSERT_EQ(client.answers.size(), 2U) << "the third question is of another round";
  EXPECT_THAT(client.texts()[1], HasSubstr("input_required"));
}

TEST_P(McpRoundTrips, TheRetryGoesOnWithTheCall) {
  FakeChild& child = parked();
  bench.call(client, "\"two\"", with_answer(needed));
  EXPECT_EQ(child.take_lines(),
            Texts{R"({"jsonrpc":"2.0","id":7,"result":{"action":"accept","content":{"n":1}}})"});
  EXPECT_EQ(client.answers.size(), 1U);
  child.answer(call_id, R"({"content":[1]})");
  ASSERT_EQ(client.answers.size(), 2U);
  EXPECT_EQ(client.texts()[1],
            R"({"jsonrpc":"2.0","id":"two","result":{"resultType":"complete","content":[1]}})");
  EXPECT_EQ(bench.status().parked_calls, 0U);
  EXPECT_EQ(bench.observer.parked_ends[ParkedEnd::resumed], 1);
}

TEST_P(McpRoundTrips, SeveralQuestionsOfATurnAreAskedTogether) {
  FakeChild& child = called(R"({"elicitation":{},"sampling":{}})");
  child.say(kAsk);
  child.say(
      R"({"jsonrpc":"2.0","id":8,"method":"sampling/createMessage","params":{"maxTokens":1}})");
  bench.settle();
  ASSERT_EQ(client.answers.size(), 1U);
  EXPECT_THAT(client.texts()[0], HasSubstr("elicitation/create"));
  EXPECT_THAT(client.texts()[0],
              HasSubstr(R"({"method":"sampling/createMessage","params":{"maxTokens":1}})"));
}

TEST_P(McpRoundTrips, MissingAnswersAreAskedForAgain) {
  FakeChild& child = parked();
  bench.call(client, "2", R"(,"inputResponses":{"other":{}})" + with_state(needed.state));
  EXPECT_TRUE(child.take_lines().empty());
  bench.settle();
  ASSERT_EQ(client.answers.size(), 2U);
  const Needed again = needed_of(client.texts()[1]);
  EXPECT_EQ(again.key, needed.key);
  EXPECT_NE(again.state, needed.state);
  bench.call(client, "3", with_answer(again));
  EXPECT_EQ(child.take_lines().size(), 1U);
}

TEST_P(McpRoundTrips, LaterQuestionsParkItAgain) {
  FakeChild& child = parked();
  bench.call(client, "2", with_answer(needed));
  child.take_lines();
  child.say(
      R"({"jsonrpc":"2.0","id":"b","method":"elicitation/create","params":{"message":"why?"}})");
  bench.settle();
  const Needed again = needed_of(client.texts().at(1));
  bench.call(client, "3", with_answer(again, R"({"action":"decline"})"));
  EXPECT_EQ(child.take_lines(),
            Texts{R"({"jsonrpc":"2.0","id":"b","result":{"action":"decline"}})"});
  child.answer(call_id, "{}");
  EXPECT_THAT(client.texts().at(2), HasSubstr(R"("id":3,"result")"));
}

TEST_P(McpRoundTrips, ProgressComesUnderTheTokenOfTheRetry) {
  const auto with_token = [](const std::string& token) {
    return meta(kElicits, R"(,"progressToken":)" + token);
  };
  bench.send_modern(client, request("1", "tools/call", R"("name":"t")", with_token("\"a\"")));
  bench.greet(0);
  FakeChild& child = bench.child(0);
  const std::string line = child.take_line();
  call_id = parse_asked(line).id;
  EXPECT_THAT(line, HasSubstr(R"("progressToken":)" + call_id));
  const std::string step = note("progress", R"({"progressToken":)" + call_id + R"(,"progress":1})");
  child.say(step);
  EXPECT_EQ(events_of(client), Texts{note("progress", R"({"progressToken":"a","progress":1})")});
  client.events.clear();
  child.say(kAsk);
  bench.settle();
  child.say(step);
  EXPECT_TRUE(client.events.empty()) << "nobody waits now";
  needed = needed_of(client.texts().at(0));
  bench.send_modern(
      client, request("2", "tools/call", R"("name":"t")" + with_answer(needed), with_token("5")));
  child.say(step);
  EXPECT_EQ(events_of(client), Texts{note("progress", R"({"progressToken":5,"progress":1})")});
}

// These tests need the next call to reach the same process.
class SharedRoundTrips : public McpRoundTrips {};
INSTANTIATE_TEST_SUITE_P(Isolations, SharedRoundTrips, testing::Values(config::Isolation::shared));

// The child sees ids of the gateway as tokens, and never the tokens of clients.
TEST_P(SharedRoundTrips, LateProgressReachesNoOtherCallByItsToken) {
  const auto call = [this](const std::string& id, const std::string& token) {
    bench.send_modern(client, request(id, "tools/call", R"("name":"t")",
                                      meta(kElicits, R"(,"progressToken":)" + token)));
    bench.settle();
  };
  call("1", "\"a\"");
  bench.greet(0);
  FakeChild& child = bench.child(0);
  const std::string first = child.take_ids().at(0);
  child.answer(first, "{}");
  bench.settle();
  bench.advance(std::chrono::milliseconds(100));  // now the process may serve the next call
  call("2", first);
  const std::string second = child.take_ids().at(0);
  ASSERT_NE(second, first);
  child.say(note("progress", R"({"progressToken":)" + first + R"(,"progress":1})"));
  EXPECT_EQ(events_of(client), Texts{});
  child.say(note("progress", R"({"progressToken":)" + second + R"(,"progress":1})"));
  EXPECT_THAT(events_of(client), SizeIs(1));
}

TEST_P(McpRoundTrips, ARetryWithoutATokenHearsOfNoProgress) {
  bench.send_modern(client, request("1", "tools/call", R"("name":"t")",
                                    meta(kElicits, R"(,"progressToken":"a")")));
  bench.greet(0);
  FakeChild& child = bench.child(0);
  const std::string id = child.take_ids().at(0);
  child.say(kAsk);
  bench.settle();
  needed = needed_of(client.texts().at(0));
  bench.call(client, "2", with_answer(needed));
  child.say(note("progress", R"({"progressToken":)" + id + R"(,"progress":1})"));
  EXPECT_EQ(events_of(client), Texts{});
}

TEST_P(McpRoundTrips, LogMessagesNeedALevel) {
  const auto log = [](const std::string& level) {
    return note("message", R"({"level":")" + level + R"(","data":1})");
  };
  bench.send_modern(client,
                    request("1", "tools/call", R"("name":"t")",
                            meta(kElicits, R"(,"io.modelcontextprotocol/logLevel":"error")")));
  bench.greet(0);
  bench.child(0).answer(bench.child(0).take_ids().at(0), "{}");  // to logging/setLevel
  bench.child(0).say(log("info"));
  bench.child(0).say(log("alert"));
  bench.child(0).say(note("tools/list_changed", "{}"));
  EXPECT_EQ(events_of(client), Texts{log("alert")});
}

// The gateway's own requests must not hide which call a message belongs to.
TEST_P(McpRoundTrips, LogMessagesNeedNotWaitForTheAnswerToTheLevel) {
  bench.send_modern(client,
                    request("1", "tools/call", R"("name":"t")",
                            meta(kElicits, R"(,"io.modelcontextprotocol/logLevel":"info")")));
  bench.greet(0);
  const Texts lines = bench.child(0).take_lines();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(parse_asked(lines[0]).method, "logging/setLevel");
  EXPECT_EQ(parse_asked(lines[1]).method, "tools/call");
  const std::string begun = note("message", R"({"level":"info","data":"begun"})");
  bench.child(0).say(begun);
  EXPECT_EQ(events_of(client), Texts{begun});
}

// The child is told the level before it receives the call, and serves no call with another level.
TEST_P(McpRoundTrips, TheChildIsToldTheLevel) {
  const auto call_with = [&](FakeClient& caller, const std::string& level) {
    bench.send_modern(caller, request("1", "tools/call", R"("name":"t")", meta(kElicits, level)));
  };
  const std::string debug = R"(,"io.modelcontextprotocol/logLevel":"debug")";
  call_with(client, debug);
  bench.greet(0);
  const std::string line = bench.child(0).take_line();
  EXPECT_THAT(line, HasSubstr(R"("method":"logging/setLevel","params":{"level":"debug"})"));
  bench.child(0).answer(parse_asked(line).id, "{}");
  const Asked call = parse_asked(bench.child(0).take_line());
  EXPECT_EQ(call.method, "tools/call");
  bench.child(0).answer(call.id, "{}");
  bench.settle();
  call_with(other, "");
  bench.greet(1);
  EXPECT_EQ(parse_asked(bench.child(1).take_line()).method, "tools/call");
}

// --- Attacks on the state

TEST_P(McpRoundTrips, AStateIsForOneRequestOfOneClientOnce) {
  const policy::Principal ada = named("ada");
  const policy::Principal eve = named("eve");
  bench.call(client, "1", "", kElicits, &ada);
  bench.greet(0);
  FakeChild& child = bench.child(0);
  call_id = child.take_ids().at(0);
  child.say(kAsk);
  bench.settle();
  needed = needed_of(client.texts().at(0));
  const auto refused = [&](const std::string& more, const policy::Principal* who) {
    other.answers.clear();
    bench.call(other, "9", more, kElicits, who);
    EXPECT_TRUE(child.take_lines().empty()) << more;
    return other.texts().size() == 1 ? error_of(other.texts()[0]) : "";
  };
  const std::string expected = R"("error":{"code":-32602,"message":"requestState is not valid"}})";
  EXPECT_EQ(refused(with_answer(needed), &eve), expected) << "another principal";
  EXPECT_EQ(refused(with_answer(needed), nullptr), expected) << "nobody";
  EXPECT_EQ(refused(R"(,"arguments":{"a":1})" + with_answer(needed), &ada), expected)
      << "another request";
  EXPECT_EQ(refused(with_state("state-99"), &ada), expected) << "an invented one";
  EXPECT_EQ(refused(R"(,"requestState":"")", &ada), expected);
  EXPECT_THAT(refused(R"(,"requestState":5)", &ada), HasSubstr("-32602"));
  EXPECT_THAT(refused(R"(,"inputResponses":[])" + with_state(needed.state), &ada),
              HasSubstr("-32602"));
  EXPECT_EQ(bench.status().parked_calls, 1U) << "nothing of it has used it up";
  bench.call(client, "2", with_answer(needed), kElicits, &ada);
  EXPECT_EQ(child.take_lines().size(), 1U);
  EXPECT_EQ(refused(with_answer(needed), &ada), expected) << "twice";
}

TEST_P(McpRoundTrips, AnswersWithoutAStateAreLeftOut) {
  bench.call(client, "1", R"(,"inputResponses":{"a":{"action":"accept"}})");
  bench.greet(0);
  const std::string line = bench.child(0).take_line();
  EXPECT_EQ(parse_asked(line).method, "tools/call");
  EXPECT_THAT(line, Not(HasSubstr("inputResponses")));
  bench.call(other, "2", R"(,"inputResponses":null)");
  EXPECT_THAT(other.texts().at(0), HasSubstr("-32602"));
}

// --- Names of questions

TEST_P(McpRoundTrips, AQuestionHasTheNameThatItsChildGives) {
  called().say(
      R"({"jsonrpc":"2.0","id":"user_name-1.b","method":"elicitation/create","params":{}})");
  bench.settle();
  needed = needed_of(client.texts().at(0));
  EXPECT_EQ(needed.key, "user_name-1.b");
  bench.call(client, "2", with_answer(needed, R"({"action":"decline"})"));
  EXPECT_EQ(bench.child(0).take_lines(),
            Texts{R"({"jsonrpc":"2.0","id":"user_name-1.b","result":{"action":"decline"}})"});
}

TEST_P(McpRoundTrips, QuestionsWithoutANameAreNumbered) {
  FakeChild& child = called();
  const std::string ids[] = {"7",           R"("input-1")",
                             R"("")",       R"("two words")",
                             R"("\u0061")", "\"" + std::string(65, 'a') + "\""};
  for (const std::string& id : ids) {
    child.say(R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":"elicitation/create","params":{}})");
  }
  const std::string longest(64, 'a');
  child.say(R"({"jsonrpc":"2.0","id":")" + longest +
            R"(","method":"elicitation/create","params":{}})");
  bench.settle();
  for (int number = 1; number <= 6; ++number) {
    EXPECT_THAT(client.texts().at(0), HasSubstr("\"input-" + std::to_string(number) + "\":{"));
  }
  EXPECT_THAT(client.texts()[0], HasSubstr("\"" + longest + "\":{"));
}

// The child uses one id for two questions at the same time.
TEST_P(McpRoundTrips, ANameIsForOneQuestionAtATime) {
  FakeChild& child = called();
  const std::string ask = R"({"jsonrpc":"2.0","id":"a","method":"elicitation/create","params":{}})";
  child.say(ask);
  child.say(ask);
  bench.settle();
  EXPECT_THAT(client.texts().at(0), AllOf(HasSubstr("\"a\":{"), HasSubstr("\"input-")));
}

// A client may send answers with the call, as it would to a server that keeps nothing between
// requests.
TEST_P(McpRoundTrips, AnswersThatComeWithACallAnswerTheQuestionsOfTheirNames) {
  bench.call(client, "1",
             R"(,"inputResponses":{"who":{"action":"accept"},"input-1":{},"more":{},"none":5})");
  bench.greet(0);
  FakeChild& child = bench.child(0);
  call_id = parse_asked(child.take_line()).id;
  const auto ask = [&](const std::string& id) {
    child.say(R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":"elicitation/create","params":{}})");
    bench.settle();
  };
  ask("\"who\"");
  EXPECT_EQ(child.take_lines(),
            Texts{R"({"jsonrpc":"2.0","id":"who","result":{"action":"accept"}})"});
  EXPECT_TRUE(client.answers.empty());
  ask("1");
  ask("\"none\"");
  EXPECT_TRUE(child.take_lines().empty()) << "its client is to be asked";
  EXPECT_EQ(client.answers.size(), 1U);
}

TEST_P(McpRoundTrips, AnswersOfOneCallAreNotForTheNextOne) {
  const policy::Principal ada = named("ada");
  bench.call(client, "1", R"(,"inputResponses":{"who":{"action":"accept"}})", kElicits, &ada);
  bench.greet(0);
  FakeChild& child = bench.child(0);
  child.answer(child.take_ids().at(0), "{}");
  bench.settle();
  bench.call(client, "2", "", kElicits, &ada);
  child.take_lines();
  child.say(R"({"jsonrpc":"2.0","id":"who","method":"elicitation/create","params":{}})");
  bench.settle();
  EXPECT_EQ(needed_of(client.texts().at(1)).key, "who");
}

TEST_P(McpRoundTrips, TheOrderOfMembersMeansNothing) {
  FakeChild& child = parked();
  bench.send_modern(client, R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{)" +
                                meta(kElicits) + with_answer(needed) + R"(,"name":"t"}})");
  EXPECT_EQ(child.take_lines().size(), 1U);
}

TEST_P(McpRoundTrips, AClientThatDoesNotComeBackIsNotWaitedForForever) {
  FakeChild& child = parked();
  bench.advance(minutes(5) - milliseconds(1));
  EXPECT_TRUE(child.take_lines().empty());
  bench.advance(milliseconds(1));
  const Texts lines = child.take_lines();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_THAT(lines[0], HasSubstr("notifications/cancelled"));
  EXPECT_THAT(lines[1], HasSubstr(R"("id":7,"error")"));
  EXPECT_FALSE(child.ends().empty());
  EXPECT_EQ(bench.status().parked_calls, 0U);
  EXPECT_EQ(bench.observer.parked_ends[ParkedEnd::expired], 1);
  bench.call(client, "2", with_answer(needed));
  EXPECT_THAT(client.texts().at(1), HasSubstr("requestState is not valid"));
}

TEST_P(McpRoundTrips, AClientThatComesBackWithoutAnAnswerGainsNoTime) {
  FakeChild& child = parked();
  for (int minute = 1; minute < 5; ++minute) {
    bench.advance(minutes(1));
    const std::string id = std::to_string(minute + 1);
    bench.call(client, id, R"(,"inputResponses":{"other":{}})" + with_state(needed.state));
    bench.settle();
    needed = needed_of(client.texts().back());
  }
  EXPECT_EQ(bench.status().parked_calls, 1U);
  bench.advance(minutes(1));
  EXPECT_EQ(bench.status().parked_calls, 0U);
  EXPECT_FALSE(child.ends().empty());
}

TEST_P(McpRoundTrips, AnAnswerGainsTimeForTheNextQuestion) {
  FakeChild& child = parked();
  bench.advance(minutes(4));
  bench.call(client, "2", with_answer(needed));
  child.take_lines();
  child.say(
      R"({"jsonrpc":"2.0","id":"b","method":"elicitation/create","params":{"message":"why?"}})");
  bench.settle();
  bench.advance(minutes(4));
  EXPECT_EQ(bench.status().parked_calls, 1U);
}

TEST_P(McpRoundTrips, ACallThatIsParkedHasNoDeadline) {
  FakeChild& child = parked();
  bench.advance(minutes(4));
  bench.call(client, "2", with_answer(needed));
  EXPECT_EQ(child.take_lines().size(), 1U);
  bench.advance(seconds(10));
  EXPECT_THAT(client.texts().at(1), HasSubstr("-31504")) << "but one that goes on has";
}

// --- Deaths

TEST_P(McpRoundTrips, TheRetryIsToldThatTheChildHasGone) {
  FakeChild& child = parked();
  child.die(9);
  bench.settle();
  bench.call(client, "2", with_answer(needed));
  EXPECT_THAT(client.texts().at(1), HasSubstr("-31502"));
  bench.settle();
  bench.call(client, "3", with_answer(needed));
  EXPECT_THAT(client.texts().at(2), HasSubstr("-32602"));
}

TEST_P(McpRoundTrips, AnAnswerThatComesMeanwhileIsKept) {
  FakeChild& child = parked();
  child.answer(call_id, R"({"content":["late"]})");
  bench.settle();
  EXPECT_EQ(client.answers.size(), 1U);
  bench.call(client, "2", with_answer(needed));
  EXPECT_EQ(client.texts().at(1),
            R"({"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":["late"]}})");
}

TEST_P(McpRoundTrips, AClientThatLeavesBeforeItIsAskedCancels) {
  FakeChild& child = called();
  bench.leave(client);
  EXPECT_THAT(child.take_line(), HasSubstr("notifications/cancelled"));
  bench.settle();
  EXPECT_FALSE(child.ends().empty());
}

TEST_P(McpRoundTrips, AClientThatLeavesBeforeThereIsAChildIsForgotten) {
  bench.call(client, "1");
  bench.leave(client);
  bench.settle();
  EXPECT_EQ(bench.backend.calls(), 0U);
}

TEST_P(McpRoundTrips, AClientThatLeavesAfterTheRetryCancels) {
  FakeChild& child = parked();
  bench.call(client, "2", with_answer(needed));
  child.take_lines();
  bench.leave(client);
  EXPECT_THAT(child.take_line(), HasSubstr(R"("requestId":)" + call_id));
}

TEST_P(McpRoundTrips, AStopDoesNotWaitForParkedCalls) {
  FakeChild& child = parked();
  bench.backend.drain();
  EXPECT_EQ(bench.backend.calls(), 0U);
  EXPECT_THAT(child.take_line(), HasSubstr("notifications/cancelled"));
  bench.call(client, "2", with_answer(needed));
  EXPECT_THAT(client.texts().at(1), HasSubstr("-31503"));
  EXPECT_EQ(bench.observer.parked_ends[ParkedEnd::stopped], 1);
}

// --- Which questions a client may be asked

TEST_P(McpRoundTrips, WhatTheClientCannotBeAskedIsRefused) {
  FakeChild& child = called();
  child.say(R"({"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}})");
  child.say(R"({"jsonrpc":"2.0","id":2,"method":"roots/list"})");
  child.say(R"({"jsonrpc":"2.0","id":3,"method":"elicitation/create","params":{"mode":"url"}})");
  child.say(R"({"jsonrpc":"2.0","id":4,"method":"tasks/list"})");
  child.say(R"({"jsonrpc":"2.0","id":5,"method":"ping"})");
  bench.settle();
  EXPECT_TRUE(client.answers.empty());
  const Texts lines = child.take_lines();
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[0], R"({"jsonrpc":"2.0","id":5,"result":{}})");
  for (size_t i = 1; i < lines.size(); ++i) EXPECT_THAT(lines[i], HasSubstr("-32601"));
}

TEST_P(McpRoundTrips, AnErrorAfterThatNamesTheCapability) {
  FakeChild& child = called();
  child.say(R"({"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"tools":[]}})");
  bench.settle();
  child.say(R"({"jsonrpc":"2.0","id":)" + call_id + R"(,"error":{"code":-32603,"message":"no"}})");
  EXPECT_THAT(client.texts().at(0), HasSubstr(R"("code":-32021)"));
  EXPECT_THAT(client.texts()[0],
              HasSubstr(R"("data":{"requiredCapabilities":{"sampling":{"tools":{}}}})"));
}

TEST_P(McpRoundTrips, DemandedUrlElicitationsAreAskedAndTheCallMadeAgain) {
  const std::string error =
      R"(,"error":{"code":-32042,"message":"sign in","data":{"elicitations":[{"mode":"url",)"
      R"("elicitationId":"e","url":"https://x/","message":"sign in"}]}}})";
  FakeChild& child = called(R"({"elicitation":{"url":{}}})");
  child.say(R"({"jsonrpc":"2.0","id":)" + call_id + error);
  needed = needed_of(client.texts().at(0));
  EXPECT_EQ(needed.request,
            R"({"method":"elicitation/create","params":{"mode":"url","url":"https://x/",)"
            R"("message":"sign in"}})");
  bench.call(client, "2", with_answer(needed, R"({"action":"accept"})"),
             R"({"elicitation":{"url":{}}})");
  const std::string line = child.take_line();
  EXPECT_EQ(parse_asked(line).method, "tools/call");
  EXPECT_THAT(line, Not(HasSubstr("requestState")));
  EXPECT_THAT(line, Not(HasSubstr("inputResponses")));
  child.say(R"({"jsonrpc":"2.0","id":)" + parse_asked(line).id + error);
  needed = needed_of(client.texts().at(1));
  bench.call(client, "3", with_answer(needed, R"({"action":"decline"})"),
             R"({"elicitation":{"url":{}}})");
  EXPECT_THAT(client.texts().at(2), HasSubstr("declined"));
  EXPECT_TRUE(child.take_lines().empty());
}

// A client of the modern era does not know this error.
TEST_P(McpRoundTrips, DemandedUrlElicitationsForWhichThereIsNoPlaceAreRefused) {
  const std::string capabilities = R"({"elicitation":{"url":{}}})";
  const std::string error =
      R"(,"error":{"code":-32042,"message":"m","data":{"elicitations":[{"mode":"url",)"
      R"("elicitationId":"e","url":"https://x/","message":"m"}]}}})";
  for (size_t i = 0; i < 3; ++i) {
    bench.call(client, std::to_string(i), "", capabilities);
    bench.greet(i);
    bench.child(i).say(R"({"jsonrpc":"2.0","id":)" + bench.child(i).take_ids().at(0) + error);
  }
  ASSERT_EQ(client.answers.size(), 3U);
  EXPECT_EQ(bench.status().parked_calls, 2U);
  EXPECT_THAT(client.texts()[1], HasSubstr("input_required"));
  EXPECT_EQ(client.answers[2].fault, rpc::Fault::overloaded);
  EXPECT_THAT(
      client.texts()[2],
      HasSubstr("2 of 2 places of parked calls are taken; raise backends.fake.pool.parked"));
  EXPECT_GT(client.answers[2].retry_after, Duration{0});
}

TEST_P(McpRoundTrips, DemandedUrlElicitationsAreNotAskedAtTheEnd) {
  FakeChild& child = called(R"({"elicitation":{"url":{}}})");
  bench.backend.drain();
  child.say(R"({"jsonrpc":"2.0","id":)" + call_id +
            R"(,"error":{"code":-32042,"message":"m","data":{"elicitations":[{"mode":"url",)"
            R"("elicitationId":"e","url":"https://x/","message":"m"}]}}})");
  ASSERT_EQ(client.answers.size(), 1U);
  EXPECT_EQ(client.answers[0].fault, rpc::faults::shutting_down().fault);
}

TEST_P(McpRoundTrips, DemandedUrlElicitationsNeedTheCapability) {
  FakeChild& child = called();
  child.say(R"({"jsonrpc":"2.0","id":)" + call_id +
            R"(,"error":{"code":-32042,"message":"m","data":{"elicitations":[{"mode":"url"}]}}})");
  EXPECT_THAT(client.texts().at(0), HasSubstr(R"("code":-32021)"));
  EXPECT_THAT(client.texts()[0], HasSubstr(R"({"elicitation":{"url":{}}})"));
}

TEST_P(McpRoundTrips, OtherRequestsThanCallsNeedNoInput) {
  bench.send_modern(client, request("1", "tools/list", "", meta(kElicits)));
  bench.greet(0);
  FakeChild& child = bench.child(0);
  const std::string id = child.take_ids().at(0);
  child.say(kAsk);
  bench.settle();
  EXPECT_TRUE(client.answers.empty());
  EXPECT_THAT(child.take_line(), HasSubstr("-32601"));
  child.answer(id, R"({"tools":[]})");
  EXPECT_THAT(client.texts().at(0), HasSubstr(R"("tools":[])"));
}

TEST_P(McpRoundTrips, NorAreElicitationsDemandedForThem) {
  const std::string capabilities = R"({"elicitation":{"url":{}}})";
  bench.send_modern(client, request("1", "tools/list", "", meta(capabilities)));
  bench.greet(0);
  bench.child(0).say(R"({"jsonrpc":"2.0","id":)" + bench.child(0).take_ids().at(0) +
                     R"(,"error":{"code":-32042,"message":"m","data":{"elicitations":[)"
                     R"({"mode":"url","url":"https://x/","message":"m"}]}}})");
  EXPECT_THAT(client.texts().at(0), HasSubstr(R"("code":-32042)"));
  EXPECT_EQ(bench.status().parked_calls, 0U);
}

// --- Questions before the first call

TEST_P(McpRoundTrips, RootsAreAskedForBeforeTheCall) {
  const std::string roots = R"({"roots":{}})";
  bench.call(client, "1", "", roots);
  bench.greet(0);
  FakeChild& child = bench.child(0);
  const Asked ping = parse_asked(child.take_line());
  EXPECT_EQ(ping.method, "ping");
  EXPECT_TRUE(child.take_lines().empty()) << "the call waits";
  child.say(R"({"jsonrpc":"2.0","id":0,"method":"roots/list"})");
  child.answer(ping.id, "{}");
  bench.settle();
  EXPECT_TRUE(child.take_lines().empty());
  needed = needed_of(client.texts().at(0));
  EXPECT_EQ(needed.request, R"({"method":"roots/list","params":{}})");
  bench.call(client, "2", with_answer(needed, R"({"roots":[]})"), roots);
  EXPECT_EQ(child.take_lines(), Texts{R"({"jsonrpc":"2.0","id":0,"result":{"roots":[]}})"});
  bench.advance(milliseconds(50));
  const std::string line = child.take_line();
  EXPECT_EQ(parse_asked(line).method, "tools/call");
  EXPECT_THAT(line, Not(HasSubstr("requestState")));
  child.answer(parse_asked(line).id, "{}");
  EXPECT_THAT(client.texts().at(1), HasSubstr(R"("id":2,"result")"));
  bench.settle();
  EXPECT_FALSE(child.ends().empty()) << "nobody else gets it";
}

TEST_P(McpRoundTrips, AChildThatAsksNothingFirstGetsTheCallAtOnce) {
  bench.call(client, "1", "", R"({"roots":{}})");
  bench.greet(0);
  FakeChild& child = bench.child(0);
  child.answer(parse_asked(child.take_line()).id, "{}");
  EXPECT_EQ(parse_asked(child.take_line()).method, "tools/call");
}

// --- Children and their limits

TEST_P(McpRoundTrips, MoreThanMayBeParkedWaitForTheirTurn) {
  FakeClient third(bench.callers);
  FakeClient* const clients[] = {&client, &other, &third};
  for (size_t i = 0; i < 3; ++i) {
    bench.call(*clients[i], "1");
    bench.greet(i);
    bench.child(i).take_lines();
    bench.child(i).say(kAsk);
    bench.settle();
  }
  EXPECT_EQ(bench.status().parked_calls, 2U);
  EXPECT_TRUE(third.answers.empty());
  bench.call(client, "2", with_answer(needed_of(client.texts().at(0))));
  bench.settle();
  EXPECT_EQ(third.answers.size(), 1U);
  EXPECT_EQ(bench.status().parked_calls, 2U);
}

TEST_P(McpRoundTrips, OnePrincipalHasHalfOfThePlaces) {
  const policy::Principal ada = named("ada");
  const policy::Principal bob = named("bob");
  FakeClient third(bench.callers);
  const auto ask = [this](size_t index, FakeClient& from, const policy::Principal& who) {
    bench.call(from, "1", "", kElicits, &who);
    bench.greet(index);
    bench.child(index).take_lines();
    bench.child(index).say(kAsk);
    bench.settle();
  };
  ask(0, client, ada);
  ask(1, other, ada);
  EXPECT_TRUE(other.answers.empty()) << "two places, of which ada has one";
  ask(2, third, bob);
  EXPECT_EQ(third.answers.size(), 1U);
  bench.call(client, "2", with_answer(needed_of(client.texts().at(0))), kElicits, &ada);
  bench.settle();
  EXPECT_EQ(other.answers.size(), 1U);
}

TEST_P(McpRoundTrips, AnonymousClientsTogetherHaveHalfOfThePlacesBesidePrincipals) {
  for (const bool has_principals : {true, false}) {
    backend::BackendOptions options = trip_options(GetParam());
    options.has_principals = has_principals;
    TripBench here(options);
    FakeClient first(here.callers);
    FakeClient second(here.callers);
    FakeClient third(here.callers);
    const policy::Principal ada = named("ada");
    const auto ask = [&here](size_t index, FakeClient& from, const std::string& address,
                             const policy::Principal* who) {
      here.call_from(from, "1", ClientAddress::parse(address).value(), kElicits, who);
      here.greet(index);
      here.child(index).take_lines();
      here.child(index).say(kAsk);
      here.settle();
    };
    ask(0, first, "192.0.2.1", nullptr);
    ask(1, second, "192.0.2.2", nullptr);
    EXPECT_EQ(second.answers.size(), has_principals ? 0U : 1U);
    ask(2, third, "192.0.2.3", &ada);
    EXPECT_EQ(third.answers.size(), has_principals ? 1U : 0U);
  }
}

TEST_P(McpRoundTrips, TheirChildrenCountAsStarts) {
  bench.limit_session_starts(1, 1);
  const ClientAddress here = ClientAddress::parse("192.0.2.1").value();
  bench.call_from(client, "1", here);
  EXPECT_TRUE(client.answers.empty());
  bench.call_from(other, "1", here);
  EXPECT_THAT(other.texts().at(0), HasSubstr("too many children started for this client"));
  bench.advance(seconds(1));
  bench.call_from(other, "2", here);
  EXPECT_EQ(other.answers.size(), 1U);
}

TEST_P(McpRoundTrips, EachCallHasAChildAlone) {
  bench.call(client, "1");
  bench.greet(0);
  bench.call(other, "1");
  EXPECT_EQ(bench.launcher.launched(), 2U);
  bench.greet(1);
  EXPECT_EQ(bench.child(0).take_ids().size(), 1U);
  EXPECT_EQ(bench.child(1).take_ids().size(), 1U);
}

TEST_P(McpRoundTrips, AChildServesTheNextCallOfTheSamePrincipal) {
  const policy::Principal ada = named("ada");
  bench.call(client, "1", "", kElicits, &ada);
  bench.greet(0);
  bench.child(0).answer(bench.child(0).take_ids().at(0), "{}");
  bench.settle();
  bench.call(client, "2", "", kElicits, &ada);
  const Texts ids = bench.child(0).take_ids();
  ASSERT_EQ(ids.size(), 1U);
  EXPECT_EQ(bench.launcher.launched(), 1U);
  bench.child(0).answer(ids[0], "{}");
  bench.advance(minutes(5));
  EXPECT_FALSE(bench.child(0).ends().empty());
}

// Many clients may share an address, or even a connection.
TEST_P(McpRoundTrips, AnAnonymousClientIsNotKnownAgain) {
  ClientAddress here = ClientAddress::parse("192.0.2.1").value();
  here.port = 1000;
  for (size_t i = 0; i < 3; ++i) {
    bench.call_from(client, std::to_string(i), here);
    const bool is_shared = GetParam() == config::Isolation::shared;
    const size_t child = is_shared ? 0 : i;
    EXPECT_EQ(bench.launcher.launched(), child + 1);
    if (i == child) bench.greet(child);
    bench.child(child).answer(bench.child(child).take_ids().at(0), "{}");
    bench.settle();
    EXPECT_EQ(bench.child(child).ends().empty(), is_shared) << "it has served its client";
    if (!is_shared) bench.child(child).exit(0);
  }
}

// A principal that comes without its credential is another client.
TEST_P(McpRoundTrips, AnAddressIsNoPrincipal) {
  const policy::Principal ada = named("ada");
  const ClientAddress here = ClientAddress::parse("192.0.2.1").value();
  bench.call_from(client, "1", here, R"({"roots":{}})", &ada);
  bench.greet(0);
  FakeChild& child = bench.child(0);
  child.answer(parse_asked(child.take_line()).id, "{}");  // the answer to a ping
  child.answer(child.take_ids().at(0), "{}");
  bench.settle();
  bench.call_from(other, "2", here, R"({"roots":{}})");
  const bool is_shared = GetParam() == config::Isolation::shared;
  EXPECT_EQ(child.take_ids().size(), is_shared ? 1U : 0U);
}

TEST_P(McpRoundTrips, AnotherClientsChildIsUsedOnlyWhereSessionsShareChildren) {
  called();
  bench.child(0).answer(call_id, "{}");
  bench.settle();
  bench.call(other, "2");
  const bool is_shared = GetParam() == config::Isolation::shared;
  EXPECT_EQ(bench.launcher.launched(), is_shared ? 1U : 2U);
}

TEST_P(McpRoundTrips, OtherCapabilitiesNeedAnotherChild) {
  called();
  bench.child(0).answer(call_id, "{}");
  bench.settle();
  bench.call(client, "2", "", R"({"sampling":{}})");
  EXPECT_EQ(bench.launcher.launched(), 2U);
}

TEST_P(McpRoundTrips, WithoutTheBridgeModernClientsAreSentAway) {
  for (const config::Bridge bridge : {config::Bridge::off, config::Bridge::automatic}) {
    for (const config::Revision revision :
         {config::Revision::legacy, config::Revision::automatic}) {
      backend::BackendOptions options = trip_options(GetParam());
      options.config.bridge = bridge;
      options.config.revision = revision;
      TripBench plain(options);
      FakeClient from(plain.callers);
      const Texts asked = {request("1", "server/discover"), request("2", "tools/list"),
                           request("3", "tools/call", R"("name":"t")", meta(kElicits)),
                           request("4", "subscriptions/listen", R"("notifications":{})")};
      for (const std::string& text : asked) plain.send_modern(from, text);
      if (bridge == config::Bridge::automatic && GetParam() == config::Isolation::shared) {
        EXPECT_THAT(from.answers, testing::IsEmpty()) << "they are bridged";
        continue;
      }
      const bool is_cold = revision == config::Revision::automatic;
      EXPECT_EQ(from.answers.size(), is_cold ? 0U : 4U) << "the era is to be known first";
      if (is_cold) {
        FakeChild& first = plain.child(0);
        first.start();
        Asked greeting = parse_asked(first.take_line());
        if (greeting.method == "server/discover") {
          first.say(R"({"jsonrpc":"2.0","id":)" + greeting.id +
                    R"(,"error":{"code":-32601,"message":"no"}})");
          greeting = parse_asked(first.take_line());
        }
        first.answer(greeting.id, std::string(kGreeting));
        EXPECT_EQ(first.take_lines().size(), 1U) << "initialized, and nothing of theirs";
      }
      ASSERT_EQ(from.answers.size(), 4U);
      for (const std::string& text : from.texts()) {
        EXPECT_THAT(text, HasSubstr(R"("code":-32022)"));
        EXPECT_THAT(text, HasSubstr(R"("data":{"supported":["2025-11-25",)"));
        EXPECT_THAT(text, HasSubstr(R"("requested":"2026-07-28")"));
      }
    }
  }
}

TEST(McpRoundTripsAlone, TheFirstClientThatIsSentAwayIsLogged) {
  backend::BackendOptions options = trip_options(config::Isolation::session);
  options.config.bridge = config::Bridge::automatic;
  TripBench bench(options);
  FakeClient client(bench.callers);
  for (const std::string id : {"1", "2"}) bench.send_modern(client, request(id, "tools/list"));
  size_t told = 0;
  for (const std::string& line : bench.log.lines) {
    if (line.find("modern client told to open a session") == std::string::npos) continue;
    ++told;
    EXPECT_THAT(line, HasSubstr("bridge: true"));
    EXPECT_THAT(line, HasSubstr("isolation: principal"));
  }
  EXPECT_EQ(told, 1U);
}

// --- Where sessions have children of their own

TEST(McpRoundTripsAlone, CallsAreNotMixedEvenIfNobodyCanBeAsked) {
  TripBench bench(trip_options(config::Isolation::session));
  FakeClient client(bench.callers);
  FakeClient other(bench.callers);
  bench.call(client, "1", "", "{}");
  EXPECT_THAT(bench.greet(0), HasSubstr(R"("capabilities":{})"));
  bench.call(other, "1", "", "{}");
  bench.greet(1);
  EXPECT_EQ(bench.child(0).take_ids().size(), 1U);
  EXPECT_EQ(bench.child(1).take_ids().size(), 1U);
}

// A child that has ended keeps no place for its client.
TEST(McpRoundTripsAlone, ThoseWithoutAChildLeaveTheirPlaceToSessions) {
  backend::BackendOptions options = trip_options(config::Isolation::session);
  options.config.pool.max = 1;
  options.config.pool.sessions = 1;
  TripBench bench(options);
  FakeClient client(bench.callers);
  const policy::Principal ada = named("ada");
  for (size_t i = 0; i < 3; ++i) {
    bench.call(client, "1", "", R"({"sampling":{"x":)" + std::to_string(i) + "}}", &ada);
    if (i > 0) bench.child(i - 1).exit(0);  // asked to end, to make room for the next child
    bench.settle();
    bench.greet(i);
    FakeChild& child = bench.child(i);
    child.answer(child.take_ids().at(0), "{}");
    bench.settle();
  }
  EXPECT_EQ(client.answers.size(), 3U);
  FakeSession session(bench.callers);
  const auto refused = bench.open(session);
  EXPECT_FALSE(refused) << refused->message;
}

// A server's lists may depend on earlier messages of a client.
TEST(McpRoundTripsAlone, OnlyTheDiscoveryComesFromASharedChild) {
  TripBench bench(trip_options(config::Isolation::session));
  FakeClient client(bench.callers);
  bench.send_modern(client, request("1", "tools/list"));
  EXPECT_EQ(parse_asked(bench.greet(0)).method, "initialize");
  EXPECT_EQ(parse_asked(bench.child(0).take_line()).method, "tools/list");
  bench.send_modern(client, request("2", "tools/list"));
  EXPECT_EQ(bench.launcher.launched(), 2U);
  bench.send_modern(client, request("3", "server/discover"));
  bench.begin(2, kGreeting);
  ASSERT_EQ(client.answers.size(), 1U);
  EXPECT_THAT(client.texts()[0], HasSubstr(R"("supportedVersions":["2026-07-28"])"));
}

// The gateway finds out the era with the first call.
TEST(McpRoundTripsAlone, ACallWaitsForTheEra) {
  backend::BackendOptions options = trip_options(config::Isolation::session);
  options.config.revision = config::Revision::automatic;
  TripBench bench(options);
  FakeClient client(bench.callers);
  bench.call(client, "1");
  FakeChild& first = bench.child(0);
  first.start();
  const Asked probe = parse_asked(first.take_line());
  EXPECT_EQ(probe.method, "server/discover");
  first.say(R"({"jsonrpc":"2.0","id":)" + probe.id + R"(,"error":{"code":-32601,"message":"no"}})");
  first.answer(parse_asked(first.take_line()).id, std::string(kGreeting));
  EXPECT_TRUE(client.answers.empty());
  bench.greet(1);
  EXPECT_EQ(bench.child(1).take_ids().size(), 1U);
}

}  // namespace
}  // namespace stdgate::test

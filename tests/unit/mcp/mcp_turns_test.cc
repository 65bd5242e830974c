// The pool of one principal at a legacy server: one process has all its calls. Calls that may be
// asked a question take turns in it.

#include "tests/unit/mcp/trip_bench.h"

namespace stdgate::test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

const std::string kRootsDeclared = R"({"roots":{}})";
const std::string kAskForRoots = R"({"jsonrpc":"2.0","id":0,"method":"roots/list"})";

backend::BackendOptions options_of_one() {
  backend::BackendOptions options = trip_options(config::Isolation::shared);
  options.config.bridge = config::Bridge::automatic;
  options.config.serves_one = true;
  options.config.timeout = minutes(2);
  return options;
}

class Turns : public testing::Test {
 public:
  // call() sends a call that can be asked a question, and plain_call() a call that cannot.
  void call(FakeClient& from, const std::string& id, const std::string& more = "",
            const std::string& capabilities = kElicits) {
    bench.call(from, id, more, capabilities, &ada);
  }
  void plain_call(FakeClient& from, const std::string& id) { call(from, id, "", "{}"); }
  // A ready child, to which `client` has sent a call that has the turn.
  FakeChild& called(const std::string& capabilities = kElicits) {
    call(client, "1", "", capabilities);
    greeting = bench.greet(0);
    call_id = only_call();
    return bench.child(0);
  }
  FakeChild& parked() {
    FakeChild& child = called();
    child.say(kAsk);
    bench.settle();
    needed = needed_of(client.texts().at(0));
    return child;
  }
  // The id of the only request that the child has received since the last take.
  std::string only_call(size_t index = 0) {
    const Texts ids = bench.child(index).take_ids();
    EXPECT_THAT(ids, SizeIs(1));
    return ids.empty() ? std::string() : ids[0];
  }

  const policy::Principal ada = named("ada");
  TripBench bench{options_of_one()};
  FakeClient client{bench.callers};
  FakeClient other{bench.callers};
  std::string greeting;
  std::string call_id;
  Needed needed;
};

TEST_F(Turns, AllCallsHaveOneProcess) {
  backend::BackendOptions options = options_of_one();
  options.config.pool.max_in_flight = 2;
  TripBench here(options);
  FakeClient from(here.callers);
  for (int id = 1; id <= 4; ++id) here.call(from, std::to_string(id), "", "{}", &ada);
  here.greet(0);
  FakeChild& child = here.child(0);
  EXPECT_THAT(from.answers, IsEmpty());
  for (size_t answered = 0; answered < 4;) {
    for (const std::string& id : child.take_ids()) {
      child.answer(id, "{}");
      ++answered;
    }
  }
  EXPECT_THAT(from.answers, SizeIs(4));
  EXPECT_EQ(here.launcher.launched(), 1U);
}

TEST_F(Turns, TheProcessIsGreetedAsTheClientThatStartsIt) {
  bench.send_modern(client, request("1", "server/discover", "", meta(kElicits)), &ada);
  EXPECT_THAT(bench.greet(0), HasSubstr(R"("capabilities":{"elicitation":{}})"));
  EXPECT_THAT(client.answers, SizeIs(1));
  call(client, "2");
  EXPECT_EQ(parse_asked(bench.child(0).take_line()).method, "tools/call");
}

// Even with a minimum, the pool starts its child only with the first message of its principal.
TEST_F(Turns, SoIsOneThatIsKeptRunning) {
  backend::BackendOptions options = options_of_one();
  options.config.pool.min = 1;
  TripBench here(options);
  EXPECT_EQ(here.launcher.launched(), 0U);
  FakeClient from(here.callers);
  here.call(from, "1", "", kElicits, &ada);
  EXPECT_THAT(here.greet(0), HasSubstr(R"("capabilities":{"elicitation":{}})"));
  here.child(0).exit(1);
  here.advance(seconds(1));
  EXPECT_THAT(here.greet(1), HasSubstr(R"("capabilities":{"elicitation":{}})"));
}

TEST_F(Turns, CallsThatMayBeAskedTakeTurns) {
  FakeChild& child = called();
  call(other, "2");
  EXPECT_THAT(child.take_lines(), IsEmpty());
  plain_call(other, "3");
  bench.send_modern(other, request("4", "tools/list", "", meta(kElicits)), &ada);
  const Texts shared = child.take_ids();
  EXPECT_THAT(shared, SizeIs(2)) << "they ask nothing, so they need not wait";
  child.answer(call_id, "{}");
  bench.settle();
  child.answer(only_call(), "{}");
  for (const std::string& id : shared) child.answer(id, R"({"tools":[]})");
  bench.settle();
  EXPECT_THAT(client.answers, SizeIs(1));
  EXPECT_THAT(other.answers, SizeIs(3));
  EXPECT_EQ(bench.launcher.launched(), 1U);
  EXPECT_THAT(child.ends(), IsEmpty());
  bench.backend.check_invariants();
}

TEST_F(Turns, WhatIsAskedGoesToTheCallThatHasItsTurn) {
  FakeChild& child = parked();
  call(other, "2");
  plain_call(other, "3");
  child.answer(only_call(), "{}");
  EXPECT_THAT(other.answers, SizeIs(1)) << "a call that waits for its client keeps no other busy";
  call(client, "4", with_answer(needed));
  EXPECT_EQ(child.take_lines(),
            Texts{R"({"jsonrpc":"2.0","id":7,"result":{"action":"accept","content":{"n":1}}})"});
  child.answer(call_id, R"({"content":[1]})");
  EXPECT_THAT(client.texts().at(1), HasSubstr(R"("id":4,"result":{"resultType":"complete")"));
  bench.settle();
  child.answer(only_call(), "{}");
  EXPECT_THAT(other.answers, SizeIs(2));
  EXPECT_EQ(bench.status().parked_calls, 0U);
  EXPECT_EQ(bench.launcher.launched(), 1U);
}

TEST_F(Turns, RootsAreAskedForWithTheFirstCall) {
  bench.send_modern(client, request("1", "server/discover", "", meta(kRootsDeclared)), &ada);
  FakeChild& child = bench.child(0);
  bench.greet(0);
  const Asked ping = parse_asked(child.take_line());
  EXPECT_EQ(ping.method, "ping");
  EXPECT_THAT(client.answers, IsEmpty()) << "what it asks first is to be known";
  child.say(kAskForRoots);
  child.answer(ping.id, "{}");
  EXPECT_THAT(client.answers, SizeIs(1)) << "a discovery cannot ask";
  plain_call(other, "1");
  child.answer(only_call(), "{}");
  call(client, "2", "", kRootsDeclared);
  EXPECT_THAT(child.take_lines(), IsEmpty());
  needed = needed_of(client.texts().at(1));
  EXPECT_EQ(needed.request, R"({"method":"roots/list","params":{}})");
  call(client, "3", with_answer(needed, R"({"roots":[]})"), kRootsDeclared);
  EXPECT_EQ(child.take_lines(), Texts{R"({"jsonrpc":"2.0","id":0,"result":{"roots":[]}})"});
  bench.advance(milliseconds(50));
  const std::string line = child.take_line();
  EXPECT_EQ(parse_asked(line).method, "tools/call");
  EXPECT_THAT(line, Not(HasSubstr("requestState")));
  child.answer(parse_asked(line).id, "{}");
  EXPECT_THAT(client.texts().at(2), HasSubstr(R"("id":3,"result")"));
  bench.settle();
  call(client, "4", "", kRootsDeclared);
  EXPECT_EQ(parse_asked(child.take_line()).method, "tools/call") << "it knows them now";
}

TEST_F(Turns, AServerThatDoesNotAnswerAPingIsUsedAllTheSame) {
  call(client, "1", "", kRootsDeclared);
  bench.greet(0);
  EXPECT_EQ(parse_asked(bench.child(0).take_line()).method, "ping");
  bench.advance(options_of_one().config.pool.start_timeout);
  EXPECT_EQ(parse_asked(bench.child(0).take_line()).method, "tools/call");
}

TEST_F(Turns, ACallThatWaitsForItsTurnCanBeGivenUp) {
  FakeChild& child = called();
  call(other, "2");
  bench.leave(other);
  call(other, "3");
  rpc::EnvelopeParser parser(bench.backend.envelope_limits());
  std::string cancel = note("cancelled", R"({"requestId":3})");
  call::CallContext context;
  context.caller = other.caller();
  context.peer_kind = PeerKind::stateless;
  bench.backend.accept(parser.parse(cancel)->messages[0], context);
  EXPECT_EQ(bench.status().queued, 0U);
  child.answer(call_id, "{}");
  bench.settle();
  EXPECT_THAT(child.take_lines(), IsEmpty());
}

TEST_F(Turns, ACallWhoseTurnDoesNotComeIsToldWhy) {
  FakeChild& child = parked();
  call(other, "2");
  bench.advance(options_of_one().config.timeout);
  ASSERT_THAT(other.answers, SizeIs(1));
  EXPECT_THAT(other.texts()[0], HasSubstr("another call of this principal has its turn"));
  call(client, "3", with_answer(needed));
  EXPECT_THAT(child.take_lines(), SizeIs(1));
}

TEST_F(Turns, AClientThatLeavesEndsItsTurn) {
  FakeChild& child = called();
  child.say(kAsk);
  call(other, "2");
  bench.leave(client);
  bench.settle();
  const Texts lines = child.take_lines();
  EXPECT_THAT(lines, testing::Contains(HasSubstr("notifications/cancelled")));
  EXPECT_THAT(lines, testing::Contains(HasSubstr("-32601"))) << "nobody answers its question";
  EXPECT_THAT(lines, testing::Contains(HasSubstr("tools/call")));
  EXPECT_THAT(child.ends(), IsEmpty());
}

TEST_F(Turns, AParkedCallThatExpiresEndsItsTurn) {
  FakeChild& child = parked();
  bench.advance(minutes(4));
  call(other, "2");
  bench.advance(minutes(1));
  const Texts lines = child.take_lines();
  EXPECT_THAT(lines, testing::Contains(HasSubstr("notifications/cancelled")));
  EXPECT_THAT(lines, testing::Contains(HasSubstr("tools/call")));
  call(client, "3", with_answer(needed));
  EXPECT_THAT(client.texts().at(1), HasSubstr("requestState is not valid"));
  EXPECT_EQ(bench.status().parked_calls, 0U);
}

TEST_F(Turns, TheEndOfTheProcessEndsTheTurn) {
  FakeChild& child = parked();
  call(other, "2");
  child.exit(1);
  bench.settle();
  bench.advance(seconds(1));
  call(client, "3", with_answer(needed));
  EXPECT_THAT(client.texts().at(1), HasSubstr("-31502")) << "its client hears of it";
  bench.greet(1);
  bench.child(1).answer(only_call(1), "{}");
  EXPECT_THAT(other.answers, SizeIs(1));
}

TEST_F(Turns, WhatTheClientHasNotDeclaredIsRefused) {
  FakeChild& child = called();
  child.say(R"({"jsonrpc":"2.0","id":8,"method":"sampling/createMessage","params":{}})");
  bench.settle();
  EXPECT_THAT(child.take_line(), HasSubstr("-32601"));
  child.say(R"({"jsonrpc":"2.0","id":)" + call_id + R"(,"error":{"code":-32603,"message":"no"}})");
  EXPECT_THAT(client.texts().at(0), HasSubstr(R"("code":-32021)"));
  bench.settle();
  EXPECT_THAT(child.ends(), IsEmpty()) << "what it keeps is its principal's";
}

TEST_F(Turns, SessionsShareTheProcess) {
  FakeChild& child = called();
  child.answer(call_id, "{}");
  bench.settle();
  FakeSession session(bench.callers);
  ASSERT_FALSE(bench.open(session));
  const auto greet = [&](const std::string& capabilities) {
    bench.send(session, R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{)"
                        R"("protocolVersion":"2025-11-25","capabilities":)" +
                            capabilities + "}}");
    session.take();
  };
  greet("{}");
  bench.BackendBench::call(session, "2");
  const std::string id = only_call();
  child.say(kAsk);
  EXPECT_THAT(child.take_line(), HasSubstr("-32601")) << "this client has not declared it";
  greet(kElicits);
  child.say(kAsk);
  EXPECT_THAT(session.take(), testing::ElementsAre(HasSubstr("elicitation/create")));
  child.answer(id, "{}");
  EXPECT_EQ(bench.launcher.launched(), 1U);
  bench.close(session);
  bench.backend.check_invariants();
}

TEST_F(Turns, AStateOfABackendThatHasForgottenItsEraIsNotTaken) {
  backend::BackendOptions options = options_of_one();
  options.config.revision = config::Revision::automatic;
  TripBench here(options);
  FakeClient from(here.callers);
  here.call(from, "1", with_state("none"), kElicits, &ada);
  here.greet(0);
  EXPECT_THAT(from.texts().at(0), HasSubstr("requestState is not valid"));
}

TEST_F(Turns, AShutdownEndsThem) {
  FakeChild& child = parked();
  call(other, "2");
  bench.backend.drain();
  bench.settle();
  EXPECT_EQ(bench.status().parked_calls, 0U);
  EXPECT_THAT(child.take_lines(), Not(IsEmpty()));
  ASSERT_THAT(other.answers, SizeIs(1));
  EXPECT_EQ(bench.backend.calls(), 0U);
}

}  // namespace
}  // namespace stdgate::test

// Sessions whose own child refuses the greeting. If the children turn out to be modern, the
// sessions share them. Otherwise the refusal stands.

#include <gmock/gmock.h>

#include "tests/unit/mcp/trip_bench.h"

namespace stdgate::test {
namespace {

using testing::ElementsAre;

const std::string kRefusedGreeting = R"({"protocolVersion":"2025-06-18","capabilities":{},)"
                                     R"("clientInfo":{"name":"ada","version":"1"}})";
const std::string kRefusal = R"({"code":-32022,"message":"no such version","data":{"x":1}})";

backend::BackendOptions refusing_options(uint32_t max = 3) {
  backend::BackendOptions options =
      ModernBench::options_of(config::Revision::automatic, config::Isolation::session);
  options.config.revive = true;
  options.config.pool.min = 0;
  options.config.pool.max = max;
  options.config.pool.sessions = 3;
  return options;
}

class McpRefusedGreetings : public testing::Test {
 public:
  // Starts the session's own child, which refuses the greeting.
  FakeChild& refuse(ModernBench& at, size_t index) const {
    FakeChild& own = at.child(index);
    own.start();
    const Asked asked = parse_asked(own.take_line());
    EXPECT_EQ(asked.method, "initialize");
    own.say(R"({"jsonrpc":"2.0","id":)" + asked.id + R"(,"error":)" + kRefusal + "}");
    return own;
  }
  FakeChild& refuse(size_t index) { return refuse(bench, index); }
  // Starts a child that is asked for its era. Returns the id of the question.
  std::string probed(size_t index) {
    bench.child(index).start();
    const Asked asked = parse_asked(bench.child(index).take_line());
    EXPECT_EQ(asked.method, "server/discover");
    return asked.id;
  }
  // Starts a child that is legacy: it refuses the question, and answers the greeting.
  void greet_legacy(size_t index) {
    bench.child(index).say(R"({"jsonrpc":"2.0","id":)" + probed(index) +
                           R"(,"error":{"code":-32601,"message":"no"}})");
    bench.child(index).answer(parse_asked(bench.child(index).take_line()).id,
                              std::string(kGreeting));
    bench.child(index).take_lines();
  }
  static std::string refusal(const std::string& id = "1") {
    return R"({"jsonrpc":"2.0","id":)" + id + R"(,"error":)" + kRefusal + "}";
  }

  ModernBench bench{refusing_options()};
  SharedClient session{bench};
};

TEST_F(McpRefusedGreetings, SessionsShareChildrenThatTurnOutToBeModern) {
  session.request("initialize", kRefusedGreeting);
  FakeChild& own = refuse(0);
  EXPECT_FALSE(own.ends().empty());
  EXPECT_TRUE(session.take().empty());
  FakeChild& child = bench.child(1);
  child.answer(probed(1), std::string(kDiscovery));
  const Texts answers = session.take();
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_THAT(answers[0], HasSubstr(R"("id":1,"result":{"protocolVersion":"2025-06-18")"));
  EXPECT_EQ(bench.status().isolation, config::Isolation::shared);
  EXPECT_FALSE(bench.backend.owns_children());

  session.request("tools/call", R"({"name":"t"})", "2");
  EXPECT_THAT(child.take_line(),
              HasSubstr(R"("io.modelcontextprotocol/clientInfo":{"name":"ada","version":"1"})"));
  // The next session needs no child of its own.
  SharedClient other(bench);
  other.request("initialize", kRefusedGreeting);
  EXPECT_EQ(other.take().size(), 1U);
  EXPECT_EQ(bench.launcher.launched(), 2U);
}

TEST_F(McpRefusedGreetings, TheRefusalStandsWhereTheChildrenAreLegacy) {
  session.request("initialize", kRefusedGreeting);
  refuse(0);
  greet_legacy(1);
  EXPECT_THAT(session.take(), ElementsAre(refusal()));
  // The session may try again with a child of its own, and the gateway asks for no era any more.
  session.request("initialize", kRefusedGreeting, "2");
  refuse(2);
  EXPECT_THAT(session.take(), ElementsAre(refusal("2")));
  EXPECT_EQ(bench.launcher.launched(), 3U);
  EXPECT_EQ(bench.status().isolation, config::Isolation::session);
}

// The client has not read its messages yet, so the next child is held too.
TEST_F(McpRefusedGreetings, ASlowClientStaysASlowOne) {
  session.request("initialize", kRefusedGreeting);
  refuse(0);
  bench.backend.hold_child(session.session().id, true);
  greet_legacy(1);
  EXPECT_THAT(session.take(), ElementsAre(refusal()));
  bench.child(2).start();
  EXPECT_FALSE(bench.child(2).is_read());
  bench.backend.hold_child(session.session().id, false);
  EXPECT_TRUE(bench.child(2).is_read());
}

TEST_F(McpRefusedGreetings, TheRefusalStandsWhereNoOtherChildStarts) {
  session.request("initialize", kRefusedGreeting);
  refuse(0);
  bench.child(1).fail_to_start("no such program");
  bench.advance(seconds(60));
  EXPECT_THAT(session.take(), ElementsAre(refusal()));
}

// No child starts, so the session ends. The client receives the answer before it is told of the
// end.
TEST_F(McpRefusedGreetings, TheRefusalComesBeforeTheEnd) {
  backend::BackendOptions options = refusing_options();
  options.config.pool.breaker_failures = 1;
  ModernBench failing(options);
  SharedClient client(failing);
  client.request("initialize", kRefusedGreeting);
  refuse(failing, 0).exit(1);
  failing.child(1).fail_to_start("no such program");
  EXPECT_EQ(client.session().end, session::SessionEnd::failed);
  EXPECT_THAT(client.session().received_before_end, ElementsAre(refusal()));
}

TEST_F(McpRefusedGreetings, TheRefusalStandsWhereTheConfigurationSaysSo) {
  backend::BackendOptions options = refusing_options();
  options.config.share_modern = false;
  ModernBench strict(options);
  SharedClient client(strict);
  client.request("initialize", kRefusedGreeting);
  refuse(strict, 0);
  EXPECT_THAT(client.take(), ElementsAre(refusal()));
  EXPECT_EQ(strict.launcher.launched(), 1U);
}

// The program was replaced by a newer one while no client used it.
TEST_F(McpRefusedGreetings, AreBelievedWhereTheServerWasALegacyOne) {
  FakeClient plain(bench.callers);
  bench.send(plain, R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");
  greet_legacy(0);
  bench.child(0).exit(0);
  ASSERT_EQ(bench.status().peer_kind, PeerKind::stateful);
  bench.advance(seconds(1));
  session.request("initialize", kRefusedGreeting);
  refuse(1);
  bench.child(2).answer(probed(2), std::string(kDiscovery));
  EXPECT_THAT(session.take().at(0), HasSubstr(R"("result":{"protocolVersion")"));
  EXPECT_EQ(bench.status().peer_kind, PeerKind::stateless);
}

// The era of a shared child counts more than the refusal of a session's own child.
TEST_F(McpRefusedGreetings, AreNotBelievedWhileALegacyChildIsShared) {
  FakeClient plain(bench.callers);
  bench.send(plain, R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");
  greet_legacy(0);
  session.request("initialize", kRefusedGreeting);
  refuse(1);
  EXPECT_THAT(session.take(), ElementsAre(refusal()));
  EXPECT_EQ(bench.status().peer_kind, PeerKind::stateful);
  EXPECT_EQ(bench.launcher.launched(), 2U) << "nothing is asked";
}

// The server was legacy, as its shared child and the session's own child have shown. When the
// session is revived, the server has been replaced, so the next child is asked for its era.
TEST_F(McpRefusedGreetings, OfASessionThatIsRevivedAreBelievedToo) {
  FakeClient plain(bench.callers);
  bench.send(plain, R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");
  greet_legacy(0);
  bench.child(0).exit(0);
  bench.advance(seconds(1));
  session.request("initialize", kRefusedGreeting);
  bench.child(1).start();
  bench.child(1).answer(bench.child(1).take_ids().at(0), std::string(kGreeting));
  session.send(note("initialized", "{}"));
  session.take();
  bench.child(1).take_lines();
  ASSERT_EQ(bench.backend.park_session(session.session().id), session::Parking::parked);
  bench.child(1).exit(0);
  ASSERT_EQ(bench.status().peer_kind, PeerKind::stateful);
  session.call("2");
  refuse(2).exit(0);
  bench.settle();
  EXPECT_TRUE(session.session().end.has_value());
  EXPECT_EQ(bench.status().peer_kind, std::nullopt);
  FakeClient modern(bench.callers);
  bench.send_modern(modern, request("3", "tools/list"));
  bench.child(3).answer(probed(3), std::string(kDiscovery));
  EXPECT_EQ(parse_asked(bench.child(3).take_line()).method, "tools/list");
  EXPECT_EQ(bench.status().failures, 0U);
}

TEST_F(McpRefusedGreetings, SessionsThatBeginMeanwhileShareThemToo) {
  SharedClient other(bench);
  session.request("initialize", kRefusedGreeting);
  other.request("initialize", kRefusedGreeting);
  refuse(0);
  bench.child(2).answer(probed(2), std::string(kDiscovery));
  EXPECT_EQ(session.take().size(), 1U);
  refuse(1);
  EXPECT_THAT(other.take().at(0), HasSubstr(R"("result":{"protocolVersion")"));
  EXPECT_EQ(bench.launcher.launched(), 3U);
}

TEST_F(McpRefusedGreetings, OneChildAtATimeIsEnough) {
  ModernBench narrow(refusing_options(1));
  SharedClient client(narrow);
  client.request("initialize", kRefusedGreeting);
  FakeChild& own = refuse(narrow, 0);
  EXPECT_EQ(narrow.launcher.launched(), 1U);
  own.exit(0);
  narrow.settle();
  narrow.begin(1, kDiscovery);
  EXPECT_THAT(client.take().at(0), HasSubstr(R"("result":{"protocolVersion")"));
}

// The client's messages filled the queue for its own child, which has ended. New messages are
// refused, or wait for other children.
TEST_F(McpRefusedGreetings, AClientThatWasToldToWaitGoesOn) {
  backend::BackendOptions options = refusing_options();
  options.config.pool.max_in_flight = 1;
  options.config.pool.queue = 4;
  ModernBench full(options);
  SharedClient client(full);
  client.request("initialize", kRefusedGreeting);
  for (const char* id : {"2", "3", "4"}) client.request("tools/list", "{}", id);
  ASSERT_FALSE(client.session().reading);
  refuse(full, 0);
  EXPECT_TRUE(client.session().reading);
}

// The only place belongs to a session whose greeting is refused. Another session waits for the
// place.
class McpRefusedInOnePlace : public McpRefusedGreetings {
 public:
  McpRefusedInOnePlace() {
    waiting.id =
        narrow.backend.adopt_session(waiting.caller(), waiting, {}, {kRefusedGreeting}).value();
    client.request("initialize", kRefusedGreeting);
    call("5");
    refuse(narrow, 0).exit(0);
    narrow.settle();
  }
  void call(const std::string& id) {
    narrow.send(waiting, R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":"tools/list"})");
  }

  ModernBench narrow{refusing_options(1)};
  FakeSession waiting{narrow.callers};
  SharedClient client{narrow};
};

TEST_F(McpRefusedInOnePlace, WhoWaitsSharesTheModernChild) {
  FakeChild& child = narrow.begin(1, kDiscovery);
  EXPECT_THAT(client.take().at(0), HasSubstr(R"("result":{"protocolVersion")"));
  EXPECT_THAT(waiting.take().at(0), HasSubstr(R"("id":5,"error")")) << "it was written for another";
  call("6");
  EXPECT_THAT(child.take_line(), HasSubstr(R"("method":"tools/list")"));
  EXPECT_EQ(narrow.launcher.launched(), 2U);
  narrow.backend.check_invariants();
}

TEST_F(McpRefusedInOnePlace, AClientThatGivesItsGreetingUpWaitsForAnotherPlace) {
  client.send(note("cancelled", R"({"requestId":1})"));
  EXPECT_EQ(client.cancelled().size(), 1U);
  EXPECT_FALSE(client.session().end);
  narrow.backend.check_invariants();
}

TEST_F(McpRefusedInOnePlace, WhoWaitsAndWasToldSoGoesOn) {
  for (int id = 6; waiting.reading; ++id) call(std::to_string(id));
  narrow.begin(1, kDiscovery);
  EXPECT_TRUE(waiting.reading);
}

TEST_F(McpRefusedInOnePlace, WhoWaitsGetsThePlaceIfTheClientLeaves) {
  client.close();
  narrow.child(1).start();
  narrow.child(1).exit(1);
  narrow.advance(seconds(10));
  FakeChild& own = narrow.child(narrow.launcher.launched() - 1);
  own.start();
  EXPECT_EQ(parse_asked(own.take_line()).method, "initialize");
  narrow.backend.check_invariants();
}

// While a session's greeting has the only place, no call can have a child alone. This is temporary,
// so the client must not be told that the server is of another era.
TEST_F(McpRefusedGreetings, AModernClientIsToldToTryAgain) {
  backend::BackendOptions options = refusing_options(1);
  options.config.pool.queue = 1;
  options.config.bridge = config::Bridge::on;
  TripBench narrow(options);
  SharedClient greeting(narrow);
  greeting.request("initialize", kRefusedGreeting);
  refuse(narrow, 0);
  FakeClient client(narrow.callers);
  narrow.call(client, "5");
  EXPECT_THAT(client.texts().at(0), HasSubstr("the queue of this backend is full"));
}

TEST_F(McpRefusedGreetings, WarmChildrenGoAndThoseFromElsewhereMoveOver) {
  backend::BackendOptions options = refusing_options(3);
  options.config.pool.warm = 1;
  ModernBench warm(options);
  FakeSession adopted(warm.callers);
  const auto moved = warm.backend.adopt_session(adopted.caller(), adopted, {}, {kRefusedGreeting});
  ASSERT_TRUE(moved);
  adopted.id = *moved;
  SharedClient client(warm);
  client.request("initialize", kRefusedGreeting);
  refuse(warm, 0);
  FakeChild& spare = warm.child(1);
  size_t shared = 2;
  while (shared + 1 < warm.launcher.launched()) ++shared;
  warm.child(shared).start();
  warm.child(shared).answer(parse_asked(warm.child(shared).take_line()).id,
                            std::string(kDiscovery));
  EXPECT_EQ(client.take().size(), 1U);
  EXPECT_FALSE(spare.ends().empty());
  warm.send(adopted, R"({"jsonrpc":"2.0","id":5,"method":"tools/list"})");
  EXPECT_THAT(warm.child(shared).take_line(),
              HasSubstr(R"("io.modelcontextprotocol/clientInfo":{"name":"ada","version":"1"})"));
}

TEST_F(McpRefusedGreetings, AGreetingNeedsNoParams) {
  session.send(R"({"jsonrpc":"2.0","id":1,"method":"initialize"})");
  refuse(0);
  bench.child(1).answer(probed(1), std::string(kDiscovery));
  EXPECT_THAT(session.take().at(0), HasSubstr(R"("id":1,"result")"));
}

TEST_F(McpRefusedGreetings, OtherMessagesHaveToWaitForTheAnswer) {
  session.request("initialize", kRefusedGreeting);
  session.request("tools/list", "{}", "2");  // waits for the session's own child
  refuse(0);
  EXPECT_THAT(session.take().at(0), HasSubstr(R"("id":2,"error")"));
  session.request("tools/list", "{}", "3");
  EXPECT_THAT(session.take().at(0), HasSubstr("initialize is not answered yet"));
  EXPECT_EQ(session.send(note("roots/list_changed", "{}")), backend::Admission::refused_overloaded);
  bench.child(1).answer(probed(1), std::string(kDiscovery));
  EXPECT_THAT(session.take().at(0), HasSubstr(R"("id":1,"result")"));
  EXPECT_TRUE(bench.child(1).take_lines().empty());
}

TEST_F(McpRefusedGreetings, AClientThatLeavesIsForgotten) {
  session.request("initialize", kRefusedGreeting);
  refuse(0);
  session.close();
  bench.child(1).answer(probed(1), std::string(kDiscovery));
  EXPECT_TRUE(session.take().empty());
  bench.backend.check_invariants();
}

TEST_F(McpRefusedGreetings, AStopAnswersWithTheRefusal) {
  session.request("initialize", kRefusedGreeting);
  refuse(0);
  bench.backend.drain();
  bench.backend.fail_calls(rpc::faults::shutting_down());
  EXPECT_THAT(session.take(), ElementsAre(refusal()));
  bench.backend.check_invariants();
}

// --- More new sessions than places, before the era is known

class McpColdStart : public McpRefusedGreetings {
 public:
  explicit McpColdStart(uint32_t queue = 100) : cold(cold_options(queue)) {
    for (int i = 0; i < 5; ++i) {
      clients.push_back(std::make_unique<SharedClient>(cold));
      clients.back()->request("initialize", kRefusedGreeting);
    }
  }
  static backend::BackendOptions cold_options(uint32_t queue) {
    backend::BackendOptions options = refusing_options(2);
    options.config.pool.sessions = 10;
    options.config.pool.queue = queue;
    return options;
  }
  ModernBench cold;
  std::vector<std::unique_ptr<SharedClient>> clients;
};

TEST_F(McpColdStart, TheyWaitAndShareTheModernChildren) {
  EXPECT_EQ(cold.launcher.launched(), 2U);
  refuse(cold, 0).exit(0);
  refuse(cold, 1).exit(0);
  cold.settle();
  ASSERT_EQ(cold.launcher.launched(), 3U) << "no other session gets a child now";
  FakeChild& shared = cold.child(2);
  shared.start();
  const Asked asked = parse_asked(shared.take_line());
  ASSERT_EQ(asked.method, "server/discover");
  shared.answer(asked.id, std::string(kDiscovery));
  for (const auto& client : clients) {
    EXPECT_THAT(client->take(), ElementsAre(HasSubstr(R"("result":{"protocolVersion")")));
  }
  EXPECT_EQ(cold.launcher.launched(), 3U) << "one is enough for all";
  cold.backend.check_invariants();
}

TEST_F(McpColdStart, TheyGetAPlaceInTurnWhereTheServerTakesSessions) {
  for (size_t i = 0; i < cold.launcher.launched(); ++i) {
    FakeChild& own = cold.child(i);
    own.start();
    own.answer(own.take_ids().at(0), std::string(kGreeting));
    cold.settle();
    if (!own.ends().empty()) own.exit(0);
    cold.settle();
    cold.backend.check_invariants();
  }
  EXPECT_EQ(cold.launcher.launched(), clients.size());
  for (const auto& client : clients) {
    EXPECT_THAT(client->take(), ElementsAre(HasSubstr(R"("result")")));
  }
}

TEST_F(McpColdStart, TheyAreNotMoreThanMayWait) {
  ModernBench narrow(cold_options(1));
  FakeSession sessions[] = {FakeSession(narrow.callers), FakeSession(narrow.callers),
                            FakeSession(narrow.callers), FakeSession(narrow.callers)};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_FALSE(narrow.open(sessions[i]).has_value()) << "it may never say anything";
    narrow.send(sessions[i], R"({"jsonrpc":"2.0","id":1,"method":"initialize"})");
    EXPECT_EQ(sessions[i].received.size(), i == 3 ? 1U : 0U) << i;
  }
  EXPECT_THAT(sessions[3].take(), ElementsAre(HasSubstr("2 of 2 sessions are at work")));
}

}  // namespace
}  // namespace stdgate::test

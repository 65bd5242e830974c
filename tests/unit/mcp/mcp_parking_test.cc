// Sessions and the children that serve them at present: parking, revival, eviction, takeover.

#include <algorithm>
#include <map>
#include <vector>

#include "tests/unit/mcp/mcp_world.h"

namespace stdgate::test {
namespace {

using Kind = mcp::McpSession::Kind;
using Posted = mcp::McpSession::Posted;

constexpr const char* kParams =
    R"({"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"2"}})";
constexpr const char* kTerms =
    R"({"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s"}})";

std::string initialize_text(const std::string& id) {
  return R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":"initialize","params":)" + kParams + "}";
}

std::string call_text(const std::string& id, const std::string& method, const std::string& params) {
  return R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":")" + method + R"(","params":)" + params +
         "}";
}

backend::BackendOptions reviving(uint32_t max = 8) {
  backend::BackendOptions options = mcp_options();
  options.config.name = "b";
  options.config.revive = true;
  options.config.pool.max = max;
  return options;
}

// Ids that carry their session: "<id>|<params of initialize>".
class CarryingIds final : public session::SessionIds {
 public:
  std::string issue(const session::SessionFacts& facts) override {
    const std::string id = "carrying-" + std::to_string(++issued);
    carried[id] = {std::string(facts.initialize), left};
    return id;
  }
  std::optional<session::CarriedSession> open(std::string_view id, std::string_view backend,
                                              const policy::Principal* /*principal*/) override {
    const auto found = carried.find(std::string(id));
    if (found == carried.end() || backend != "b") return std::nullopt;
    return found->second;
  }
  [[nodiscard]] SessionName name_of(std::string_view id) const override {
    return SessionName::of(static_cast<uint32_t>(std::hash<std::string_view>()(id)));
  }
  [[nodiscard]] std::optional<Duration> lifetime() const override { return left; }

  Duration left = hours(24);
  int issued = 0;
  std::map<std::string, session::CarriedSession> carried;
};

class McpParkingTest : public testing::Test {
 protected:
  explicit McpParkingTest(const backend::BackendOptions& options = reviving()) : world_(options) {}

  // Opens and initializes a session. Its child is the one that was launched last.
  mcp::McpSession& greet() {
    mcp::McpSession& session = world_.open();
    FakeEventSink sink;
    world_.post(session, sink, initialize_text("0"));
    FakeChild& child = last_child();
    child.answer(child.take_ids().at(0), kTerms);
    EXPECT_TRUE(sink.json.has_value());
    FakeEventSink unused;
    EXPECT_EQ(world_.post(session, unused, note_text("notifications/initialized")), Posted::taken);
    child.take_lines();
    return session;
  }
  FakeChild& last_child() {
    return world_.bench.launcher.child(world_.bench.launcher.launched() - 1);
  }
  // Sends a call, which the session's child answers.
  void call(mcp::McpSession& session, FakeChild& child) {
    FakeEventSink sink;
    world_.post(session, sink, request_text("9", "tools/list"));
    child.answer(child.take_ids().at(0));
    EXPECT_TRUE(sink.json.has_value());
  }
  // Starts the new child of a revived session, and lets it answer the greeting.
  FakeChild& answer_greeting(const std::string& terms = kTerms) {
    FakeChild& child = world_.bench.start_child();
    const std::string greeting = child.take_line();
    EXPECT_THAT(greeting, HasSubstr(R"("method":"initialize","params":)" + std::string(kParams)));
    child.answer(id_in(greeting), terms);
    return child;
  }
  // Ends the children that were asked to end.
  void end_asked() {
    for (size_t i = 0; i < world_.bench.launcher.launched(); ++i) {
      FakeChild& child = world_.bench.launcher.child(i);
      if (child.running() && !child.ends().empty()) child.exit(0);
    }
    world_.bench.settle();
  }
  [[nodiscard]] std::map<ParkReason, int>& parked() { return world_.bench.observer.parked; }
  [[nodiscard]] std::map<RevivalOutcome, int>& revived() { return world_.bench.observer.revived; }
  void check() { world_.bench.backend.check_invariants(); }

  FakeEventSink post_;
  FakeEventSink other_;
  FakeEventSink get_;
  McpWorld world_;
};

TEST_F(McpParkingTest, AnIdleSessionIsParkedAndItsNextRequestRevivesIt) {
  mcp::McpSession& session = greet();
  FakeChild& first = last_child();
  call(session, first);
  world_.bench.advance(McpWorld::kIdleTimeout);
  EXPECT_FALSE(first.ends().empty());
  EXPECT_EQ(parked()[ParkReason::idle], 1);
  EXPECT_TRUE(world_.is_open());
  end_asked();
  check();

  EXPECT_EQ(world_.post(session, post_, request_text("1", "tools/list")), Posted::under_way);
  FakeChild& second = answer_greeting();
  const auto lines = second.take_lines();
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_THAT(lines[0], HasSubstr("notifications/initialized"));
  EXPECT_THAT(lines[1], HasSubstr("tools/list"));
  second.answer(id_in(lines[1]));
  const auto events = post_.take();
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_THAT(events[0],
              AllOf(HasSubstr(R"("level":"warning")"), HasSubstr(R"("logger":"stdgate")"),
                    HasSubstr("the server was restarted")));
  EXPECT_EQ(events[1], result_text("1"));
  EXPECT_EQ(revived()[RevivalOutcome::same], 1);
  check();
}

// A session's child is replaced when the session is idle.
class McpReplacementTest : public McpParkingTest {
 protected:
  static backend::BackendOptions options() {
    backend::BackendOptions options = reviving();
    options.config.pool.max_calls = 3;
    return options;
  }
  McpReplacementTest() : McpParkingTest(options()) {}
};

TEST_F(McpReplacementTest, TheSessionIsParkedWhenItIsIdle) {
  mcp::McpSession& session = greet();
  FakeChild& first = last_child();
  call(session, first);
  EXPECT_EQ(world_.post(session, post_, request_text("1", "tools/list")), Posted::under_way);
  world_.bench.advance(seconds(2));
  EXPECT_THAT(first.ends(), IsEmpty()) << "it is at work";
  first.answer(first.take_ids().at(0));
  world_.bench.settle();
  EXPECT_FALSE(first.ends().empty());
  EXPECT_EQ(parked()[ParkReason::replaced], 1);
  EXPECT_EQ(world_.bench.observer.replaced, std::vector{ReplaceReason::calls});
  end_asked();
  EXPECT_EQ(world_.post(session, other_, request_text("2", "tools/list")), Posted::under_way);
  FakeChild& second = answer_greeting();
  const auto lines = second.take_lines();
  ASSERT_THAT(lines, SizeIs(2));
  second.answer(id_in(lines[1]));
  EXPECT_EQ(other_.take().back(), result_text("2"));
  check();
}

TEST_F(McpParkingTest, NobodyIsToldWhereNothingWasKept) {
  mcp::McpSession& session = greet();
  world_.bench.advance(McpWorld::kIdleTimeout);
  end_asked();
  world_.post(session, post_, request_text("1", "tools/list"));
  FakeChild& second = answer_greeting();
  second.take_line();
  second.answer(id_in(second.take_line()));
  EXPECT_EQ(post_.json, result_text("1"));
}

TEST_F(McpParkingTest, ADeathIsAFaultOfTheCallsAndTheSessionGoesOn) {
  mcp::McpSession& session = greet();
  FakeChild& first = last_child();
  world_.post(session, post_, request_text("1", "tools/call"));
  first.die(9);
  world_.bench.settle();
  ASSERT_TRUE(post_.json.has_value());
  EXPECT_THAT(*post_.json, HasSubstr("error"));
  EXPECT_EQ(parked()[ParkReason::child_ended], 1);
  EXPECT_TRUE(world_.is_open());

  world_.post(session, other_, request_text("2", "tools/list"));
  world_.bench.advance(seconds(1));
  FakeChild& second = answer_greeting();
  second.take_line();
  second.answer(id_in(second.take_line()));
  EXPECT_THAT(other_.take(), ElementsAre(HasSubstr("restarted"), result_text("2")));
  check();
}

TEST_F(McpParkingTest, WhatItToldItsChildIsToldTheNextOne) {
  mcp::McpSession& session = greet();
  FakeChild& first = last_child();
  int id = 10;
  for (const auto& [method, params] : std::vector<std::pair<std::string, std::string>>{
           {"logging/setLevel", R"({"level":"error"})"},
           {"resources/subscribe", R"({"uri":"file:///b"})"},
           {"resources/subscribe", R"({"uri":"file:///a"})"},
           {"resources/subscribe", R"({"uri":"file:///gone"})"},
           {"resources/unsubscribe", R"({"uri":"file:///gone"})"}}) {
    FakeEventSink sink;
    world_.post(session, sink, call_text(std::to_string(++id), method, params));
    first.answer(first.take_ids().at(0), "{}");
  }
  first.exit(0);
  world_.bench.settle();
  world_.post(session, post_, request_text("1", "tools/list"));
  FakeChild& second = answer_greeting();
  EXPECT_THAT(second.take_lines(),
              ElementsAre(HasSubstr("notifications/initialized"), HasSubstr(R"("level":"error")"),
                          HasSubstr("file:///a"), HasSubstr("file:///b"), HasSubstr("tools/list")));
  EXPECT_THAT(post_.take(), IsEmpty()) << "the client wants errors only";
}

TEST_F(McpParkingTest, AnotherOfferIsAnnounced) {
  mcp::McpSession& session = greet();
  last_child().exit(0);
  world_.bench.settle();
  world_.post(session, post_, request_text("1", "tools/list"));
  FakeChild& second = answer_greeting(
      R"({"protocolVersion":"2025-11-25","capabilities":{"prompts":{}},"serverInfo":{"name":"s"}})");
  second.take_line();
  second.answer(id_in(second.take_line()));
  EXPECT_THAT(post_.take(),
              ElementsAre(HasSubstr("notifications/tools/list_changed"),
                          HasSubstr("notifications/prompts/list_changed"), result_text("1")));
  EXPECT_EQ(revived()[RevivalOutcome::changed], 1);
}

TEST_F(McpParkingTest, AnotherRevisionEndsTheSession) {
  mcp::McpSession& session = greet();
  last_child().exit(0);
  world_.bench.settle();
  world_.post(session, post_, request_text("1", "tools/list"));
  answer_greeting(R"({"protocolVersion":"2025-06-18","capabilities":{"tools":{}}})");
  ASSERT_TRUE(post_.json.has_value());
  EXPECT_THAT(*post_.json, HasSubstr("error"));
  EXPECT_FALSE(world_.is_open());
  EXPECT_EQ(revived()[RevivalOutcome::other_revision], 1);
  world_.bench.settle();
  EXPECT_EQ(world_.sessions.size(), 0U);
  end_asked();
  check();
}

TEST_F(McpParkingTest, MessagesThatComeMeanwhileAreSentInOrder) {
  mcp::McpSession& session = greet();
  last_child().exit(0);
  world_.bench.settle();
  FakeEventSink unused;
  world_.post(session, post_, request_text("1", "one"));
  world_.post(session, unused, note_text("notifications/roots/list_changed"));
  world_.post(session, other_, request_text("2", "two"));
  FakeChild& second = answer_greeting();
  EXPECT_THAT(second.take_lines(), ElementsAre(HasSubstr("initialized"), HasSubstr("one"),
                                               HasSubstr("roots"), HasSubstr("two")));
}

TEST_F(McpParkingTest, ANotificationRevivesToo) {
  mcp::McpSession& session = greet();
  last_child().exit(0);
  world_.bench.settle();
  EXPECT_EQ(world_.post(session, post_, note_text("notifications/roots/list_changed")),
            Posted::taken);
  EXPECT_THAT(answer_greeting().take_lines(),
              ElementsAre(HasSubstr("initialized"), HasSubstr("roots")));
}

TEST_F(McpParkingTest, ARevivalThatFailsIsAFaultAndTheNextRequestTriesAgain) {
  mcp::McpSession& session = greet();
  last_child().exit(0);
  world_.bench.settle();
  world_.post(session, post_, request_text("1"));
  world_.bench.start_child().die(11);
  world_.bench.settle();
  ASSERT_TRUE(post_.json.has_value());
  EXPECT_EQ(revived()[RevivalOutcome::failed], 1);
  world_.post(session, other_, request_text("2"));
  world_.bench.advance(seconds(1));
  FakeChild& third = answer_greeting();
  third.take_line();
  third.answer(id_in(third.take_line()));
  EXPECT_EQ(other_.json, result_text("2"));
  check();
}

TEST_F(McpParkingTest, ASessionThatWasPausedGoesOnAfterARevivalThatFails) {
  backend::BackendOptions options = reviving();
  options.config.pool.queue = 4;
  FakeEventSink greeting;
  FakeEventSink waiting[2];
  FakeEventSink surplus;
  McpWorld world(options);
  mcp::McpSession& session = world.open();
  world.post(session, greeting, initialize_text("0"));
  FakeChild& first = world.bench.launcher.child(0);
  first.answer(first.take_ids().at(0), kTerms);
  first.exit(0);
  world.bench.settle();
  for (FakeEventSink& sink : waiting) world.post(session, sink, request_text("1"));
  EXPECT_EQ(world.post(session, surplus, request_text("2")), Posted::overloaded);
  FakeChild& second = world.bench.start_child();
  second.die(9);
  world.bench.settle();
  for (const FakeEventSink& sink : waiting) EXPECT_TRUE(sink.json.has_value());
  EXPECT_EQ(world.post(session, surplus, request_text("3")), Posted::under_way);
}

// A notification has no stream, so the session looks idle while a notification waits.
TEST_F(McpParkingTest, ASessionAtWorkIsParkedWhenItHasFinished) {
  mcp::McpSession& session = greet();
  FakeChild& first = last_child();
  first.stop_reading();
  const std::string padding(pool::ChildLink::kHighWatermark, 'x');
  for (const std::string& text : {padding, std::string("waits")}) {
    world_.post(session, post_,
                R"({"jsonrpc":"2.0","method":"notifications/x","params":{"a":")" + text + R"("}})");
  }
  world_.bench.advance(McpWorld::kIdleTimeout);
  EXPECT_THAT(parked(), IsEmpty());
  first.drain_stdin();
  world_.bench.advance(McpWorld::kIdleTimeout);
  EXPECT_EQ(parked()[ParkReason::idle], 1);
}

TEST_F(McpParkingTest, AChildThatRefusesTheGreetingIsEnded) {
  mcp::McpSession& session = greet();
  last_child().exit(0);
  world_.bench.settle();
  world_.post(session, post_, request_text("1"));
  FakeChild& second = world_.bench.start_child();
  second.say(error_text(id_in(second.take_line()), -32603, "no"));
  EXPECT_FALSE(second.ends().empty());
  second.die(9);
  world_.bench.settle();
  EXPECT_TRUE(post_.json.has_value());
  EXPECT_TRUE(world_.is_open());
  check();
}

// The client has to begin again, and no other session is affected.
TEST_F(McpParkingTest, AServerThatHasBecomeModernEndsTheSession) {
  mcp::McpSession& session = greet();
  last_child().exit(0);
  world_.bench.settle();
  world_.post(session, post_, request_text("1"));
  FakeChild& second = world_.bench.start_child();
  second.say(error_text(id_in(second.take_line()), -32022, "no such version"));
  EXPECT_FALSE(second.ends().empty());
  EXPECT_TRUE(post_.json.has_value());
  second.die(9);
  world_.bench.settle();
  EXPECT_FALSE(world_.is_open());
  EXPECT_EQ(world_.bench.status().failures, 0U);
  check();
}

TEST_F(McpParkingTest, ACallsDeadlineHoldsWhileItsSessionIsRevived) {
  mcp::McpSession& session = greet();
  last_child().exit(0);
  world_.bench.settle();
  world_.post(session, post_, request_text("1"));
  world_.bench.start_child();
  world_.bench.advance(seconds(61));
  EXPECT_THAT(post_.take(), ElementsAre(HasSubstr("error")));
  check();
}

TEST_F(McpParkingTest, AnOpenStreamKeepsASessionFromBeingParkedWhenIdle) {
  mcp::McpSession& session = greet();
  session.listen(get_);
  world_.bench.advance(2 * McpWorld::kIdleTimeout);
  EXPECT_THAT(parked(), IsEmpty());
}

// --- Places ---------------------------------------------------------------------------------

class McpPlacesTest : public McpParkingTest {
 protected:
  McpPlacesTest() : McpParkingTest(reviving(2)) {}
};

TEST_F(McpPlacesTest, TwoChildrenAreTwoSessions) {
  greet();
  greet();
  EXPECT_THAT(parked(), IsEmpty());
  EXPECT_EQ(world_.sessions.size(), 2U);
}

TEST_F(McpPlacesTest, TheOneThatHasBeenIdleLongestGivesItsPlace) {
  mcp::McpSession& one = greet();
  FakeChild& first = last_child();
  world_.bench.advance(seconds(1));
  mcp::McpSession& two = greet();
  FakeChild& second = last_child();
  world_.bench.advance(seconds(1));
  call(one, first);
  const auto third = world_.sessions.open(Kind::streamable);
  ASSERT_TRUE(third.has_value());
  EXPECT_TRUE(first.ends().empty());
  EXPECT_FALSE(second.ends().empty());
  EXPECT_EQ(parked()[ParkReason::place_needed], 1);
  EXPECT_NE(world_.sessions.find(two.id(), Kind::streamable, nullptr), nullptr);
  end_asked();
  EXPECT_EQ(world_.bench.launcher.launched(), 3U);
  check();
}

TEST_F(McpPlacesTest, ThoseWithoutAStreamGoFirst) {
  mcp::McpSession& one = greet();
  FakeChild& first = last_child();
  one.listen(get_);
  world_.bench.advance(seconds(1));
  greet();
  FakeChild& second = last_child();
  const auto third = world_.sessions.open(Kind::streamable);
  ASSERT_TRUE(third.has_value());
  EXPECT_TRUE(first.ends().empty());
  EXPECT_FALSE(second.ends().empty());
  world_.post(**third, other_, initialize_text("1"));
  ASSERT_TRUE(world_.sessions.open(Kind::streamable).has_value());
  EXPECT_FALSE(first.ends().empty());
  EXPECT_FALSE(get_.over) << "the stream stays";
  end_asked();
  check();
}

TEST_F(McpPlacesTest, WhenAllAreAtWorkANewOneWaits) {
  mcp::McpSession& one = greet();
  FakeChild& first = last_child();
  mcp::McpSession& two = greet();
  world_.post(one, post_, request_text("1"));
  world_.post(two, other_, request_text("1"));
  const auto third = world_.sessions.open(Kind::streamable);
  ASSERT_TRUE(third.has_value());
  FakeEventSink begins;
  world_.post(**third, begins, initialize_text("1"));
  world_.bench.settle();
  EXPECT_TRUE(first.ends().empty());
  EXPECT_FALSE(begins.over);
  check();
  first.answer(first.take_ids().at(0));
  world_.bench.settle();
  EXPECT_FALSE(first.ends().empty());
  end_asked();
  FakeChild& own = world_.bench.start_child();
  own.answer(own.take_ids().at(0), kTerms);
  EXPECT_TRUE(begins.json.has_value());
  EXPECT_FALSE((*third)->is_over());
  check();
}

TEST_F(McpPlacesTest, OneWhoseClientDoesNotWaitIsOver) {
  mcp::McpSession& one = greet();
  mcp::McpSession& two = greet();
  world_.post(one, post_, request_text("1"));
  world_.post(two, other_, request_text("1"));
  const auto third = world_.sessions.open(Kind::streamable);
  ASSERT_TRUE(third.has_value());
  const std::string id = (*third)->id();
  world_.post(**third, get_, initialize_text("1"));
  get_.leave();
  world_.sessions.detach(id, get_);
  world_.bench.settle();
  EXPECT_EQ(world_.sessions.find(id, Kind::streamable, nullptr), nullptr);
  EXPECT_EQ(world_.bench.status().queued, 0U);
  check();
}

TEST_F(McpPlacesTest, ARequestOfAParkedSessionWaitsForAPlace) {
  mcp::McpSession& one = greet();
  FakeChild& first = last_child();
  mcp::McpSession& two = greet();
  FakeChild& second = last_child();
  world_.bench.advance(seconds(1));
  call(two, second);
  ASSERT_TRUE(world_.sessions.open(Kind::streamable).has_value());  // parks the first session
  world_.post(*world_.sessions.find("a-secret-of-this-session-10000003", Kind::streamable, nullptr),
              get_, initialize_text("1"));
  world_.post(two, other_, request_text("2"));
  EXPECT_FALSE(first.ends().empty());
  end_asked();
  world_.post(one, post_, request_text("3", "waits"));
  EXPECT_EQ(world_.bench.launcher.launched(), 3U);
  check();
  // The second session has finished its work, and gives up its place.
  second.answer(second.take_ids().at(0));
  world_.bench.settle();
  EXPECT_FALSE(second.ends().empty());
  end_asked();
  EXPECT_EQ(world_.bench.launcher.launched(), 4U);
  FakeChild& fourth = answer_greeting();
  fourth.take_line();
  EXPECT_THAT(fourth.take_line(), HasSubstr("waits"));
  check();
}

TEST_F(McpPlacesTest, CallsWithoutASessionGetAPlaceToo) {
  greet();
  greet();
  FakeClient client(world_.bench.callers);
  world_.bench.send(client, request_text("1", "tools/list"));
  EXPECT_EQ(parked()[ParkReason::place_needed], 1);
  end_asked();
  FakeChild& shared = world_.bench.start_child();
  EXPECT_THAT(shared.take_line(), HasSubstr("stdgate"));
  check();
}

TEST_F(McpPlacesTest, WithoutRevivalTheSessionIsOver) {
  backend::BackendOptions options = reviving(1);
  options.config.revive = false;
  McpWorld world(options);
  mcp::McpSession& one = world.greet();
  const std::string id = one.id();
  ASSERT_TRUE(world.sessions.open(Kind::streamable).has_value());
  EXPECT_EQ(world.sessions.find(id, Kind::streamable, nullptr), nullptr);
}

// --- How long an idle session keeps its child -------------------------------------------------

class McpHoldTest : public McpParkingTest {
 protected:
  explicit McpHoldTest(Duration min_hold = seconds(2), uint32_t queue = 100)
      : McpParkingTest(holding(min_hold, queue)) {}
  static backend::BackendOptions holding(Duration min_hold, uint32_t queue) {
    backend::BackendOptions options = reviving(2);
    options.config.pool.min_hold = min_hold;
    options.config.pool.queue = queue;
    return options;
  }
  // Opens a session and sends its initialize.
  mcp::McpSession* begin(FakeEventSink& sink) {
    const auto opened = world_.sessions.open(Kind::streamable);
    if (!opened) return nullptr;
    world_.post(**opened, sink, initialize_text("1"));
    world_.bench.settle();
    check();
    return *opened;
  }
};

TEST_F(McpHoldTest, AnotherOneWaitsUntilItHasBeenIdleForSoLong) {
  mcp::McpSession& one = greet();
  FakeChild& first = last_child();
  greet();
  FakeChild& second = last_child();
  world_.bench.advance(seconds(1));
  call(one, first);
  begin(post_);
  EXPECT_TRUE(first.ends().empty());
  EXPECT_TRUE(second.ends().empty());
  world_.bench.advance(milliseconds(999));
  EXPECT_TRUE(second.ends().empty());
  world_.bench.advance(milliseconds(1));
  EXPECT_FALSE(second.ends().empty()) << "it has been idle longest";
  begin(other_);
  world_.bench.advance(milliseconds(999));
  EXPECT_TRUE(first.ends().empty());
  world_.bench.advance(milliseconds(1));
  EXPECT_FALSE(first.ends().empty());
  end_asked();
  EXPECT_EQ(world_.bench.launcher.launched(), 4U);
  check();
}

TEST_F(McpHoldTest, WhoIsUsedMeanwhileKeepsItsChild) {
  mcp::McpSession& one = greet();
  FakeChild& first = last_child();
  mcp::McpSession& two = greet();
  FakeChild& second = last_child();
  begin(post_);
  world_.bench.advance(seconds(1));
  world_.post(one, get_, request_text("1"));
  world_.post(two, other_, request_text("1"));
  world_.bench.advance(seconds(5));
  EXPECT_TRUE(first.ends().empty());
  EXPECT_TRUE(second.ends().empty());
  second.answer(second.take_ids().at(0));
  world_.bench.advance(seconds(2));
  EXPECT_TRUE(first.ends().empty());
  EXPECT_FALSE(second.ends().empty());
  check();
}

TEST_F(McpHoldTest, CallsWithoutASessionWaitToo) {
  greet();
  FakeChild& first = last_child();
  greet();
  FakeClient client(world_.bench.callers);
  world_.bench.send(client, request_text("1", "tools/list"));
  EXPECT_TRUE(client.answers.empty());
  world_.bench.advance(seconds(2));
  EXPECT_FALSE(first.ends().empty());
  end_asked();
  EXPECT_THAT(world_.bench.start_child().take_line(), HasSubstr("stdgate"));
  check();
}

TEST_F(McpHoldTest, CallsWithoutASessionAreRefusedIfAllAreAtWorkThen) {
  mcp::McpSession& one = greet();
  mcp::McpSession& two = greet();
  FakeClient client(world_.bench.callers);
  world_.bench.send(client, request_text("1", "tools/list"));
  world_.post(one, post_, request_text("1"));
  world_.post(two, other_, request_text("1"));
  world_.bench.advance(seconds(2));
  ASSERT_EQ(client.answers.size(), 1U);
  EXPECT_EQ(client.answers[0].fault, rpc::Fault::overloaded);
  check();
}

class McpLongHoldTest : public McpHoldTest {
 protected:
  McpLongHoldTest() : McpHoldTest(hours(1), 1) {}
};

TEST_F(McpLongHoldTest, OneThatWaitsTooLongIsOver) {
  greet();
  greet();
  mcp::McpSession* const third = begin(post_);
  ASSERT_NE(third, nullptr);
  const std::string id = third->id();
  world_.bench.advance(seconds(59));
  EXPECT_FALSE(post_.over);
  world_.bench.advance(seconds(1));
  EXPECT_TRUE(post_.over);
  EXPECT_THAT(post_.take(), ElementsAre(HasSubstr("error")));
  EXPECT_EQ(world_.sessions.find(id, Kind::streamable, nullptr), nullptr);
  EXPECT_EQ(world_.bench.status().queued, 0U);
}

TEST_F(McpLongHoldTest, NoMoreWaitThanTheQueueHolds) {
  greet();
  greet();
  ASSERT_NE(begin(post_), nullptr);
  const auto refused = world_.sessions.open(Kind::streamable);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().fault, rpc::Fault::overloaded);
  EXPECT_EQ(refused.error().message,
            "2 of 2 sessions are at work; raise backends.b.pool.max; the reload replaces all its "
            "processes");
  EXPECT_EQ(world_.sessions.size(), 3U);
}

// --- Turns ------------------------------------------------------------------------------------

// Three sessions on two places, each of which is used every ten seconds.
TEST_F(McpPlacesTest, ThatAreTooFewAreSaidToBe) {
  std::vector<mcp::McpSession*> sessions = {&greet(), &greet()};
  const auto third = world_.sessions.open(Kind::streamable);
  ASSERT_TRUE(third.has_value());
  end_asked();
  FakeEventSink begins;
  world_.post(**third, begins, initialize_text("1"));
  FakeChild& own = world_.bench.start_child();
  own.answer(own.take_ids().at(0), kTerms);
  sessions.push_back(*third);
  EXPECT_EQ(world_.bench.status().missing_places, 0U) << "the first turn takes nobody by surprise";
  for (mcp::McpSession* const session : sessions) {
    world_.bench.advance(seconds(10));
    FakeEventSink sink;
    world_.post(*session, sink, request_text("9", "tools/list"));
    end_asked();
    FakeChild& child = answer_greeting();
    for (const std::string& id : child.take_ids()) child.answer(id);
    EXPECT_TRUE(sink.over);
  }
  EXPECT_EQ(world_.bench.status().missing_places, 1U);
  const auto is_told = [](const std::string& line) { return line.starts_with("sessions take"); };
  EXPECT_EQ(std::ranges::count_if(world_.bench.log.lines, is_told), 1) << "and not with each turn";
  EXPECT_THAT(*std::ranges::find_if(world_.bench.log.lines, is_told),
              AllOf(HasSubstr("sessions=3"), HasSubstr("places=2"), HasSubstr("missing=1"),
                    HasSubstr("raise backends.b.pool.max by 1")));
  world_.bench.advance(pool::PlaceShortage::kRemembered);
  EXPECT_EQ(world_.bench.status().missing_places, 0U);
}

// A session that was idle for long has not been waiting for its turn.
TEST_F(McpPlacesTest, AreEnoughForThoseThatComeBackLater) {
  mcp::McpSession& one = greet();
  greet();
  ASSERT_TRUE(world_.sessions.open(Kind::streamable).has_value());
  EXPECT_EQ(parked()[ParkReason::place_needed], 1);
  end_asked();
  world_.bench.start_child();
  world_.bench.advance(pool::PlaceShortage::kTurn);
  world_.post(one, post_, request_text("1"));
  EXPECT_EQ(world_.bench.status().missing_places, 0U);
}

// --- Records --------------------------------------------------------------------------------

TEST_F(McpParkingTest, RecordsAreBounded) {
  backend::BackendOptions options = reviving();
  options.config.pool.sessions = 2;
  McpWorld world(options);
  const std::string first = world.open().id();
  world.bench.advance(seconds(1));
  world.open();
  EXPECT_FALSE(world.sessions.open(Kind::streamable).has_value()) << "both have a child";
  world.bench.advance(McpWorld::kIdleTimeout + seconds(1));
  EXPECT_EQ(world.sessions.size(), 2U);
  ASSERT_TRUE(world.sessions.open(Kind::streamable).has_value());
  EXPECT_EQ(world.sessions.size(), 2U);
  EXPECT_EQ(world.sessions.find(first, Kind::streamable, nullptr), nullptr);
}

class McpTakeOverTest : public McpParkingTest {
 protected:
  McpTakeOverTest() { ids_.carried["theirs"] = {kParams, hours(1)}; }
  mcp::McpSession* reach(const std::string& id,
                         std::optional<mcp::McpRevision> revision = mcp::McpRevision::v2025_11_25) {
    const auto found = sessions_.reach(id, Kind::streamable, {}, revision);
    return found ? *found : nullptr;
  }

  CarryingIds ids_;
  const config::TimeoutsConfig timeouts_ = McpWorld::timeouts_of(seconds(5));
  mcp::McpSessions sessions_{{world_.bench.backend, world_.bench.callers, world_.bench.timers,
                              world_.bench.clock, world_.limits, world_.bench.storages, timeouts_},
                             McpWorld::kIdleTimeout,
                             ids_};
};

TEST_F(McpTakeOverTest, AnIdThatCarriesItsSessionIsTakenOver) {
  mcp::McpSession* session = reach("theirs");
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(reach("theirs"), session);
  EXPECT_EQ(parked()[ParkReason::taken_over], 1);
  EXPECT_EQ(world_.bench.launcher.launched(), 0U);
  world_.post(*session, post_, request_text("1", "tools/list"));
  FakeChild& child = answer_greeting();
  child.take_line();
  child.answer(id_in(child.take_line()));
  EXPECT_THAT(post_.take(), ElementsAre(HasSubstr("restarted"), HasSubstr("tools/list_changed"),
                                        result_text("1")));
  check();
}

TEST_F(McpTakeOverTest, ATakenOverSessionIsAsOldAsItsId) {
  ids_.carried["theirs"].age = minutes(10);
  ASSERT_NE(reach("theirs"), nullptr);
  const std::string* const line = world_.bench.log.find("session parked");
  ASSERT_NE(line, nullptr);
  EXPECT_THAT(*line, AllOf(HasSubstr("reason=taken_over"), HasSubstr("age_ms=600000000000ns")));
  world_.bench.advance(seconds(1));
  EXPECT_EQ(world_.bench.status().oldest_sessions.at(0).age, minutes(10) + seconds(1));
}

TEST_F(McpTakeOverTest, AnEventOfTheOtherProcessBeginsTheStreamAnew) {
  mcp::McpSession* session = reach("theirs");
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->resume(get_, "theirs-0-17"), mcp::McpSession::Resumed::yes);
  EXPECT_TRUE(get_.streaming);
}

TEST_F(McpTakeOverTest, BackWhereItBeganAnEventFromMeanwhileBeginsTheStreamAnew) {
  const auto opened = sessions_.open(Kind::streamable, {}, kParams);
  ASSERT_TRUE(opened.has_value());
  mcp::McpSession& session = **opened;
  const std::string prefix = session.id().substr(session.id().size() - 8);
  EXPECT_EQ(session.resume(get_, prefix + ".1700000000-0-5"), mcp::McpSession::Resumed::yes);
  EXPECT_TRUE(get_.streaming);
  for (const std::string& unknown :
       {prefix + "-9-5", prefix + "-x", prefix, std::string("1.2-0-5")}) {
    EXPECT_EQ(session.resume(other_, unknown), mcp::McpSession::Resumed::unknown_event) << unknown;
  }
}

TEST_F(McpTakeOverTest, WhatCannotBeOpenedOrHasEndedIsUnknown) {
  EXPECT_EQ(reach("nobodys"), nullptr);
  ids_.carried["long"] = {"", hours(1)};
  EXPECT_EQ(reach("long"), nullptr);
  mcp::McpSession* session = reach("theirs");
  ASSERT_NE(session, nullptr);
  sessions_.close(*session);
  EXPECT_EQ(reach("theirs"), nullptr);
}

TEST_F(McpTakeOverTest, ASessionEndsWhenItIsTooOld) {
  const auto opened = sessions_.open(Kind::streamable, {}, kParams);
  ASSERT_TRUE(opened.has_value());
  const std::string id = (*opened)->id();
  (*opened)->listen(get_);
  world_.bench.advance(hours(24) - seconds(1));
  EXPECT_NE(sessions_.find(id, Kind::streamable, nullptr), nullptr);
  world_.bench.advance(seconds(1));
  EXPECT_EQ(sessions_.find(id, Kind::streamable, nullptr), nullptr);
}

TEST_F(McpTakeOverTest, ATakenOverSessionEndsWithItsId) {
  ASSERT_NE(reach("theirs"), nullptr);
  world_.bench.advance(hours(1) - seconds(1));
  EXPECT_NE(sessions_.find("theirs", Kind::streamable, nullptr), nullptr);
  world_.bench.advance(seconds(1));
  EXPECT_EQ(sessions_.find("theirs", Kind::streamable, nullptr), nullptr);
}

TEST_F(McpTakeOverTest, ATakenOverSessionSpeaksWhatItsClientSays) {
  EXPECT_EQ(reach("theirs", mcp::McpRevision::v2025_03_26)->revision(),
            mcp::McpRevision::v2025_03_26);
}

// The client relies on the agreed revision, but the server may have been replaced meanwhile.
TEST_F(McpTakeOverTest, AServerOfAnotherRevisionEndsATakenOverSession) {
  mcp::McpSession* session = reach("theirs", mcp::McpRevision::v2025_06_18);
  ASSERT_NE(session, nullptr);
  world_.post(*session, post_, request_text("1", "tools/list"));
  answer_greeting();  // 2025-11-25
  ASSERT_TRUE(post_.json.has_value());
  EXPECT_THAT(*post_.json, HasSubstr("another revision"));
  world_.bench.settle();
  EXPECT_EQ(sessions_.size(), 0U);
  EXPECT_EQ(reach("theirs", mcp::McpRevision::v2025_06_18), nullptr) << "it is over for good";
  EXPECT_EQ(revived()[RevivalOutcome::other_revision], 1);
  end_asked();
  check();
}

// If a client does not name its revision, the gateway trusts that the revision has not changed.
TEST_F(McpTakeOverTest, WhatWasAgreedOnMayNotBeKnown) {
  mcp::McpSession* session = reach("theirs", std::nullopt);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->revision(), mcp::McpRevision::v2025_03_26);
  world_.post(*session, post_, request_text("1", "tools/list"));
  FakeChild& child = answer_greeting();
  child.take_line();
  child.answer(id_in(child.take_line()));
  EXPECT_EQ(sessions_.size(), 1U);
  EXPECT_EQ(revived()[RevivalOutcome::unknown], 1) << "what the former child said is not known";
}

TEST(EndedIds, AreForgottenWhenTheyExpireOrAreTooMany) {
  mcp::EndedIds ended;
  const TimePoint start{};
  ended.add("one", start, start + seconds(10));
  EXPECT_TRUE(ended.contains("one", start + seconds(9)));
  EXPECT_FALSE(ended.contains("two", start + seconds(9)));
  EXPECT_FALSE(ended.contains("one", start + seconds(10)));
  for (size_t i = 0; i < mcp::EndedIds::kMaxIds; ++i) {
    ended.add(std::to_string(i), start, start + hours(1));
  }
  EXPECT_TRUE(ended.contains("0", start));
  ended.add("more", start, start + hours(1));
  EXPECT_EQ(ended.size(), mcp::EndedIds::kMaxIds);
  EXPECT_FALSE(ended.contains("0", start));
  EXPECT_TRUE(ended.contains("1", start));
}

// --- The first stream -----------------------------------------------------------------------

TEST_F(McpTakeOverTest, ARequestOfTheChildWaitsForTheFirstStream) {
  mcp::McpSession* session = *sessions_.open(Kind::streamable, {}, kParams);
  FakeChild& child = world_.bench.start_child();
  child.say(request_text("7", "roots/list"));
  EXPECT_THAT(child.take_lines(), IsEmpty());
  world_.bench.advance(seconds(4));
  session->listen(get_);
  const auto asked = get_.take();
  ASSERT_THAT(asked, ElementsAre(HasSubstr("roots/list")));
  world_.post(*session, post_, result_text(id_in(asked[0]), R"({"roots":[]})"));
  EXPECT_THAT(child.take_line(), HasSubstr(R"("id":7,"result":{"roots":[]})"));
}

TEST_F(McpTakeOverTest, ARequestOfTheChildIsRefusedWhenNoStreamComes) {
  mcp::McpSession* session = *sessions_.open(Kind::streamable, {}, kParams);
  FakeChild& child = world_.bench.start_child();
  child.say(request_text("7", "roots/list"));
  world_.bench.advance(seconds(5));
  EXPECT_THAT(child.take_line(), HasSubstr("-32601"));
  child.say(request_text("8", "roots/list"));
  EXPECT_THAT(child.take_line(), HasSubstr("-32601"));
  session->listen(get_);
  EXPECT_THAT(get_.take(), ElementsAre(HasSubstr("roots/list"), HasSubstr("cancelled")));
}

// --- Shared children ------------------------------------------------------------------------

TEST(McpSharedParking, TheOneThatHasBeenIdleLongestGivesWay) {
  backend::BackendOptions options = mcp_options(config::Isolation::shared);
  options.config.name = "b";
  options.config.revive = true;
  options.config.pool.sessions = 2;
  FakeEventSink streams[2];
  McpWorld world(options);
  for (FakeEventSink& stream : streams) {
    const auto opened = world.sessions.open(Kind::streamable);
    ASSERT_TRUE(opened.has_value());
    (*opened)->listen(stream);
  }
  const auto refused = world.sessions.open(Kind::streamable);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message, "too many sessions; raise backends.b.pool.sessions");
  world.sessions.close_all();
  for (int i = 0; i < 5; ++i) {
    world.bench.advance(seconds(1));
    ASSERT_TRUE(world.sessions.open(Kind::streamable).has_value()) << i;
  }
  EXPECT_EQ(world.bench.observer.parked[ParkReason::place_needed], 3);
  EXPECT_EQ(world.sessions.size(), 2U);
}

TEST(McpSharedParking, ASessionWithoutTrafficIsKept) {
  backend::BackendOptions options = mcp_options(config::Isolation::shared);
  options.config.revive = true;
  McpWorld world(options);
  const auto opened = world.sessions.open(Kind::streamable);
  ASSERT_TRUE(opened.has_value());
  world.bench.advance(3 * McpWorld::kIdleTimeout);
  EXPECT_NE(world.sessions.find((*opened)->id(), Kind::streamable, nullptr), nullptr);
  EXPECT_EQ(world.bench.observer.parked[ParkReason::idle], 1);
}

// Sessions of two clients, whose events are kept. Each session opens one second after the one
// before it.
class McpHeld : public testing::Test {
 protected:
  static backend::BackendOptions options() {
    backend::BackendOptions options = mcp_options(config::Isolation::shared);
    options.config.revive = true;
    options.config.pool.sessions = 4;
    return options;
  }
  policy::Client client(const char* address) {
    const ClientAddress from = *ClientAddress::parse(address);
    return {from, nullptr, world_.bench.accounts.of({nullptr, from})};
  }
  std::string open(const char* address, size_t bytes) {
    world_.bench.advance(seconds(1));
    const auto opened = world_.sessions.open(Kind::streamable, client(address));
    EXPECT_TRUE(opened.has_value());
    if (bytes > 0) {
      // No client reads the event, so it is kept for a client that comes back.
      session::SessionSink& sink = **opened;
      const std::string text(bytes, 'x');
      const std::string_view view = text;
      sink.on_message(std::nullopt, {&view, 1});
    }
    return (*opened)->id();
  }
  mcp::McpSession* find(const std::string& id) {
    return world_.sessions.find(id, Kind::streamable, nullptr);
  }
  [[nodiscard]] size_t replay() const {
    return world_.bench.accounts.held_at(0).of[static_cast<size_t>(Holding::replay)];
  }

  static constexpr const char* kOne = "192.0.2.1";
  static constexpr const char* kOther = "192.0.2.2";
  McpWorld world_{options()};
};

TEST_F(McpHeld, EventsAreChargedToTheClient) {
  const std::string id = open(kOne, 5000);
  EXPECT_GT(replay(), 5000U);
  EXPECT_GT(client(kOne).account->used(), 5000U);
  world_.sessions.close(*find(id));
  EXPECT_EQ(world_.bench.accounts.held_for_clients(), 0U);
}

// Events of parked sessions are dropped first, and no more events than necessary. The choice may be
// limited to one client.
TEST_F(McpHeld, EventsOfWhoIsIdleLongestGoFirst) {
  const std::string oldest = open(kOne, 5000);
  const std::string parked = open(kOther, 5000);
  const std::string youngest = open(kOne, 5000);
  ASSERT_EQ(find(parked)->park(), session::Parking::parked);
  const auto falls_below = [this](size_t bytes) {
    return [this, bytes] { return replay() < bytes; };
  };
  EXPECT_EQ(world_.sessions.drop_replay(nullptr, falls_below(20'000)), 0U);
  EXPECT_EQ(world_.sessions.drop_replay(nullptr, falls_below(15'000)), 1U);
  EXPECT_EQ(find(parked)->replay_bytes(), 0U);
  EXPECT_EQ(world_.sessions.drop_replay(client(kOther).account.get(), falls_below(0)), 0U);
  EXPECT_EQ(world_.sessions.drop_replay(client(kOne).account.get(), falls_below(8000)), 1U);
  EXPECT_EQ(find(oldest)->replay_bytes(), 0U);
  EXPECT_EQ(find(youngest)->replay_bytes(), 5000U);
}

TEST_F(McpHeld, ParkedSessionsAreForgottenThenThoseThatHaveLongBeenIdle) {
  const std::string idle = open(kOne, 0);
  const std::string parked = open(kOne, 0);
  ASSERT_EQ(find(parked)->park(), session::Parking::parked);
  EXPECT_EQ(world_.sessions.forget_idle(nullptr, [] { return false; }), 1U);
  EXPECT_EQ(find(parked), nullptr);
  EXPECT_NE(find(idle), nullptr);
  world_.bench.advance(minutes(1));
  EXPECT_EQ(world_.sessions.forget_idle(nullptr, [] { return false; }), 1U);
  EXPECT_EQ(world_.sessions.size(), 0U);
  EXPECT_EQ(world_.bench.accounts.held_for_clients(), 0U);
}

TEST_F(McpHeld, WhoHearsIsNotIdle) {
  const std::string id = open(kOne, 5000);
  FakeEventSink sink;
  find(id)->listen(sink);
  world_.bench.advance(minutes(2));
  EXPECT_EQ(world_.sessions.drop_replay(nullptr, [] { return false; }), 0U);
  EXPECT_EQ(world_.sessions.forget_idle(nullptr, [] { return false; }), 0U);
  world_.sessions.detach(id, sink);
}

// Parked sessions count too, so that one client cannot have all places.
TEST_F(McpHeld, TheClientWithMostSessionsMakesRoom) {
  const std::string others = open(kOther, 0);
  ASSERT_EQ(find(others)->park(), session::Parking::parked);
  const std::string first = open(kOne, 0);
  for (int i = 0; i < 3; ++i) open(kOne, 0);
  EXPECT_EQ(world_.sessions.size(), 4U);
  EXPECT_NE(find(others), nullptr);
  EXPECT_EQ(find(first), nullptr);
}

// The sessions of a backend that has been replaced twice.
class McpSuccessionTest : public McpTakeOverTest {
 protected:
  using Sessions = std::unique_ptr<mcp::McpSessions>;
  Sessions make(mcp::McpSessions* predecessor) {
    auto sessions = std::make_unique<mcp::McpSessions>(
        mcp::McpSessionServices{world_.bench.backend, world_.bench.callers, world_.bench.timers,
                                world_.bench.clock, world_.limits, world_.bench.storages,
                                timeouts_},
        McpWorld::kIdleTimeout, ids_);
    if (predecessor != nullptr) sessions->succeed(*predecessor);
    return sessions;
  }
  static mcp::McpSession* reach_in(mcp::McpSessions& sessions, const std::string& id) {
    const auto found = sessions.reach(id, Kind::streamable, {}, mcp::McpRevision::v2025_11_25);
    return found ? *found : nullptr;
  }

  Sessions first_ = make(nullptr);
  Sessions second_ = make(first_.get());
  Sessions third_ = make(second_.get());
};

TEST_F(McpSuccessionTest, SessionsAreFoundWhicheverOfTheFormerEndsFirst) {
  mcp::McpSession* const session = reach_in(*first_, "theirs");
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(reach_in(*third_, "theirs"), session);
  EXPECT_EQ(third_->find("theirs", Kind::streamable, nullptr), session);
  second_.reset();
  EXPECT_EQ(reach_in(*third_, "theirs"), session);
  EXPECT_EQ(third_->size(), 0U);
  first_.reset();
  mcp::McpSession* const taken_over = reach_in(*third_, "theirs");
  EXPECT_NE(taken_over, nullptr);
  EXPECT_EQ(third_->size(), 1U);
}

TEST_F(McpSuccessionTest, WhatHasEndedStaysSo) {
  mcp::McpSession* const session = reach_in(*first_, "theirs");
  ASSERT_NE(session, nullptr);
  third_->close(*session);
  EXPECT_EQ(first_->size(), 0U);
  EXPECT_EQ(reach_in(*third_, "theirs"), nullptr);
  first_.reset();
  EXPECT_EQ(reach_in(*third_, "theirs"), nullptr);
  second_.reset();
  EXPECT_EQ(reach_in(*third_, "theirs"), nullptr);
}

TEST_F(McpSuccessionTest, TheLastOneMayEndFirst) {
  ASSERT_NE(reach_in(*first_, "theirs"), nullptr);
  third_.reset();
  second_.reset();
  EXPECT_EQ(first_->size(), 1U);
}

}  // namespace
}  // namespace stdgate::test

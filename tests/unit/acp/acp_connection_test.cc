// AcpConnections in memory: what is kept for a client that is away, what is sent again, and the
// limits.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gateway/acp/acp_connections.h"
#include "gateway/acp/acp_dialect.h"
#include "tests/support/backend_bench.h"
#include "tests/support/fake_event_sink.h"
#include "tests/support/fake_seal.h"
#include "tests/support/fake_session.h"
#include "tests/support/rpc_texts.h"

namespace stdgate::test {
namespace {

using acp::AcpConnection;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr Duration kLinger = std::chrono::minutes(30);

std::string update(const std::string& session, int number) {
  return R"({"jsonrpc":"2.0","method":"session/update","params":{"sessionId":")" + session +
         R"(","n":)" + std::to_string(number) + "}}";
}

std::string question(const std::string& session, int id) {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) +
         R"(,"method":"session/request_permission","params":{"sessionId":")" + session + R"("}})";
}

struct AcpWorld {
  explicit AcpWorld(Duration linger = kLinger, size_t sessions = 10,
                    std::vector<config::RuleConfig> rules = {})
      : bench(options(sessions, linger, std::move(rules)), std::make_unique<acp::AcpDialect>()),
        ids([this] { return "a-secret-of-this-connection-" + std::to_string(++opened); }),
        connections({bench.backend, bench.callers, bench.timers, bench.clock, limits,
                     bench.storages, linger},
                    ids) {}

  static backend::BackendOptions options(size_t sessions, Duration linger,
                                         std::vector<config::RuleConfig> rules) {
    backend::BackendOptions options = session_options(16);
    options.config.protocol = config::Protocol::acp;
    options.config.pool.sessions = static_cast<uint32_t>(sessions);
    options.config.linger = linger;
    options.config.max_time = std::chrono::hours(10);
    options.config.rules = std::move(rules);
    return options;
  }

  // The memory charged for sessions. The client has the bench's account.
  [[nodiscard]] size_t held() const {
    return bench.backend.held()->of[static_cast<size_t>(Holding::sessions)];
  }
  AcpConnection& open(AcpConnection::Kind kind) {
    const auto opened_one = connections.open(kind, {.account = bench.account});
    EXPECT_TRUE(opened_one);
    child = &bench.start_child();
    return **opened_one;
  }
  // An initialized connection with session "s", whose stream may be opened.
  AcpConnection& greet() {
    AcpConnection& connection = open(AcpConnection::Kind::http);
    FakeEventSink greeting;
    post(connection, R"({"jsonrpc":"2.0","id":1,"method":"initialize"})", {}, greeting);
    answer(R"({"agentCapabilities":{"loadSession":false}})");
    EXPECT_TRUE(greeting.json);
    post(connection, R"({"jsonrpc":"2.0","id":2,"method":"session/new"})");
    answer(R"({"sessionId":"s"})");
    return connection;
  }
  AcpConnection::Posted post(AcpConnection& connection, const std::string& text,
                             std::string_view session, FakeEventSink& sink) {
    const ParsedText message(text);
    call::CallContext context;
    context.arrived = bench.clock.now();
    return connection.post(message.envelope, session, context, sink);
  }
  AcpConnection::Posted post(AcpConnection& connection, const std::string& text,
                             std::string_view session = {}) {
    FakeEventSink none;
    none.leave();
    return post(connection, text, session, none);
  }
  AcpConnection::Posted prompt(AcpConnection& connection, int id) {
    return post(connection,
                R"({"jsonrpc":"2.0","id":)" + std::to_string(id) +
                    R"(,"method":"session/prompt","params":{"sessionId":"s"}})",
                "s");
  }
  // The agent answers the oldest call at it.
  void answer(const std::string& result) {
    for (const std::string& id : child->take_ids()) asked.push_back(id);
    ASSERT_FALSE(asked.empty());
    child->answer(asked.front(), result);
    asked.erase(asked.begin());
  }
  [[nodiscard]] bool has(const std::string& id) const { return connections.has(id); }

  config::LimitsConfig limits;
  BackendBench bench;
  int opened = 0;
  RandomSessionIds ids;
  acp::AcpConnections connections;
  FakeChild* child = nullptr;
  std::vector<std::string> asked;
};

TEST(AcpConnection, WhatNamesASessionGoesToItsStream) {
  AcpWorld world;
  AcpConnection& connection = world.greet();
  FakeEventSink of_connection;
  FakeEventSink of_session;
  connection.listen(of_connection, {}, std::nullopt);
  EXPECT_THAT(of_connection.take(), ElementsAre(HasSubstr(R"("sessionId":"s")")));
  connection.listen(of_session, "s", std::nullopt);
  EXPECT_EQ(world.prompt(connection, 3), AcpConnection::Posted::taken);
  world.child->say(update("s", 1));
  world.child->say(update("another", 2));
  world.answer(R"({"stopReason":"end_turn"})");
  EXPECT_THAT(of_session.take(), ElementsAre(update("s", 1), HasSubstr("end_turn")));
  EXPECT_THAT(of_connection.take(), ElementsAre(update("another", 2)));
  connection.check_invariants();
  world.connections.close(connection);
  EXPECT_TRUE(of_connection.ended && of_session.ended);
}

// Without the error, the client's call would never end.
TEST(AcpConnection, AnAnswerThatIsNotKeptIsToldAsAnError) {
  AcpWorld world;
  world.limits.replay_events = 3;
  AcpConnection& connection = world.greet();
  FakeEventSink first;
  connection.listen(first, "s", std::nullopt);
  world.prompt(connection, 3);
  connection.detach(first);
  world.answer(R"({"stopReason":"end_turn"})");
  for (int i = 0; i < 3; ++i) world.child->say(update("s", i));
  FakeEventSink again;
  connection.listen(again, "s", std::nullopt);
  EXPECT_THAT(again.take(), ElementsAre(HasSubstr(R"("id":3,"error":{)"), update("s", 0),
                                        update("s", 1), update("s", 2)));
  // A client that has not received the answer says so. A client that has received the answer is not
  // told again.
  FakeEventSink third;
  connection.listen(third, "s", 1);
  EXPECT_THAT(third.take(), Contains(HasSubstr(R"("id":3,"error":{)")));
  FakeEventSink fourth;
  connection.listen(fourth, "s", 100);
  FakeEventSink fifth;
  connection.listen(fifth, "s", 1);
  EXPECT_THAT(fifth.take(), Not(Contains(HasSubstr(R"("id":3)"))));
  connection.check_invariants();
  world.connections.close(connection);
}

TEST(AcpConnection, AnAnswerThatMemoryHasNoRoomForIsToldAsAnError) {
  AcpWorld world;
  AcpConnection& connection = world.open(AcpConnection::Kind::http);
  FakeEventSink greeting;
  world.post(connection, R"({"jsonrpc":"2.0","id":1,"method":"initialize"})", {}, greeting);
  world.answer("{}");
  world.post(connection, R"({"jsonrpc":"2.0","id":2,"method":"session/new"})");
  world.answer(R"({"sessionId":"s"})");
  connection.drop_replay();
  FakeEventSink stream;
  connection.listen(stream, {}, std::nullopt);
  EXPECT_THAT(stream.take(), ElementsAre(HasSubstr(R"("id":2,"error":{)")));
  world.connections.close(connection);
}

// As many answers are kept as calls may be open.
TEST(AcpConnection, AnswersThatNobodyHearsCountAsCalls) {
  AcpWorld world;
  world.limits.replay_events = 3;
  AcpConnection& connection = world.greet();  // its answer to session/new is kept too
  for (size_t i = 1; i < AcpConnection::kMaxCalls; ++i) {
    ASSERT_EQ(world.prompt(connection, 3), AcpConnection::Posted::taken);
    world.answer("{}");
  }
  EXPECT_EQ(world.prompt(connection, 3), AcpConnection::Posted::overloaded);
  FakeEventSink stream;
  connection.listen(stream, "s", std::nullopt);
  EXPECT_THAT(stream.take(), SizeIs(AcpConnection::kMaxCalls - 1));
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(world.prompt(connection, 3), AcpConnection::Posted::taken);
    world.answer("{}");
  }
  connection.check_invariants();
  world.connections.close(connection);
}

// The answers of the session are sent on the stream of the connection.
TEST(AcpConnection, ASessionThatIsForgottenLosesNoAnswer) {
  AcpWorld world;
  AcpConnection& connection = world.greet();
  world.prompt(connection, 3);
  world.answer(R"({"stopReason":"end_turn"})");
  for (size_t i = 0; i < AcpConnection::kMaxSessions; ++i) {
    world.post(connection, R"({"jsonrpc":"2.0","id":4,"method":"session/new"})");
    world.answer(R"({"sessionId":"other )" + std::to_string(i) + "\"}");
  }
  FakeEventSink of_connection;
  connection.listen(of_connection, {}, std::nullopt);
  EXPECT_THAT(of_connection.take(), Contains(HasSubstr("end_turn")));
  connection.check_invariants();
  world.connections.close(connection);
}

TEST(AcpConnection, AWebSocketThatComesBackHearsOfALostAnswer) {
  AcpWorld world;
  world.limits.replay = 10;
  AcpConnection& connection = world.open(AcpConnection::Kind::websocket);
  FakeSession socket(world.bench.callers);
  const auto kept = connection.attach(socket);
  connection.replay(socket);
  const ParsedText prompt(R"({"jsonrpc":"2.0","id":"p","method":"session/prompt"})");
  call::CallContext context;
  context.caller = kept.caller;
  context.session = kept.session;
  rpc::ParsedMessage message;
  message.envelope = prompt.envelope;
  world.bench.backend.accept(message, context);
  connection.detach(socket);
  world.answer(R"({"stopReason":"end_turn"})");
  for (int i = 0; i < 2; ++i) {
    FakeSession back(world.bench.callers);
    connection.attach(back);
    connection.replay(back);
    EXPECT_EQ(back.take().size(), i == 0 ? 1U : 0U);
    connection.detach(back);
  }
}

// The RFD's text of April 2026 knows one stream only.
TEST(AcpConnection, ASessionWhoseStreamIsNeverOpenedIsOnThatOfTheConnection) {
  AcpWorld world;
  world.limits.replay_events = 3;
  AcpConnection& connection = world.greet();
  FakeEventSink of_connection;
  connection.listen(of_connection, {}, std::nullopt);
  of_connection.take();
  world.child->say(question("s", 7));
  world.bench.advance(2 * AcpConnection::kStreamPatience);
  EXPECT_THAT(of_connection.take(), IsEmpty()) << "its client has not spoken in it yet";
  EXPECT_EQ(world.prompt(connection, 3), AcpConnection::Posted::taken);
  for (int i = 1; i <= 2; ++i) world.child->say(update("s", i));
  world.child->say(question("s", 8));
  world.bench.advance(AcpConnection::kStreamPatience - std::chrono::milliseconds(1));
  EXPECT_THAT(of_connection.take(), IsEmpty()) << "it may open the stream yet";
  world.bench.advance(std::chrono::milliseconds(1));
  const std::vector<std::string> told = of_connection.take();
  ASSERT_EQ(told.size(), 4U);
  EXPECT_THAT(told[0], HasSubstr("request_permission"));
  EXPECT_THAT(told, ElementsAre(told[0], update("s", 1), update("s", 2), told[3]));
  EXPECT_THAT(told[3], HasSubstr("request_permission"));
  world.child->say(update("s", 3));
  world.answer(R"({"stopReason":"end_turn"})");
  EXPECT_THAT(of_connection.take(), ElementsAre(update("s", 3), HasSubstr("end_turn")));
  // A client's answer may name its session, but need not.
  const std::string id = std::string(ParsedText(told[0]).envelope.id);
  const std::string answer = R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":{}})";
  EXPECT_EQ(world.post(connection, answer, "s"), AcpConnection::Posted::taken);
  of_connection.leave();
  connection.detach(of_connection);
  FakeEventSink again;
  connection.listen(again, {}, std::nullopt);
  EXPECT_THAT(again.take(), ElementsAre(told[3])) << "only what is still open";
  connection.check_invariants();
  FakeEventSink of_session;
  connection.listen(of_session, "s", std::nullopt);
  EXPECT_EQ(world.prompt(connection, 4), AcpConnection::Posted::taken);
  world.child->say(update("s", 4));
  world.answer(R"({"stopReason":"end_turn"})");
  world.bench.advance(2 * AcpConnection::kStreamPatience);
  EXPECT_THAT(of_session.take(), ElementsAre(update("s", 4), HasSubstr("end_turn")));
  EXPECT_THAT(again.take(), IsEmpty());
  of_session.leave();
  connection.detach(of_session);
  again.leave();
  connection.detach(again);
}

TEST(AcpConnection, AQuestionThatIsTooLongForTheReplayIsCarriedToo) {
  AcpWorld world;
  world.limits.replay = 300;
  AcpConnection& connection = world.greet();
  FakeEventSink stream;
  connection.listen(stream, {}, std::nullopt);
  stream.take();
  EXPECT_EQ(world.prompt(connection, 3), AcpConnection::Posted::taken);
  world.child->say(update("s", 1));
  world.child->say(
      R"({"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s","pad":")" +
      std::string(400, 'x') + R"("}})");
  world.bench.advance(AcpConnection::kStreamPatience);
  EXPECT_THAT(stream.take(), ElementsAre(HasSubstr("request_permission"), update("s", 1)));
  stream.leave();
  connection.detach(stream);
  FakeEventSink again;
  connection.listen(again, {}, std::nullopt);
  EXPECT_THAT(again.take(), ElementsAre(HasSubstr("request_permission")));
  again.leave();
  connection.detach(again);
}

TEST(AcpConnection, WithoutAStreamOfTheConnectionASessionWaitsForItsOwn) {
  AcpWorld world;
  AcpConnection& connection = world.greet();
  EXPECT_EQ(world.prompt(connection, 3), AcpConnection::Posted::taken);
  world.child->say(update("s", 1));
  world.bench.advance(2 * AcpConnection::kStreamPatience);
  FakeEventSink of_connection;
  connection.listen(of_connection, {}, std::nullopt);
  of_connection.take();
  FakeEventSink of_session;
  connection.listen(of_session, "s", std::nullopt);
  EXPECT_THAT(of_session.take(), ElementsAre(update("s", 1)));
  of_session.leave();
  connection.detach(of_session);
  EXPECT_EQ(world.prompt(connection, 4), AcpConnection::Posted::taken);
  world.child->say(update("s", 2));
  world.bench.advance(2 * AcpConnection::kStreamPatience);
  EXPECT_THAT(of_connection.take(), IsEmpty()) << "a stream that has been there comes back";
  of_connection.leave();
  connection.detach(of_connection);
}

TEST(AcpConnection, MessagesOfASessionNameItInTheirHead) {
  AcpWorld world;
  AcpConnection& connection = world.greet();
  const std::string cancel =
      R"({"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}})";
  EXPECT_EQ(world.post(connection, cancel), AcpConnection::Posted::lacks_session);
  EXPECT_EQ(world.post(connection, cancel, "t"), AcpConnection::Posted::other_session);
  EXPECT_EQ(world.post(connection, cancel, "s"), AcpConnection::Posted::taken);
  EXPECT_FALSE(connection.has_session("t"));
  for (const std::string method : {"session/load", "session/resume", "session/fork"}) {
    EXPECT_EQ(world.post(connection, R"({"jsonrpc":"2.0","id":3,"method":")" + method +
                                         R"(","params":{"sessionId":"s"}})"),
              AcpConnection::Posted::taken)
        << method;
  }
}

TEST(AcpConnection, IdsOfSessionsAreBoundedAndCharged) {
  AcpWorld world;
  AcpConnection& connection = world.greet();
  const auto load = [&](size_t size) {
    const size_t before = world.held();
    const std::string id(size, 'x');
    world.post(connection,
               R"({"jsonrpc":"2.0","id":9,"method":"session/load","params":{"sessionId":")" + id +
                   R"("}})");
    world.answer("{}");
    return std::pair(connection.has_session(id), world.held() - before);
  };
  const auto [is_known, charged] = load(AcpConnection::kMaxSessionId);
  EXPECT_TRUE(is_known);
  EXPECT_GE(charged, AcpConnection::kMaxSessionId);
  const auto [is_longer_known, more] = load(AcpConnection::kMaxSessionId + 1);
  EXPECT_FALSE(is_longer_known);
  EXPECT_LT(more, AcpConnection::kMaxSessionId);
}

TEST(AcpConnection, TheOldestGoesWhereTheReplayEnds) {
  AcpWorld world;
  world.limits.replay_events = 3;
  AcpConnection& connection = world.greet();
  for (int i = 1; i <= 5; ++i) world.child->say(update("s", i));
  FakeEventSink stream;
  connection.listen(stream, "s", std::nullopt);
  EXPECT_THAT(stream.take(), ElementsAre(update("s", 3), update("s", 4), update("s", 5)));
  stream.leave();
  connection.detach(stream);
}

TEST(AcpConnection, AQuestionIsKeptBeyondTheReplayUntilItIsAnswered) {
  AcpWorld world;
  world.limits.replay_events = 2;
  AcpConnection& connection = world.greet();
  world.child->say(question("s", 7));
  for (int i = 1; i <= 4; ++i) world.child->say(update("s", i));
  FakeEventSink first;
  connection.listen(first, "s", std::nullopt);
  const std::vector<std::string> told = first.take();
  ASSERT_EQ(told.size(), 3u);
  EXPECT_THAT(told[0], HasSubstr("request_permission"));
  first.leave();
  connection.detach(first);
  FakeEventSink second;
  connection.listen(second, "s", std::nullopt);
  EXPECT_THAT(second.take(), ElementsAre(told[0]));
  const std::string id = std::string(ParsedText(told[0]).envelope.id);
  const std::string answer = R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":{}})";
  EXPECT_EQ(world.post(connection, answer, "t"), AcpConnection::Posted::other_session);
  world.child->take_lines();
  EXPECT_EQ(world.post(connection, answer), AcpConnection::Posted::taken);
  EXPECT_THAT(world.child->take_lines(), ElementsAre(R"({"jsonrpc":"2.0","id":7,"result":{}})"));
  second.leave();
  connection.detach(second);
  FakeEventSink third;
  connection.listen(third, "s", std::nullopt);
  EXPECT_THAT(third.take(), IsEmpty());
  third.leave();
  connection.detach(third);
}

TEST(AcpConnection, AQuestionIsTakenBackWhereItWasAsked) {
  const auto cancel = [](const std::string& id) {
    return R"({"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":)" + id + "}}";
  };
  AcpWorld world;
  AcpConnection& connection = world.greet();
  FakeEventSink of_connection;
  FakeEventSink of_session;
  connection.listen(of_connection, {}, std::nullopt);
  connection.listen(of_session, "s", std::nullopt);
  of_connection.take();
  world.child->say(question("s", 7));
  const std::string id = std::string(ParsedText(of_session.take().at(0)).envelope.id);
  world.child->say(cancel("7"));
  EXPECT_THAT(of_session.take(), ElementsAre(cancel(id)));
  EXPECT_THAT(of_connection.take(), IsEmpty());
  of_session.leave();
  connection.detach(of_session);
  world.child->say(question("s", 8));
  world.child->say(update("s", 1));
  world.child->say(cancel("8"));
  FakeEventSink again;
  connection.listen(again, "s", std::nullopt);
  EXPECT_THAT(again.take(), ElementsAre(update("s", 1))) << "neither the question nor its end";
  again.leave();
  connection.detach(again);
  of_connection.leave();
  connection.detach(of_connection);
}

TEST(AcpConnection, AQuestionWaitsForAClientThatIsAway) {
  AcpWorld world;
  AcpConnection& connection = world.greet();
  FakeEventSink first;
  connection.listen(first, "s", std::nullopt);
  EXPECT_EQ(world.prompt(connection, 3), AcpConnection::Posted::taken);
  world.child->say(question("s", 7));
  const std::vector<std::string> asked = first.take();
  ASSERT_EQ(asked.size(), 1u);
  world.bench.advance(kLinger - std::chrono::minutes(1));
  first.leave();
  connection.detach(first);
  world.child->take_lines();
  world.bench.advance(kLinger - std::chrono::minutes(1));
  EXPECT_THAT(world.child->take_lines(), IsEmpty()) << "it has not been given up";
  FakeEventSink second;
  connection.listen(second, "s", std::nullopt);
  EXPECT_THAT(second.take(), ElementsAre(asked[0]));
  for (Duration time{0}; time <= kLinger; time += std::chrono::minutes(1)) {
    world.bench.advance(std::chrono::minutes(1));
  }
  EXPECT_THAT(second.take(), testing::Not(IsEmpty())) << "a client that is there has its time";
  second.leave();
  connection.detach(second);
}

TEST(AcpConnection, AnAgentAsksNoMoreThanRulesLet) {
  AcpWorld world(
      kLinger, 10,
      {{.allow = {"*"}, .methods = {"*"}, .from_agent = {"session/request_permission"}}});
  AcpConnection& connection = world.greet();
  FakeEventSink stream;
  connection.listen(stream, "s", std::nullopt);
  world.child->take_lines();
  world.child->say(R"({"jsonrpc":"2.0","id":"r","method":"fs/read_text_file","params":{}})");
  EXPECT_THAT(world.child->take_lines(),
              ElementsAre(R"({"jsonrpc":"2.0","id":"r","error":{"code":-32601,)"
                          R"("message":"Method not found"}})"));
  world.child->say(update("s", 1));
  EXPECT_EQ(world.bench.observer.dropped[DropReason::denied], 1);
  EXPECT_EQ(world.bench.observer.rejected[Rejection::denied], 2);
  world.child->say(question("s", 7));
  EXPECT_THAT(stream.take(), ElementsAre(HasSubstr("request_permission")));
  stream.leave();
  connection.detach(stream);
}

TEST(AcpConnection, QuestionsAreCountedUntilTheyEnd) {
  AcpWorld world;
  AcpConnection& connection = world.greet();
  FakeEventSink stream;
  connection.listen(stream, "s", std::nullopt);
  world.child->say(question("s", 7));
  world.child->say(question("s", 8));
  auto& seen = world.bench.observer;
  EXPECT_EQ(seen.questions, 2);
  const std::string id = std::string(ParsedText(stream.take().at(0)).envelope.id);
  world.bench.advance(std::chrono::minutes(1));
  world.post(connection, R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":{}})", "s");
  EXPECT_EQ(seen.questions, 1);
  EXPECT_EQ(seen.question_ends[QuestionEnd::answered], 1);
  EXPECT_EQ(seen.longest_question, std::chrono::minutes(1));
  stream.leave();
  connection.detach(stream);
  world.connections.close(connection);
  EXPECT_EQ(seen.questions, 0);
  EXPECT_EQ(seen.question_ends[QuestionEnd::left], 1);
}

TEST(AcpConnection, AClientSaysWhatItHas) {
  AcpWorld world;
  AcpConnection& connection = world.greet();
  FakeEventSink first;
  connection.listen(first, "s", std::nullopt);
  for (int i = 1; i <= 3; ++i) world.child->say(update("s", i));
  const uint64_t number = std::stoull(first.events.at(0).id);
  first.leave();
  connection.detach(first);
  FakeEventSink second;
  connection.listen(second, "s", number);
  EXPECT_THAT(second.take(), ElementsAre(update("s", 2), update("s", 3)));
  FakeEventSink third;
  connection.listen(third, "s", std::nullopt);
  EXPECT_TRUE(second.ended);
  EXPECT_THAT(third.take(), IsEmpty());
  third.leave();
  connection.detach(third);
}

TEST(AcpConnection, ASocketMissesNothingWhileItIsAway) {
  AcpWorld world;
  const std::string id = world.open(AcpConnection::Kind::websocket).id();
  FakeSession first(world.bench.callers);
  ASSERT_TRUE(world.connections.attach(id, first));
  world.connections.replay(id, first);
  world.child->say(question("s", 7));
  world.child->say(update("s", 1));
  ASSERT_EQ(first.take().size(), 2u);
  world.connections.detach(id, first);
  world.child->say(update("s", 2));
  world.bench.advance(kLinger / 2);
  FakeSession second(world.bench.callers);
  ASSERT_TRUE(world.connections.attach(id, second));
  world.child->say(update("s", 3));
  EXPECT_THAT(second.received, IsEmpty());
  world.connections.replay(id, second);
  EXPECT_THAT(second.take(),
              ElementsAre(HasSubstr("request_permission"), update("s", 2), update("s", 3)));
  FakeSession third(world.bench.callers);
  ASSERT_TRUE(world.connections.attach(id, third));
  EXPECT_EQ(second.end, session::SessionEnd::replaced);
  world.connections.detach(id, second);
  EXPECT_TRUE(world.has(id));
  world.connections.check_invariants();
  world.connections.detach(id, third);
}

TEST(AcpConnection, LingersNoLongerThanItMay) {
  AcpWorld world;
  const std::string id = world.open(AcpConnection::Kind::websocket).id();
  FakeSession socket(world.bench.callers);
  ASSERT_TRUE(world.connections.attach(id, socket));
  world.bench.advance(2 * kLinger);
  EXPECT_TRUE(world.has(id));
  world.connections.detach(id, socket);
  world.bench.advance(kLinger - std::chrono::seconds(1));
  EXPECT_TRUE(world.has(id));
  world.bench.advance(std::chrono::seconds(1));
  EXPECT_FALSE(world.has(id));
  EXPECT_FALSE(world.child->ends().empty());
}

TEST(AcpConnection, EndsAtOnceWhereNothingLingers) {
  AcpWorld world(Duration{0});
  const std::string id = world.open(AcpConnection::Kind::websocket).id();
  FakeSession socket(world.bench.callers);
  ASSERT_TRUE(world.connections.attach(id, socket));
  world.connections.detach(id, socket);
  EXPECT_FALSE(world.has(id));
  // Over HTTP no socket keeps the connection alive between two requests.
  const std::string other = world.greet().id();
  world.bench.advance(acp::AcpConnections::kBetweenRequests - std::chrono::seconds(1));
  EXPECT_TRUE(world.has(other));
  world.bench.advance(std::chrono::seconds(1));
  EXPECT_FALSE(world.has(other));
}

TEST(AcpConnection, IsOverWithItsAgent) {
  AcpWorld world;
  const std::string id = world.open(AcpConnection::Kind::websocket).id();
  FakeSession socket(world.bench.callers);
  ASSERT_TRUE(world.connections.attach(id, socket));
  world.connections.replay(id, socket);
  world.child->exit(1);
  world.bench.settle();
  EXPECT_TRUE(socket.end.has_value());
  EXPECT_TRUE(world.connections.has_ended(id));
  world.connections.detach(id, socket);
  EXPECT_FALSE(world.has(id));
}

TEST(AcpConnection, AnAgentThatRefusesHasNoConnection) {
  AcpWorld world;
  AcpConnection& connection = world.open(AcpConnection::Kind::http);
  const std::string id = connection.id();
  FakeEventSink greeting;
  world.post(connection, R"({"jsonrpc":"2.0","id":1,"method":"initialize"})", {}, greeting);
  const std::vector<std::string> asked = world.child->take_ids();
  ASSERT_EQ(asked.size(), 1u);
  world.child->say(R"({"jsonrpc":"2.0","id":)" + asked[0] +
                   R"(,"error":{"code":-32000,"message":"no"}})");
  ASSERT_TRUE(greeting.json);
  EXPECT_THAT(*greeting.json, HasSubstr("-32000"));
  EXPECT_TRUE(world.connections.has_ended(id));
  world.bench.settle();
  EXPECT_FALSE(world.has(id));
}

TEST(AcpConnection, TheAnswerToInitializeNamesTheConnection) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"protocolVersion":1})", R"({"connectionId":"ID","protocolVersion":1})"},
      {"{ }", R"({"connectionId":"ID" })"},
      {R"({"connectionId":7,"a":{}})", R"({"connectionId":"ID","a":{}})"},
      {R"({"connectionId":1,"connectionId":2})", R"({"connectionId":1,"connectionId":2})"},
      {"null", "null"}};
  AcpWorld world;
  for (const auto& [said, told] : cases) {
    AcpConnection& connection = world.open(AcpConnection::Kind::http);
    FakeEventSink greeting;
    world.post(connection, R"({"jsonrpc":"2.0","id":1,"method":"initialize"})", {}, greeting);
    world.answer(said);
    std::string expected = told;
    if (const size_t at = expected.find("ID"); at != std::string::npos) {
      expected.replace(at, 2, connection.id());
    }
    EXPECT_EQ(greeting.json, R"({"jsonrpc":"2.0","id":1,"result":)" + expected + "}") << said;
  }
}

TEST(AcpConnection, TheOneThatIsAloneForLongestMakesRoom) {
  AcpWorld world(kLinger, 2);
  const std::string first = world.open(AcpConnection::Kind::http).id();
  world.bench.advance(std::chrono::seconds(1));
  const std::string second = world.open(AcpConnection::Kind::http).id();
  world.bench.advance(std::chrono::seconds(1));
  const std::string third = world.open(AcpConnection::Kind::http).id();
  EXPECT_FALSE(world.has(first));
  EXPECT_TRUE(world.has(second) && world.has(third));
}

TEST(AcpConnection, ASlowClientHoldsItsAgentAlone) {
  AcpWorld world;
  AcpConnection& connection = world.greet();
  FakeEventSink stream;
  connection.listen(stream, "s", std::nullopt);
  stream.backed_up = true;
  world.child->say(update("s", 1));
  world.bench.settle();
  EXPECT_FALSE(world.child->is_read());
  stream.backed_up = false;
  connection.on_sink_writable();
  EXPECT_TRUE(world.child->is_read());
  stream.leave();
  connection.detach(stream);
}

TEST(AcpConnection, AStreamInThePlaceOfASlowOneLetsTheAgentGo) {
  AcpWorld world;
  AcpConnection& connection = world.greet();
  FakeEventSink slow;
  connection.listen(slow, "s", std::nullopt);
  slow.backed_up = true;
  world.child->say(update("s", 1));
  world.bench.settle();
  EXPECT_FALSE(world.child->is_read());
  FakeEventSink stream;
  connection.listen(stream, "s", std::nullopt);  // everything has been sent
  world.bench.settle();
  EXPECT_TRUE(world.child->is_read());
  world.connections.close(connection);
}

// --- When memory is short ---------------------------------------------------------------------

TEST(AcpConnection, OfThoseThatNothingCarriesTheOldestGiveMemoryBackFirst) {
  AcpWorld world;
  AcpConnection& first = world.greet();
  world.child->say(update("s", 1));
  world.bench.advance(std::chrono::seconds(1));
  AcpConnection& second = world.greet();
  world.child->say(update("s", 2));
  const size_t all = first.replay_bytes() + second.replay_bytes();
  const auto is_enough = [&] { return first.replay_bytes() + second.replay_bytes() < all; };
  EXPECT_EQ(world.connections.drop_replay(nullptr, is_enough), 1U);
  EXPECT_EQ(first.replay_bytes(), 0U);
  EXPECT_GT(second.replay_bytes(), 0U);
  EXPECT_EQ(world.connections.drop_replay(nullptr, is_enough), 0U) << "there is enough";
}

TEST(AcpConnection, AnAgentThatWorksStaysWhenMemoryIsShort) {
  AcpWorld world;
  const std::string idle = world.greet().id();
  AcpConnection& working = world.greet();
  const auto is_short = [] { return false; };
  world.bench.advance(acp::AcpConnections::kLongAlone - Duration{1});
  EXPECT_EQ(world.prompt(working, 3), AcpConnection::Posted::taken);
  EXPECT_EQ(world.connections.forget_idle(nullptr, is_short), 0U) << "it may be back in a moment";
  world.bench.advance(Duration{1});
  EXPECT_EQ(world.connections.forget_idle(nullptr, is_short), 1U);
  EXPECT_FALSE(world.has(idle));
  EXPECT_TRUE(world.has(working.id()));
  world.connections.close_all();
}

}  // namespace
}  // namespace stdgate::test

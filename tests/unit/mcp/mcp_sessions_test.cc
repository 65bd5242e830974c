// The MCP sessions of a backend: how they are found, when they are idle, and how they end.

#include "gateway/mcp/mcp_sessions.h"

#include <deque>

#include "tests/unit/mcp/mcp_world.h"

namespace stdgate::test {
namespace {

using Kind = mcp::McpSession::Kind;

class McpSessionsTest : public testing::Test {
 protected:
  FakeEventSink get_;
  FakeEventSink post_;
  FakeEventSink other_;
  McpWorld world_;  // ends the responses that are open
};

TEST_F(McpSessionsTest, FindsSessionsByIdAndKind) {
  mcp::McpSession& streamable = world_.open();
  mcp::McpSession& sse = world_.open(Kind::sse);
  EXPECT_EQ(world_.sessions.size(), 2U);
  EXPECT_EQ(world_.sessions.find(streamable.id(), Kind::streamable, nullptr), &streamable);
  EXPECT_EQ(world_.sessions.find(streamable.id(), Kind::sse, nullptr), nullptr);
  EXPECT_EQ(world_.sessions.find(sse.id(), Kind::sse, nullptr), &sse);
  EXPECT_EQ(world_.sessions.find("", Kind::streamable, nullptr), nullptr);
  EXPECT_EQ(world_.sessions.find(streamable.id().substr(1), Kind::streamable, nullptr), nullptr);
}

TEST_F(McpSessionsTest, EachHasAChildOfItsOwn) {
  mcp::McpSession& one = world_.greet();
  FakeChild& first_child = world_.child();
  mcp::McpSession& two = world_.greet();
  world_.post(one, post_, request_text("1", "one"));
  world_.post(two, other_, request_text("1", "two"));
  EXPECT_THAT(first_child.take_lines().back(), HasSubstr("one"));
  EXPECT_THAT(world_.child().take_lines().back(), HasSubstr("two"));
}

TEST_F(McpSessionsTest, ARefusedOneLeavesNothing) {
  backend::BackendOptions options = mcp_options();
  options.config.pool.max = 1;
  options.config.pool.queue = 0;
  McpWorld world(options);
  world.open();
  world.post(post_, request_text("0", "initialize"));  // the session is at work
  const auto refused = world.sessions.open(Kind::streamable);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().fault, rpc::Fault::overloaded);
  EXPECT_EQ(world.sessions.size(), 1U);
  world.sessions.close(*world.session);
  world.child().exit(0);
  world.bench.settle();
  EXPECT_TRUE(world.sessions.open(Kind::streamable).has_value());
}

// --- Ends -----------------------------------------------------------------------------------

TEST_F(McpSessionsTest, ClosingEndsStreamsCallsAndChild) {
  world_.greet();
  world_.listen(get_);
  world_.post(post_, request_text("1"));
  world_.post(other_, tool_call("2", "2"));
  world_.child().say(progress("2", 1));
  world_.sessions.close(*world_.session);
  EXPECT_FALSE(world_.is_open());
  EXPECT_EQ(world_.sessions.size(), 0U);
  EXPECT_TRUE(get_.ended);
  EXPECT_TRUE(post_.json.has_value());
  EXPECT_TRUE(other_.ended);
  EXPECT_EQ(world_.bench.backend.calls(), 0U);
  EXPECT_EQ(world_.bench.observer.sessions, 0);
  EXPECT_FALSE(world_.child().ends().empty());
  const auto& records = world_.bench.observer.records;
  EXPECT_EQ(records.back().outcome, "cancelled");
  // None of these events may reach a client.
  world_.child().say(note_text("late"));
  world_.sessions.detach(world_.id, get_);
  world_.sessions.on_sink_writable(world_.id);
  world_.bench.advance(minutes(10));
}

TEST_F(McpSessionsTest, ClosesInAnyState) {
  const std::vector<std::function<void(McpWorld&, FakeEventSink&)>> states = {
      [](McpWorld&, FakeEventSink&) {},
      [](McpWorld& world, FakeEventSink& sink) { world.post(sink, request_text("1")); },
      [](McpWorld& world, FakeEventSink& sink) {
        world.post(sink, request_text("1"));
        world.leave(sink);
      },
      [](McpWorld& world, FakeEventSink& sink) {
        world.listen(sink);
        sink.backed_up = true;
        world.child().say(note_text("n"));  // the child is about to be held
      },
      [](McpWorld& world, FakeEventSink& sink) {
        world.listen(sink);
        sink.backed_up = true;
        world.child().say(note_text("n"));
        world.bench.settle();
      },
      [](McpWorld& world, FakeEventSink&) { world.child().exit(1); },
      [](McpWorld& world, FakeEventSink&) { world.child().close_output(); },
      [](McpWorld& world, FakeEventSink& sink) {
        world.post(sink, request_text("1"));
        world.bench.advance(seconds(70));
      },
      [](McpWorld& world, FakeEventSink& sink) {
        world.listen(sink);
        world.child().say(request_text("1", "ping"));
        world.sessions.drain();
      },
  };
  for (size_t i = 0; i < states.size(); ++i) {
    SCOPED_TRACE(i);
    FakeEventSink sink;
    McpWorld world;
    world.greet();
    states[i](world, sink);
    world.sessions.close(*world.session);
    world.bench.advance(minutes(10));
    EXPECT_EQ(world.sessions.size(), 0U);
    EXPECT_EQ(world.bench.observer.sessions, 0);
    EXPECT_EQ(world.bench.backend.calls(), 0U);
    EXPECT_TRUE(sink.over || !sink.streaming);
  }
}

TEST_F(McpSessionsTest, ClosesBeforeItsChildHasStarted) {
  const auto session = world_.sessions.open(Kind::streamable);
  ASSERT_TRUE(session.has_value());
  world_.post(**session, post_, request_text("0", "initialize"));
  world_.sessions.close(**session);
  EXPECT_TRUE(post_.json.has_value());
  EXPECT_EQ(world_.bench.backend.calls(), 0U);
}

TEST_F(McpSessionsTest, AClientMayLeaveWhileItsSessionIsClosed) {
  world_.greet();
  world_.listen(get_);
  world_.post(post_, request_text("1"));
  // One response ends, and at the same time the client of the other response leaves.
  get_.during = [this] {
    post_.during = nullptr;
    world_.leave(post_);
  };
  world_.sessions.close(*world_.session);
  EXPECT_TRUE(get_.ended);
  EXPECT_FALSE(post_.ended);
}

TEST_F(McpSessionsTest, AChildThatDiesEndsTheSession) {
  world_.greet();
  world_.listen(get_);
  world_.post(post_, request_text("1"));
  world_.post(other_, tool_call("2", "2"));
  world_.child().say(progress("2", 1));
  world_.child().die(9);
  ASSERT_TRUE(post_.json.has_value());
  EXPECT_THAT(*post_.json, HasSubstr(R"("id":1,"error":{"code":-31502)"));
  EXPECT_THAT(other_.take(), ElementsAre(progress("2", 1), HasSubstr("-31502")));
  EXPECT_TRUE(other_.ended);
  EXPECT_FALSE(world_.is_open()) << "over at once";
  world_.bench.settle();
  EXPECT_TRUE(get_.ended);
  EXPECT_EQ(world_.sessions.size(), 0U);
  EXPECT_EQ(world_.bench.observer.sessions, 0);
}

TEST_F(McpSessionsTest, AChildThatCannotStartEndsTheSession) {
  const auto session = world_.sessions.open(Kind::streamable);
  ASSERT_TRUE(session.has_value());
  world_.post(**session, post_, request_text("0", "initialize"));
  world_.bench.child(0).fail_to_start("no such file");
  ASSERT_TRUE(post_.json.has_value());
  EXPECT_THAT(*post_.json, HasSubstr("-31502"));
  world_.bench.settle();
  EXPECT_EQ(world_.sessions.size(), 0U);
}

TEST_F(McpSessionsTest, OthersOutliveASessionThatEnds) {
  mcp::McpSession& stays = world_.greet();
  const std::string id = stays.id();
  world_.greet();
  world_.child().exit(0);
  world_.bench.settle();
  EXPECT_EQ(world_.sessions.size(), 1U);
  EXPECT_EQ(world_.sessions.find(id, Kind::streamable, nullptr), &stays);
}

TEST_F(McpSessionsTest, AllCanBeClosed) {
  world_.greet();
  world_.listen(get_);
  world_.greet();
  world_.post(post_, request_text("1"));
  world_.sessions.close_all();
  EXPECT_EQ(world_.sessions.size(), 0U);
  EXPECT_TRUE(get_.ended);
  EXPECT_TRUE(post_.json.has_value());
}

TEST_F(McpSessionsTest, ADrainEndsWhatOnlyListens) {
  world_.greet();
  world_.listen(get_);
  world_.post(post_, request_text("1"));
  world_.post(other_, tool_call("2", "2"));
  world_.child().say(progress("2", 1));
  world_.sessions.drain();
  EXPECT_TRUE(get_.ended);
  ASSERT_EQ(get_.events.size(), 2U);
  EXPECT_EQ(get_.events[0].retry_ms, 0U) << "the first event has no such field";
  EXPECT_GT(get_.events[1].retry_ms, 0U) << "its client is to come back";
  EXPECT_FALSE(post_.over);
  EXPECT_FALSE(other_.over);
  world_.answer_next();
  world_.answer_next();
  EXPECT_EQ(post_.json, result_text("1"));
  EXPECT_THAT(other_.take(), ElementsAre(progress("2", 1), result_text("2")));
}

// --- Idle sessions --------------------------------------------------------------------------

TEST_F(McpSessionsTest, AnIdleSessionEndsInTime) {
  world_.greet();
  world_.bench.advance(McpWorld::kIdleTimeout - Duration(1));
  EXPECT_TRUE(world_.is_open());
  world_.bench.advance(Duration(1));
  EXPECT_FALSE(world_.is_open());
  EXPECT_FALSE(world_.child().ends().empty());
  EXPECT_FALSE(world_.bench.timers.next_due().has_value() &&
               *world_.bench.timers.next_due() <= world_.bench.clock.now())
      << "nobody looks for idle sessions where there are none";
}

TEST_F(McpSessionsTest, WhateverItsClientSendsKeepsASession) {
  world_.greet();
  const std::vector<std::function<void()>> signs = {
      [this] { world_.post(other_, note_text("n")); },
      [this] {
        FakeEventSink sink;
        world_.post(sink, request_text("1", "ping"));
        world_.answer_next();
      },
      [this] {
        FakeEventSink sink;
        world_.listen(sink);
        world_.leave(sink);
      },
  };
  for (const auto& sign : signs) {
    world_.bench.advance(McpWorld::kIdleTimeout - seconds(3));
    ASSERT_TRUE(world_.is_open());
    sign();
    world_.bench.advance(seconds(2));
    EXPECT_TRUE(world_.is_open());
  }
  world_.bench.advance(McpWorld::kIdleTimeout);
  EXPECT_FALSE(world_.is_open());
}

TEST_F(McpSessionsTest, ASessionThatListensIsNotIdle) {
  world_.greet();
  world_.listen(get_);
  world_.bench.advance(10 * McpWorld::kIdleTimeout);
  EXPECT_TRUE(world_.is_open());
  world_.leave(get_);
  world_.bench.advance(McpWorld::kIdleTimeout - Duration(1));
  EXPECT_TRUE(world_.is_open()) << "since it has gone";
  world_.bench.advance(McpWorld::kIdleTimeout);
  EXPECT_FALSE(world_.is_open());
}

class McpLongCall : public testing::Test {
 protected:
  static backend::BackendOptions patient() {
    backend::BackendOptions options = mcp_options();
    options.config.timeout = 10 * McpWorld::kIdleTimeout;
    return options;
  }
  McpLongCall() {
    world_.greet();
    world_.post(post_, request_text("1"));
  }
  FakeEventSink post_;
  McpWorld world_{patient()};
};

TEST_F(McpLongCall, KeepsItsSession) {
  world_.bench.advance(5 * McpWorld::kIdleTimeout / 2);
  EXPECT_TRUE(world_.is_open());
  world_.answer_next();
  world_.bench.advance(McpWorld::kIdleTimeout - Duration(1));
  EXPECT_TRUE(world_.is_open()) << "its client needs time to go on";
  world_.bench.advance(McpWorld::kIdleTimeout);
  EXPECT_FALSE(world_.is_open());
}

TEST_F(McpLongCall, KeepsItsSessionWhenItsClientHasLeft) {
  world_.leave(post_);
  world_.bench.advance(5 * McpWorld::kIdleTimeout / 2);
  EXPECT_TRUE(world_.is_open()) << "it may come back for the answer";
  world_.answer_next();
  world_.bench.advance(McpWorld::kIdleTimeout - Duration(1));
  EXPECT_TRUE(world_.is_open());
  world_.bench.advance(McpWorld::kIdleTimeout);
  EXPECT_FALSE(world_.is_open());
}

TEST_F(McpSessionsTest, EachIdlesForItself) {
  world_.greet();
  const std::string first = world_.id;
  world_.bench.advance(McpWorld::kIdleTimeout / 2);
  world_.greet();
  world_.bench.advance(McpWorld::kIdleTimeout / 2);
  EXPECT_EQ(world_.sessions.find(first, Kind::streamable, nullptr), nullptr);
  EXPECT_TRUE(world_.is_open());
  world_.bench.advance(McpWorld::kIdleTimeout / 2);
  EXPECT_FALSE(world_.is_open());
}

// The ways in which a session ends while calls are under way. Each of its calls is answered.
class McpSessionsEnd : public McpSessionsTest {
 protected:
  void post_two() {
    world_.greet();
    world_.post(post_, request_text("1", "one"));
    world_.post(other_, "[" + request_text("2", "two") + "," + request_text("3", "three") + "]");
  }
  void expect_faults(const char* why) {
    ASSERT_TRUE(post_.json.has_value()) << "an empty stream";
    EXPECT_THAT(*post_.json, AllOf(HasSubstr(R"("id":1)"), HasSubstr("error"), HasSubstr(why)));
    ASSERT_TRUE(other_.json.has_value());
    EXPECT_THAT(*other_.json,
                AllOf(HasSubstr(R"("id":2)"), HasSubstr(R"("id":3)"), HasSubstr(why)));
  }
};

TEST_F(McpSessionsEnd, ByItsClient) {
  post_two();
  world_.sessions.close(*world_.session);
  expect_faults("the session has ended");
  EXPECT_EQ(world_.bench.observer.records.back().outcome, "cancelled");
}

TEST_F(McpSessionsEnd, ByItsChild) {
  post_two();
  world_.child().die(9);
  world_.bench.settle();
  expect_faults("killed by signal 9");
}

TEST_F(McpSessionsEnd, ByTheEndOfTheGateway) {
  post_two();
  world_.sessions.drain();
  world_.bench.backend.drain();
  world_.sessions.close_all();
  expect_faults("the session has ended");
}

TEST_F(McpSessionsEnd, AStreamThatHasBegunGetsTheFaultAsItsLastEvent) {
  world_.greet();
  world_.post(post_, tool_call("1", "7"));
  world_.child().say(progress("7", 1));
  world_.sessions.close(*world_.session);
  ASSERT_FALSE(post_.events.empty());
  EXPECT_THAT(post_.events.back().data, HasSubstr("the session has ended"));
  EXPECT_TRUE(post_.ended);
}

// The client of a session greets the child. A child that does not answer the greeting is given up
// like any other.
class McpSilentChild : public testing::Test {
 protected:
  static constexpr const char* kInitialize =
      R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{}})";
  FakeEventSink post_;
  McpWorld world_;
};

TEST_F(McpSilentChild, IsEndedAfterTheStartTimeout) {
  const Duration patience = mcp_options().config.pool.start_timeout;
  world_.open();
  world_.post(post_, kInitialize);
  world_.child().write_stderr("Usage: server --stdio");
  world_.bench.advance(patience - Duration{1});
  EXPECT_TRUE(world_.child().ends().empty());
  world_.bench.advance(Duration{1});
  ASSERT_EQ(world_.child().ends().size(), 1U);
  world_.child().die(9);
  world_.bench.settle();
  ASSERT_FALSE(post_.events.empty()) << "a POST that was silent for long is a stream";
  EXPECT_THAT(post_.events.back().data, HasSubstr("did not answer initialize in time"));
  const std::string* line = world_.bench.log.find("child ended");
  ASSERT_NE(line, nullptr);
  EXPECT_THAT(*line, AllOf(HasSubstr("did not answer initialize"), HasSubstr("--protocol"),
                           HasSubstr("Usage: server --stdio"), Not(HasSubstr("signal 9"))));
}

TEST_F(McpSilentChild, AnyAnswerWillDo) {
  const Duration patience = mcp_options().config.pool.start_timeout;
  for (const char* answer : {R"("result":{})", R"("error":{"code":1,"message":"no"})"}) {
    FakeEventSink post;
    world_.open();
    world_.post(post, kInitialize);
    world_.child().say(R"({"jsonrpc":"2.0","id":)" + world_.child().take_ids().at(0) + "," +
                       answer + "}");
    world_.bench.advance(2 * patience);
    const std::string* line = world_.bench.log.find("child ended");
    if (line != nullptr) {
      EXPECT_THAT(*line, Not(HasSubstr("did not answer")));
    }
  }
}

}  // namespace
}  // namespace stdgate::test

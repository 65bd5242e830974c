// The MCP sessions of a backend: how they are found, how they idle, how they end.

#include "gateway/mcp/mcp_sessions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "tests/unit/mcp/mcp_world.h"

namespace stdgate {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using test::FakeEventSink;
using test::McpWorld;
using test::note_text;
using test::progress;
using test::request_text;
using test::result_text;
using test::tool_call;
using testing::ElementsAre;
using testing::HasSubstr;

using Kind = McpSession::Kind;

class McpSessionsTest : public testing::Test {
 protected:
  FakeEventSink get_;
  FakeEventSink post_;
  FakeEventSink other_;
  McpWorld world_;  // ends the responses that are left
};

TEST_F(McpSessionsTest, FindsSessionsByIdAndKind) {
  McpSession& streamable = world_.open();
  McpSession& sse = world_.open(Kind::sse);
  EXPECT_EQ(world_.sessions.size(), 2U);
  EXPECT_EQ(world_.sessions.find(streamable.id(), Kind::streamable), &streamable);
  EXPECT_EQ(world_.sessions.find(streamable.id(), Kind::sse), nullptr);
  EXPECT_EQ(world_.sessions.find(sse.id(), Kind::sse), &sse);
  EXPECT_EQ(world_.sessions.find("", Kind::streamable), nullptr);
  EXPECT_EQ(world_.sessions.find(streamable.id().substr(1), Kind::streamable), nullptr);
}

TEST_F(McpSessionsTest, EachHasAChildOfItsOwn) {
  McpSession& one = world_.greet();
  test::FakeChild& first_child = world_.child();
  McpSession& two = world_.greet();
  world_.post(one, post_, request_text("1", "one"));
  world_.post(two, other_, request_text("1", "two"));
  EXPECT_THAT(first_child.take_lines().back(), HasSubstr("one"));
  EXPECT_THAT(world_.child().take_lines().back(), HasSubstr("two"));
}

TEST_F(McpSessionsTest, ARefusedOneLeavesNothing) {
  BackendOptions options = test::mcp_options();
  options.config.pool.max = 2;  // one of them is kept for calls without a session
  McpWorld world(options);
  world.open();
  const auto refused = world.sessions.open(Kind::streamable);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().fault, Fault::overloaded);
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
  EXPECT_TRUE(post_.ended);
  EXPECT_TRUE(other_.ended);
  EXPECT_EQ(world_.bench.backend.calls(), 0U);
  EXPECT_EQ(world_.bench.observer.sessions, 0);
  EXPECT_FALSE(world_.child().ends().empty());
  const auto& records = world_.bench.observer.records;
  EXPECT_EQ(records.back().outcome, "cancelled");
  // Nobody is left whom any of this could reach.
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
  EXPECT_TRUE(post_.ended);
  EXPECT_EQ(world_.bench.backend.calls(), 0U);
}

TEST_F(McpSessionsTest, AClientMayLeaveWhileItsSessionIsClosed) {
  world_.greet();
  world_.listen(get_);
  world_.post(post_, request_text("1"));
  // One response ends, and the connection of the other goes with it.
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
  McpSession& stays = world_.greet();
  const std::string id = stays.id();
  world_.greet();
  world_.child().exit(0);
  world_.bench.settle();
  EXPECT_EQ(world_.sessions.size(), 1U);
  EXPECT_EQ(world_.sessions.find(id, Kind::streamable), &stays);
}

TEST_F(McpSessionsTest, AllCanBeClosed) {
  world_.greet();
  world_.listen(get_);
  world_.greet();
  world_.post(post_, request_text("1"));
  world_.sessions.close_all();
  EXPECT_EQ(world_.sessions.size(), 0U);
  EXPECT_TRUE(get_.ended);
  EXPECT_TRUE(post_.ended);
}

TEST_F(McpSessionsTest, ADrainEndsWhatOnlyListens) {
  world_.greet();
  world_.listen(get_);
  world_.post(post_, request_text("1"));
  world_.post(other_, tool_call("2", "2"));
  world_.child().say(progress("2", 1));
  world_.sessions.drain();
  EXPECT_TRUE(get_.ended);
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
  static BackendOptions patient() {
    BackendOptions options = test::mcp_options();
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
  EXPECT_EQ(world_.sessions.find(first, Kind::streamable), nullptr);
  EXPECT_TRUE(world_.is_open());
  world_.bench.advance(McpWorld::kIdleTimeout / 2);
  EXPECT_FALSE(world_.is_open());
}

}  // namespace
}  // namespace stdgate

// The stream of an MCP session that a message of the child is sent on: exactly one stream, exactly
// once.

#include "tests/unit/mcp/mcp_world.h"

namespace stdgate::test {
namespace {

const std::string kLog = note_text("notifications/message", R"({"level":"info","data":1})");

class McpRouting : public testing::Test {
 protected:
  McpRouting() { world_.greet("2025-06-18"); }
  void say_log() { world_.child().say(kLog); }

  FakeEventSink get_;
  FakeEventSink first_;
  FakeEventSink second_;
  McpWorld world_;  // ends the responses that are open
};

TEST_F(McpRouting, ProgressGoesToItsPost) {
  world_.listen(get_);
  world_.post(first_, tool_call("1", "\"a\""));
  world_.post(second_, tool_call("2", "\"b\""));
  world_.child().say(progress("\"b\"", 1));
  world_.child().say(progress("\"a\"", 2));
  EXPECT_THAT(first_.take(), ElementsAre(progress("\"a\"", 2)));
  EXPECT_THAT(second_.take(), ElementsAre(progress("\"b\"", 1)));
  EXPECT_THAT(get_.take(), IsEmpty());
}

TEST_F(McpRouting, ProgressOfAPostWhoseClientHasLeftWaitsForIt) {
  world_.listen(get_);
  world_.post(first_, tool_call("1", "\"a\""));
  world_.child().say(progress("\"a\"", 1));
  const std::string last = first_.events.back().id;
  world_.leave(first_);
  world_.post(second_, tool_call("2", "\"b\""));
  world_.child().say(progress("\"a\"", 2));
  EXPECT_THAT(get_.take(), IsEmpty());
  EXPECT_THAT(second_.take(), IsEmpty());
  FakeEventSink again;
  EXPECT_EQ(world_.session->resume(again, last), mcp::McpSession::Resumed::yes);
  EXPECT_THAT(again.take(), ElementsAre(progress("\"a\"", 2)));
  world_.leave(again);
}

// Messages that name no call, with different streams open.
TEST_F(McpRouting, OthersGoToTheOnlyPost) {
  world_.listen(get_);
  world_.post(first_, request_text("1"));
  say_log();
  EXPECT_THAT(first_.take(), ElementsAre(kLog));
  EXPECT_THAT(get_.take(), IsEmpty());
}

TEST_F(McpRouting, OthersGoToTheGetWhenThereAreSeveralPosts) {
  world_.listen(get_);
  world_.post(first_, request_text("1"));
  world_.post(second_, request_text("2"));
  say_log();
  EXPECT_THAT(get_.take(), ElementsAre(kLog));
  EXPECT_FALSE(first_.streaming || second_.streaming);
}

TEST_F(McpRouting, OthersGoToTheYoungestPostWithoutAGet) {
  world_.post(first_, request_text("1"));
  world_.post(second_, request_text("2"));
  say_log();
  EXPECT_THAT(second_.take(), ElementsAre(kLog));
  EXPECT_FALSE(first_.streaming);
}

TEST_F(McpRouting, APostThatIsNotHeardDoesNotCount) {
  world_.post(first_, request_text("1"));
  world_.post(second_, request_text("2"));
  world_.leave(second_);
  say_log();
  EXPECT_THAT(first_.take(), ElementsAre(kLog));
  world_.leave(first_);
  world_.listen(get_);
  EXPECT_THAT(get_.take(), IsEmpty());
  say_log();
  EXPECT_THAT(get_.take(), ElementsAre(kLog));
}

TEST_F(McpRouting, APostThatIsOverDoesNotCount) {
  world_.listen(get_);
  world_.post(first_, request_text("1"));
  world_.answer_next();
  say_log();
  EXPECT_THAT(get_.take(), ElementsAre(kLog));
}

TEST_F(McpRouting, OthersWaitForTheGetToComeAndComeOnce) {
  say_log();
  const std::string changed = note_text("notifications/tools/list_changed");
  world_.child().say(changed);
  world_.listen(get_);
  EXPECT_THAT(get_.take(), ElementsAre(kLog, changed));
  world_.leave(get_);
  FakeEventSink again;
  world_.listen(again);
  EXPECT_TRUE(again.streaming);
  EXPECT_THAT(again.take(), IsEmpty());
  world_.leave(again);
}

TEST_F(McpRouting, WhatWaitedIsNotGivenToAPost) {
  say_log();
  world_.post(first_, request_text("1"));
  world_.answer_next();
  EXPECT_EQ(first_.json, result_text("1"));
}

TEST_F(McpRouting, EachMessageComesOnOneStreamOnce) {
  world_.listen(get_);
  world_.post(first_, tool_call("1", "1"));
  world_.post(second_, tool_call("2", "2"));
  std::vector<std::string> said;
  for (int step = 0; step < 20; ++step) {
    said.push_back(step % 4 == 3 ? note_text("n", "[" + std::to_string(step) + "]")
                                 : progress(std::to_string(1 + step % 2), step));
    world_.child().say(said.back());
    if (step == 10) world_.leave(get_);
    if (step == 15) world_.answer_next();
  }
  world_.answer_next();
  FakeEventSink again;
  world_.listen(again);
  world_.leave(again);
  std::vector<std::string> heard;
  for (FakeEventSink* sink : {&get_, &first_, &second_, &again}) {
    for (std::string& text : sink->take()) heard.push_back(std::move(text));
  }
  said.push_back(result_text("1"));
  said.push_back(result_text("2"));
  EXPECT_THAT(heard, testing::UnorderedElementsAreArray(said));
}

TEST_F(McpRouting, ProgressAfterItsCallGoesWhereOthersGo) {
  world_.listen(get_);
  world_.post(first_, tool_call("1", "1"));
  world_.answer_next();
  world_.child().say(progress("1", 9));
  EXPECT_THAT(get_.take(), ElementsAre(progress("1", 9)));
}

// --- Requests of the child ------------------------------------------------------------------

TEST_F(McpRouting, ARequestThatNobodyHearsIsRefused) {
  world_.child().take_lines();
  world_.child().say(request_text("\"r\"", "roots/list"));
  EXPECT_THAT(world_.child().take_line(), HasSubstr(R"("id":"r","error":{"code":-32601)"));
  world_.listen(get_);
  EXPECT_THAT(get_.take(), IsEmpty());
}

TEST_F(McpRouting, ARequestIsRefusedWhenAllHaveLeft) {
  world_.listen(get_);
  world_.post(first_, request_text("1"));
  world_.leave(get_);
  world_.leave(first_);
  world_.child().take_lines();
  world_.child().say(request_text("7", "ping"));
  EXPECT_THAT(world_.child().take_line(), HasSubstr(R"("id":7,"error":{"code":-32601)"));
}

TEST_F(McpRouting, ARequestGoesToAPostOrAGetAndIsAnsweredByAPost) {
  struct Case {
    bool get;
    bool post;
    FakeEventSink* asked;
  };
  const std::vector<Case> cases = {{true, false, &get_}, {false, true, &first_}};
  for (const Case& c : cases) {
    if (c.get) world_.listen(get_);
    if (c.post) world_.post(first_, request_text("1"));
    world_.child().take_lines();
    world_.child().say(request_text("\"r\"", "sampling/createMessage"));
    const auto asked = c.asked->take();
    ASSERT_THAT(asked, SizeIs(1));
    EXPECT_THAT(asked[0], HasSubstr("sampling/createMessage"));
    FakeEventSink unused;
    EXPECT_EQ(world_.post(unused, result_text(id_in(asked[0]))), mcp::McpSession::Posted::taken);
    EXPECT_THAT(world_.child().take_lines(), ElementsAre(result_text("\"r\"")));
    world_.leave(*c.asked);
  }
}

// --- Children that are shared ---------------------------------------------------------------

class SharedMcpRouting : public testing::Test {
 protected:
  static constexpr const char* kServer = R"({"protocolVersion":"2025-06-18","capabilities":{}})";
  SharedMcpRouting() {
    one_ = &open();
    FakeEventSink sink;
    world_.post(sink, request_text("0", "initialize"));
    EXPECT_FALSE(sink.over) << "the child has not been greeted yet";
    child().start();
    child().answer(child().take_ids().at(0), kServer);
    EXPECT_THAT(*sink.json, HasSubstr("2025-06-18"));
    two_ = &open();
    FakeEventSink second;
    EXPECT_EQ(world_.post(*two_, second, request_text("5", "initialize")),
              mcp::McpSession::Posted::under_way);
    EXPECT_THAT(*second.json, HasSubstr(R"("id":5)")) << "answered before the POST returns";
    EXPECT_EQ(two_->revision(), mcp::McpRevision::v2025_06_18);
    child().take_lines();
  }
  mcp::McpSession& open() {
    world_.session = *world_.sessions.open(mcp::McpSession::Kind::streamable);
    world_.id = world_.session->id();
    return *world_.session;
  }
  FakeChild& child() { return world_.bench.child(0); }

  FakeEventSink first_;
  FakeEventSink second_;
  McpWorld world_{mcp_options(config::Isolation::shared)};
  mcp::McpSession* one_ = nullptr;
  mcp::McpSession* two_ = nullptr;
};

TEST_F(SharedMcpRouting, ProgressGoesToItsSessionUnderItsOwnToken) {
  world_.post(*one_, first_, tool_call("1", "\"same\""));
  world_.post(*two_, second_, tool_call("1", "\"same\""));
  const auto ids = child().take_ids();
  child().say(progress(ids.at(1), 1));
  EXPECT_THAT(second_.take(), ElementsAre(progress("\"same\"", 1)));
  EXPECT_FALSE(first_.streaming);
  child().answer(ids.at(0));
  EXPECT_EQ(first_.json, result_text("1"));
  child().answer(ids.at(1));
  EXPECT_THAT(second_.take(), ElementsAre(result_text("1")));
}

TEST_F(SharedMcpRouting, ChangesGoToEachSessionOnce) {
  one_->listen(first_);
  const std::string changed = note_text("notifications/tools/list_changed");
  child().say(changed);
  EXPECT_THAT(first_.take(), ElementsAre(changed));
  two_->listen(second_);
  EXPECT_THAT(second_.take(), ElementsAre(changed)) << "it has waited";
}

TEST_F(SharedMcpRouting, RequestsGoToTheOnlySessionWithACall) {
  one_->listen(first_);
  two_->listen(second_);
  FakeEventSink post;
  world_.post(*two_, post, request_text("1"));
  child().take_lines();
  child().say(request_text("3", "roots/list"));
  const auto asked = post.take();
  ASSERT_THAT(asked, SizeIs(1));
  EXPECT_THAT(first_.take(), IsEmpty());
  EXPECT_THAT(second_.take(), IsEmpty());
  FakeEventSink unused;
  world_.post(*one_, unused, result_text(id_in(asked[0])));
  EXPECT_THAT(child().take_lines(), IsEmpty()) << "another session cannot answer";
  world_.post(*two_, unused, result_text(id_in(asked[0])));
  EXPECT_THAT(child().take_lines(), ElementsAre(result_text("3")));
  world_.sessions.detach(two_->id(), post);
}

}  // namespace
}  // namespace stdgate::test

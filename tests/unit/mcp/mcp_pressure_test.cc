// A client of an MCP session that reads too slowly: its own child is held, and released again.

#include <functional>

#include "tests/unit/mcp/mcp_world.h"

namespace stdgate::test {
namespace {

class McpPressure : public testing::Test {
 protected:
  McpPressure() { world_.greet(); }
  // The response's client reads nothing more, and the child has sent a message for it.
  void back_up(FakeEventSink& sink, const std::string& text) {
    sink.backed_up = true;
    world_.child().say(text);
    EXPECT_TRUE(world_.child().is_read()) << "not inside of its own event";
    world_.bench.settle();
    EXPECT_FALSE(world_.child().is_read());
  }
  void back_up_get() {
    world_.listen(get_);
    back_up(get_, note_text("n"));
  }
  void back_up_post() {
    world_.post(post_, tool_call("1", "1"));
    back_up(post_, progress("1", 1));
  }
  void expect_let_go() {
    world_.bench.settle();
    EXPECT_TRUE(world_.child().is_read());
  }

  FakeEventSink get_;
  FakeEventSink post_;
  FakeEventSink other_;
  McpWorld world_;  // ends the responses that are open
};

TEST_F(McpPressure, TheChildIsLetGoWhenTheClientTakesAgain) {
  back_up_get();
  world_.make_room(get_);
  EXPECT_TRUE(world_.child().is_read());
  back_up(get_, note_text("again"));
  world_.make_room(get_);
  EXPECT_TRUE(world_.child().is_read());
}

TEST_F(McpPressure, TheChildIsHeldWhileAnyClientIsBackedUp) {
  back_up_get();
  world_.post(post_, tool_call("1", "1"));
  post_.backed_up = true;
  world_.make_room(get_);
  EXPECT_FALSE(world_.child().is_read());
  world_.make_room(post_);
  EXPECT_TRUE(world_.child().is_read());
}

TEST_F(McpPressure, TheChildIsLetGoWhenTheClientHasLeft) {
  back_up_get();
  world_.leave(get_);
  expect_let_go();
}

TEST_F(McpPressure, TheChildIsLetGoWhenThePostsClientHasLeft) {
  back_up_post();
  world_.leave(post_);
  expect_let_go();
  world_.answer_next();
}

TEST_F(McpPressure, TheChildIsLetGoWhenThePostIsOver) {
  // These messages of the child came before the hold.
  world_.post(post_, tool_call("1", "1"));
  post_.backed_up = true;
  world_.child().say(progress("1", 1));
  world_.answer_next();
  EXPECT_TRUE(post_.ended);
  expect_let_go();
}

TEST_F(McpPressure, TheChildIsLetGoWhenTheCallTimesOut) {
  back_up_post();
  world_.bench.advance(std::chrono::hours(1));
  EXPECT_TRUE(post_.ended);
  expect_let_go();
}

TEST_F(McpPressure, TheChildIsLetGoWhenTheCallIsCancelled) {
  back_up_post();
  world_.post(other_, note_text("notifications/cancelled", R"({"requestId":1})"));
  EXPECT_TRUE(post_.ended);
  expect_let_go();
}

TEST_F(McpPressure, TheChildIsLetGoWhenAnotherGetTakesOver) {
  back_up_get();
  world_.listen(other_);
  EXPECT_TRUE(get_.ended);
  expect_let_go();
}

TEST_F(McpPressure, TheChildIsLetGoWhenAnotherResponseTakesOver) {
  back_up_post();
  EXPECT_EQ(world_.session->resume(other_, post_.events.at(0).id), mcp::McpSession::Resumed::yes);
  EXPECT_TRUE(post_.ended);
  expect_let_go();
}

TEST_F(McpPressure, TheChildIsLetGoWhenADrainEndsTheGet) {
  back_up_get();
  world_.sessions.drain();
  EXPECT_TRUE(get_.ended);
  expect_let_go();
}

TEST_F(McpPressure, AnswersOfABatchHoldTheChildToo) {
  world_.post(post_,
              "[" + tool_call("1", "1") + "," + request_text("2") + "," + request_text("3") + "]");
  world_.child().say(progress("1", 1));
  post_.backed_up = true;
  world_.answer_next();
  world_.bench.settle();
  EXPECT_FALSE(world_.child().is_read());
  world_.make_room(post_);
  EXPECT_TRUE(world_.child().is_read());
}

TEST_F(McpPressure, AReplayThatIsNotTakenHoldsTheChild) {
  world_.child().say(note_text("n"));
  get_.backed_up = true;
  world_.listen(get_);
  world_.bench.settle();
  EXPECT_FALSE(world_.child().is_read());
  const std::string id = get_.events.at(0).id;
  world_.leave(get_);
  expect_let_go();
  other_.backed_up = true;
  world_.session->resume(other_, id);
  world_.bench.settle();
  EXPECT_FALSE(world_.child().is_read());
}

TEST_F(McpPressure, NothingIsLostOfWhatAHeldChildSaid) {
  world_.listen(get_);
  get_.backed_up = true;
  for (const char* name : {"a", "b", "c"}) world_.child().say(note_text(name));
  world_.bench.settle();
  world_.make_room(get_);
  world_.child().say(note_text("d"));
  EXPECT_THAT(get_.take(),
              ElementsAre(note_text("a"), note_text("b"), note_text("c"), note_text("d")));
}

TEST_F(McpPressure, AnAnswerAloneHoldsNobody) {
  world_.post(post_, request_text("1"));
  post_.backed_up = true;
  world_.answer_next();
  world_.bench.settle();
  EXPECT_TRUE(world_.child().is_read());
}

TEST(McpSharedPressure, ASharedChildIsNeverHeld) {
  FakeEventSink get;
  McpWorld world(mcp_options(config::Isolation::shared));
  const auto session = world.sessions.open(mcp::McpSession::Kind::streamable);
  FakeEventSink post;
  world.post(**session, post, request_text("0", "initialize"));
  FakeChild& child = world.bench.start_child();
  child.answer(child.take_ids().at(0), R"({"protocolVersion":"2025-06-18","capabilities":{}})");
  (*session)->listen(get);
  get.backed_up = true;
  child.say(note_text("notifications/tools/list_changed"));
  world.bench.settle();
  EXPECT_TRUE(child.is_read());
  EXPECT_EQ(get.take().size(), 1U);
}

}  // namespace
}  // namespace stdgate::test

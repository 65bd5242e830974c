// Sessions of the transport of MCP 2024-11-05, which has one stream for all messages.

#include "tests/unit/mcp/mcp_world.h"

namespace stdgate::test {
namespace {

using Posted = mcp::McpSession::Posted;

class McpSseSession : public testing::Test {
 protected:
  McpSseSession() {
    world_.open(mcp::McpSession::Kind::sse);
    world_.listen(stream_);
    world_.session->announce("endpoint", "/messages?session=1");
  }
  Posted post(const std::string& text) {
    const Posted posted = world_.post(unused_, text);
    EXPECT_FALSE(unused_.streaming || unused_.over) << "everything comes on the stream";
    return posted;
  }

  FakeEventSink stream_;
  FakeEventSink unused_;
  McpWorld world_;  // ends the responses that are open
};

TEST_F(McpSseSession, BeginsWithItsEndpoint) {
  ASSERT_EQ(stream_.events.size(), 1U);
  EXPECT_EQ(stream_.events[0].name, "endpoint");
  EXPECT_EQ(stream_.events[0].data, "/messages?session=1");
  EXPECT_EQ(stream_.events[0].id, "");
  EXPECT_EQ(stream_.events[0].retry_ms, 0U);
}

TEST_F(McpSseSession, EverythingComesOnOneStreamWithoutIds) {
  stream_.events.clear();
  EXPECT_EQ(post(request_text("0", "initialize")), Posted::taken);
  world_.answer_next(R"({"protocolVersion":"2025-11-25"})");
  EXPECT_EQ(post(note_text("notifications/initialized")), Posted::taken);
  EXPECT_EQ(post(tool_call("1", "\"p\"")), Posted::taken);
  world_.child().say(progress("\"p\"", 1));
  world_.child().say(note_text("n"));
  world_.answer_next();
  for (const auto& event : stream_.events) {
    EXPECT_EQ(event.name, "message") << event.data;
    EXPECT_EQ(event.id, "");
  }
  EXPECT_THAT(stream_.take(), ElementsAre(HasSubstr("2025-11-25"), progress("\"p\"", 1),
                                          note_text("n"), result_text("1")));
}

TEST_F(McpSseSession, FaultsComeOnTheStreamToo) {
  stream_.events.clear();
  EXPECT_EQ(post(R"({"jsonrpc":"2.0","id":5,"method":1})"), Posted::taken);
  EXPECT_THAT(stream_.take(), ElementsAre(HasSubstr(R"("id":5,"error":{"code":-32600)")));
}

TEST_F(McpSseSession, ABatchIsAnsweredOneByOne) {
  stream_.events.clear();
  EXPECT_EQ(post("[" + request_text("1") + "," + note_text("n") + "," + request_text("2") + "]"),
            Posted::taken);
  world_.answer_next();
  world_.answer_next();
  EXPECT_THAT(stream_.take(), ElementsAre(result_text("1"), result_text("2")));
}

TEST_F(McpSseSession, ACancelledCallIsSilent) {
  stream_.events.clear();
  post(request_text("1"));
  post(note_text("notifications/cancelled", R"({"requestId":1})"));
  EXPECT_THAT(stream_.take(), IsEmpty());
  EXPECT_EQ(world_.bench.backend.calls(), 0U);
  EXPECT_FALSE(stream_.over);
}

TEST_F(McpSseSession, RequestsOfTheChildAreAnsweredByAPost) {
  stream_.events.clear();
  world_.child().say(request_text("\"r\"", "roots/list"));
  const auto asked = stream_.take();
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(post(result_text(id_in(asked[0]))), Posted::taken);
  EXPECT_EQ(world_.child().take_line(), result_text("\"r\""));
}

TEST_F(McpSseSession, NothingIsKept) {
  for (int i = 0; i < 10; ++i) world_.child().say(note_text("n"));
  EXPECT_EQ(world_.session->resume(unused_, world_.id.substr(0, 8) + "-0-1"),
            mcp::McpSession::Resumed::unknown_event);
}

TEST_F(McpSseSession, EndsWithItsStream) {
  post(request_text("1"));
  world_.leave(stream_);
  EXPECT_FALSE(world_.is_open());
  world_.bench.settle();
  EXPECT_EQ(world_.sessions.size(), 0U);
  EXPECT_EQ(world_.bench.backend.calls(), 0U) << "nobody could be answered";
  EXPECT_FALSE(world_.child().ends().empty());
}

TEST_F(McpSseSession, MayEndInsideOfAMessage) {
  stream_.during = [this] {
    if (!stream_.over) world_.leave(stream_);
  };
  world_.child().say(note_text("a"));
  world_.child().say(note_text("b"));
  EXPECT_FALSE(world_.is_open());
  world_.bench.settle();
  EXPECT_EQ(world_.sessions.size(), 0U);
}

TEST_F(McpSseSession, EndsWithItsChild) {
  stream_.events.clear();
  post(request_text("1"));
  world_.child().exit(3);
  EXPECT_THAT(stream_.take(), ElementsAre(HasSubstr("-31502")));
  EXPECT_FALSE(stream_.over);
  world_.bench.settle();
  EXPECT_TRUE(stream_.ended);
}

TEST_F(McpSseSession, IsNotIdleWhileItsStreamIsOpen) {
  world_.bench.advance(minutes(60));
  EXPECT_TRUE(world_.is_open());
}

TEST_F(McpSseSession, HoldsItsChildToo) {
  stream_.backed_up = true;
  post(request_text("1"));
  world_.answer_next();
  world_.bench.settle();
  EXPECT_FALSE(world_.child().is_read());
  world_.make_room(stream_);
  EXPECT_TRUE(world_.child().is_read());
}

TEST_F(McpSseSession, ADrainEndsAStreamThatWaitsForNothing) {
  world_.sessions.drain();
  EXPECT_TRUE(stream_.ended);
}

TEST_F(McpSseSession, ADrainWaitsForAnswers) {
  stream_.events.clear();
  post(request_text("1"));
  post("[" + request_text("2") + "," + request_text("3") + "]");
  world_.sessions.drain();
  EXPECT_FALSE(stream_.over);
  world_.answer_next();
  world_.answer_next();
  EXPECT_FALSE(stream_.over);
  post(note_text("notifications/cancelled", R"({"requestId":3})"));
  EXPECT_TRUE(stream_.ended);
  EXPECT_THAT(stream_.take(), ElementsAre(result_text("1"), result_text("2")));
}

}  // namespace
}  // namespace stdgate::test

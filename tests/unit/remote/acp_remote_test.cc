// AcpRemote: a client of ACP's Streamable HTTP, and what happens to its messages when a connection
// breaks.
#include "gateway/remote/acp_remote.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/fake_web.h"

namespace stdgate::remote {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kAgentUrl = "http://a.example/acp";
const std::string kHello =
    R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}})";
const std::string kHelloAnswer = R"({"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}})";
const std::string kNew = R"({"jsonrpc":"2.0","id":1,"method":"session/new","params":{}})";
const std::string kBegun = R"({"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}})";
const std::string kPrompt =
    R"({"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}})";
const std::string kEnded = R"({"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}})";
const std::string kAsk =
    R"({"jsonrpc":"2.0","id":"a","method":"session/request_permission","params":{"sessionId":"s"}})";
const std::string kAllow = R"({"jsonrpc":"2.0","id":"a","result":{}})";
const WebFailure kUnconnected{WebFailure::Kind::unconnected, "refused", false};
const WebFailure kCut{WebFailure::Kind::cut, "reset"};

class AcpRemoteTest : public testing::Test {
 protected:
  void take(const std::string& text) { remote_.take(*test::RemoteWorld::message(text)); }
  std::vector<test::FakeWeb::Sent*> posts() { return world_.web.open(WebMethod::post); }
  std::vector<test::FakeWeb::Sent*> streams() { return world_.web.open(WebMethod::get); }
  void accept(size_t post) { posts().at(post)->answer(202); }
  static void event(test::FakeWeb::Sent& stream, const std::string& id, const std::string& text) {
    stream.body("id: " + id + "\ndata: " + text + "\n\n");
  }
  test::FakeWeb::Sent& open_stream(size_t number) {
    test::FakeWeb::Sent& stream = *streams().at(number);
    stream.head(200, {{"content-type", "text/event-stream"}});
    return stream;
  }
  // Opens the connection and a session, whose stream is the second stream.
  void begin() {
    take(kHello);
    posts().at(0)->answer(200, "application/json", kHelloAnswer, {{"acp-connection-id", "c"}});
    open_stream(0);
    take(kNew);
    accept(0);
    event(*streams().at(0), "1", kBegun);
    open_stream(1);
    world_.told.clear();
  }

  test::RemoteWorld world_;
  AcpRemote remote_{kAgentUrl, world_.services()};
};

TEST_F(AcpRemoteTest, AnswersComeOnTheStreamOfTheirSession) {
  begin();
  EXPECT_EQ(streams().at(0)->field("Acp-Session-Id"), "");
  EXPECT_EQ(streams().at(1)->field("Acp-Session-Id"), "s");
  take(kPrompt);
  EXPECT_EQ(posts().at(0)->field("Acp-Connection-Id"), "c");
  EXPECT_EQ(posts().at(0)->field("Acp-Session-Id"), "s");
  accept(0);
  EXPECT_FALSE(remote_.is_answered());
  event(*streams().at(1), "2", kEnded);
  EXPECT_THAT(world_.told, ElementsAre(kEnded));
  EXPECT_TRUE(remote_.is_answered());
}

TEST_F(AcpRemoteTest, MessagesGoOneAfterTheOther) {
  begin();
  take(kPrompt);
  take(R"({"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}})");
  ASSERT_EQ(posts().size(), 1U);
  accept(0);
  ASSERT_EQ(posts().size(), 1U);
  EXPECT_THAT(posts().at(0)->request.body, HasSubstr("session/cancel"));
}

TEST_F(AcpRemoteTest, AStreamThatBreaksGoesOnBehindItsLastEvent) {
  begin();
  take(kPrompt);
  accept(0);
  event(*streams().at(1), "7", kAsk);
  streams().at(1)->fail(kCut);
  world_.wait(seconds(1));
  ASSERT_EQ(streams().size(), 2U);
  EXPECT_EQ(streams().at(1)->field("Last-Event-ID"), "7");
  test::FakeWeb::Sent& again = open_stream(1);
  event(again, "7", kAsk);  // open requests are sent again
  event(again, "8", kEnded);
  EXPECT_THAT(world_.told, ElementsAre(kAsk, kEnded));
  take(kAllow);
  EXPECT_EQ(posts().at(0)->request.body, kAllow);
  accept(0);
  take(kAllow);
  EXPECT_THAT(posts(), IsEmpty()) << "nobody has asked";
}

TEST_F(AcpRemoteTest, WhatWasNotSentWaitsForAConnection) {
  begin();
  take(kPrompt);
  posts().at(0)->fail(kUnconnected);
  EXPECT_THAT(world_.told, IsEmpty());
  world_.wait(seconds(1));
  ASSERT_EQ(posts().size(), 1U);
  EXPECT_EQ(posts().at(0)->request.body, kPrompt);
  accept(0);
  event(*streams().at(1), "2", kEnded);
  EXPECT_THAT(world_.told, ElementsAre(kEnded));
  EXPECT_EQ(world_.lines.size(), 1U);
}

TEST_F(AcpRemoteTest, NobodyWaitsForAConnectionForEver) {
  begin();
  take(kPrompt);
  for (int i = 0; i < 100 && world_.told.empty(); ++i) {
    if (!posts().empty()) posts().at(0)->fail(kUnconnected);
    world_.wait(seconds(1));
  }
  ASSERT_EQ(world_.told.size(), 1U);
  EXPECT_THAT(world_.told[0], HasSubstr(R"("id":2,"error")"));
  EXPECT_GE(world_.clock.now().time_since_epoch(), AcpRemote::kReconnectTime);
  EXPECT_FALSE(world_.left);
  EXPECT_TRUE(remote_.is_answered());
}

TEST_F(AcpRemoteTest, WhatMayHaveArrivedIsNotSentAgain) {
  begin();
  take(kPrompt);
  posts().at(0)->fail(kCut);
  ASSERT_EQ(world_.told.size(), 1U);
  EXPECT_THAT(world_.told[0], HasSubstr(R"("id":2,"error")"));
  world_.wait(seconds(60));
  EXPECT_EQ(world_.web.count(kPrompt), 1U);
}

TEST_F(AcpRemoteTest, OneAnswerThoughThePostFailsBehindIt) {
  begin();
  take(kPrompt);
  event(*streams().at(1), "2", kEnded);
  posts().at(0)->fail(kCut);
  EXPECT_THAT(world_.told, ElementsAre(kEnded));
}

TEST_F(AcpRemoteTest, OneAnswerThoughAMessageWaitsToBeSentAgain) {
  begin();
  take(kPrompt);
  posts().at(0)->fail(kUnconnected);
  for (test::FakeWeb::Sent* const stream : streams()) stream->fail(kCut);
  world_.wait(std::chrono::milliseconds(100));
  for (test::FakeWeb::Sent* const stream : streams()) stream->answer(404);
  EXPECT_EQ(world_.left, Exit::lost);
  EXPECT_THAT(world_.told, ElementsAre(HasSubstr(R"("id":2,"error")")));
}

TEST_F(AcpRemoteTest, AConnectionThatIsNotKnownAnyMoreIsTheEnd) {
  begin();
  take(kPrompt);
  accept(0);
  streams().at(0)->fail(kCut);
  world_.wait(seconds(1));
  for (test::FakeWeb::Sent* const stream : streams()) {
    if (stream->field("Acp-Session-Id").empty()) stream->answer(404);
  }
  EXPECT_EQ(world_.left, Exit::lost);
  ASSERT_EQ(world_.told.size(), 1U);
  EXPECT_THAT(world_.told[0], HasSubstr(R"("id":2,"error")"));
  EXPECT_THAT(streams(), IsEmpty());
}

TEST_F(AcpRemoteTest, AServerThatIsNoAgentIsSaidToBeNone) {
  take(kHello);
  posts().at(0)->answer(200, "application/json", kHelloAnswer);
  EXPECT_EQ(world_.left, Exit::no_server);
  ASSERT_EQ(world_.told.size(), 1U);
  EXPECT_THAT(world_.told[0], HasSubstr(R"("id":0,"error")"));
}

TEST_F(AcpRemoteTest, ARefusedStreamOfTheConnectionIsTheEnd) {
  take(kHello);
  posts().at(0)->answer(200, "application/json", kHelloAnswer, {{"acp-connection-id", "c"}});
  streams().at(0)->answer(403);
  EXPECT_EQ(world_.left, Exit::refused);
}

TEST_F(AcpRemoteTest, ARefusedStreamOfASessionLeavesItToTheConnection) {
  begin();
  take(R"({"jsonrpc":"2.0","id":4,"method":"session/load","params":{"sessionId":"t"}})");
  ASSERT_EQ(streams().size(), 3U);
  streams().at(2)->answer(404);
  accept(0);
  event(*streams().at(0), "2", R"({"jsonrpc":"2.0","id":4,"result":{}})");
  EXPECT_THAT(world_.told, ElementsAre(R"({"jsonrpc":"2.0","id":4,"result":{}})"));
}

TEST_F(AcpRemoteTest, ARefusedMessageIsAnsweredAndTheNextOneGoes) {
  begin();
  take(kPrompt);
  take(R"({"jsonrpc":"2.0","id":3,"method":"session/list","params":{}})");
  posts().at(0)->answer(503, "text/plain", "busy");
  ASSERT_EQ(world_.told.size(), 1U);
  EXPECT_THAT(world_.told[0], HasSubstr(R"("id":2,"error")"));
  ASSERT_EQ(posts().size(), 1U);
  EXPECT_THAT(posts().at(0)->request.body, HasSubstr("session/list"));
}

TEST_F(AcpRemoteTest, ACredentialIsReadAgainOnce) {
  begin();
  world_.token = "old";
  world_.next_token = "new";
  take(kPrompt);
  EXPECT_EQ(posts().at(0)->field("Authorization"), "Bearer old");
  posts().at(0)->answer(401);
  world_.wait(seconds(0));
  ASSERT_EQ(posts().size(), 1U);
  EXPECT_EQ(posts().at(0)->field("Authorization"), "Bearer new");
  posts().at(0)->answer(401);
  EXPECT_EQ(world_.renewals, 1U);
  EXPECT_THAT(world_.told, ElementsAre(HasSubstr(R"("id":2,"error")")));
}

TEST_F(AcpRemoteTest, TheEndIsTold) {
  begin();
  bool is_done = false;
  remote_.close([&] { is_done = true; });
  EXPECT_THAT(streams(), IsEmpty());
  ASSERT_EQ(world_.web.open(WebMethod::del).size(), 1U);
  EXPECT_EQ(world_.web.last().field("Acp-Connection-Id"), "c");
  EXPECT_FALSE(is_done);
  world_.web.last().answer(202);
  EXPECT_TRUE(is_done);
}

TEST_F(AcpRemoteTest, StreamsOfSessionsHaveABound) {
  begin();
  for (size_t i = 0; i < AcpRemote::kMaxSessions; ++i) {
    take(R"({"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":")" +
         std::to_string(i) + "\"}}");
    accept(0);
  }
  EXPECT_EQ(streams().size(), AcpRemote::kMaxSessions + 1);
}

TEST_F(AcpRemoteTest, SessionsThatNoHeadCanNameHaveNoStream) {
  begin();
  for (const char* const session : {R"("a\nb")", R"("\u00e4")", "7", R"("")"}) {
    take(std::string(R"({"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":)") +
         session + "}}");
    EXPECT_EQ(posts().at(0)->field("Acp-Session-Id"), "");
    accept(0);
  }
  EXPECT_EQ(streams().size(), 2U);
}

TEST_F(AcpRemoteTest, AgentsAskNoMoreThanTheLimit) {
  begin();
  for (size_t i = 0; i <= AcpRemote::kMaxAsked; ++i) {
    event(*streams().at(1), std::to_string(i),
          R"({"jsonrpc":"2.0","id":)" + std::to_string(i) + R"(,"method":"m"})");
  }
  EXPECT_EQ(world_.told.size(), AcpRemote::kMaxAsked);
}

TEST_F(AcpRemoteTest, AClientThatDoesNotReadHoldsAllStreams) {
  begin();
  remote_.pause();
  EXPECT_TRUE(streams().at(0)->is_paused);
  EXPECT_TRUE(streams().at(1)->is_paused);
  remote_.resume();
  EXPECT_FALSE(streams().at(1)->is_paused);
}

}  // namespace
}  // namespace stdgate::remote

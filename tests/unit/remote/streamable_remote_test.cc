// StreamableRemote: sessions, eras, resumption and refusals, with a server in memory.
#include "gateway/remote/streamable_remote.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "gateway/remote/http_remote.h"
#include "tests/support/fake_web.h"

namespace stdgate::remote {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Sent = test::FakeWeb::Sent;

constexpr const char* kJson = "application/json";
constexpr const char* kEvents = "text/event-stream";
constexpr const char* kUrl = "https://x.example/mcp";
const std::string kGreeting =
    R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}})";
const std::string kGreeted = R"({"jsonrpc":"2.0","method":"notifications/initialized"})";

std::string greeting_answer(const std::string& version = "1", const std::string& id = "0") {
  return R"({"jsonrpc":"2.0","id":)" + id +
         R"(,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},)"
         R"("serverInfo":{"name":"s","version":")" +
         version + R"("}}})";
}
std::string call(const std::string& id, const std::string& method = "tools/call") {
  return R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":")" + method +
         R"(","params":{"name":"t"}})";
}
std::string cancel(const std::string& id) {
  return R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" + id +
         "}}";
}
std::string result(const std::string& id) {
  return R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":1})";
}
std::string event(const std::string& data, const std::string& id = "") {
  return (id.empty() ? "" : "id: " + id + "\n") + "data: " + data + "\n\n";
}
WebFailure unsent() { return {WebFailure::Kind::unconnected, "refused", false}; }
WebFailure cut() { return {WebFailure::Kind::cut, "reset", true}; }

class StreamableRemoteTest : public testing::Test {
 protected:
  void take(const std::string& text) { remote_.take(*test::RemoteWorld::message(text)); }
  void begin(const std::string& session = "s1") {
    take(kGreeting);
    world_.web.last().answer(200, kJson, greeting_answer(), {{"mcp-session-id", session}});
    take(kGreeted);
    world_.web.sent.back()->answer(202);
    world_.told.clear();
  }
  // The POST under way that has this body. There must be exactly one.
  Sent& post(const std::string& body) {
    Sent* found = nullptr;
    for (Sent* one : world_.web.open(WebMethod::post)) {
      if (one->request.body == body) found = one;
    }
    EXPECT_NE(found, nullptr) << body;
    static Sent none;
    return found == nullptr ? none : *found;
  }
  Sent& listening() { return *world_.web.open(WebMethod::get).back(); }

  test::RemoteWorld world_;
  HttpRemote remote_{kUrl, world_.services()};
};

TEST_F(StreamableRemoteTest, SessionHasItsIdItsRevisionAndItsStream) {
  take(kGreeting);
  EXPECT_EQ(world_.web.last().field("Mcp-Session-Id"), "");
  world_.web.last().answer(200, kJson, greeting_answer(), {{"mcp-session-id", "s1"}});
  EXPECT_THAT(world_.told, ElementsAre(greeting_answer()));
  take(kGreeted);
  take(call("1"));
  EXPECT_EQ(world_.web.count(call("1")), 0U);  // the notification must arrive first
  post(kGreeted).answer(202);
  Sent& sent = post(call("1"));
  EXPECT_EQ(sent.field("Mcp-Session-Id"), "s1");
  EXPECT_EQ(sent.field("MCP-Protocol-Version"), "2025-11-25");
  EXPECT_EQ(listening().field("Mcp-Session-Id"), "s1");
}

TEST_F(StreamableRemoteTest, IdsAndPayloadsAreKeptByteForByte) {
  begin();
  const std::string odd = R"({"jsonrpc":"2.0","id":"\u0041é","method":"m","params":{"a":1.0}})";
  const std::string answer = R"({ "id":"\u0041é","jsonrpc":"2.0","result":{"x" : 1e3}})";
  take(odd);
  post(odd).answer(200, kEvents, event(answer));
  EXPECT_THAT(world_.told, ElementsAre(answer));
}

TEST_F(StreamableRemoteTest, ACutStreamGoesOnBehindItsLastEvent) {
  begin();
  take(call("1"));
  Sent& sent = post(call("1"));
  sent.head(200, {{"content-type", kEvents}});
  sent.body("id: e1\ndata: \n\n");
  sent.fail(cut());
  world_.wait(seconds(1));
  Sent& resumed = listening();
  EXPECT_EQ(resumed.field("Last-Event-ID"), "e1");
  resumed.answer(200, kEvents, event(result("1"), "e2"));
  EXPECT_THAT(world_.told, ElementsAre(result("1")));
  EXPECT_EQ(world_.web.count(call("1")), 1U);
}

TEST_F(StreamableRemoteTest, ALostAnswerIsAnErrorAndNothingIsSentTwice) {
  begin();
  struct Case {
    const char* name;
    void (*happens)(Sent& sent);
  };
  const Case cases[] = {
      {"no head", [](Sent& sent) { sent.fail(cut()); }},
      {"half a document",
       [](Sent& sent) {
         sent.head(200, {{"content-type", kJson}});
         sent.body(R"({"jsonrpc":)");
         sent.fail(cut());
       }},
      {"events without ids",
       [](Sent& sent) {
         sent.head(200, {{"content-type", kEvents}});
         sent.body("data: {");
         sent.fail(cut());
       }},
      {"no answer in it", [](Sent& sent) { sent.answer(200, kEvents); }},
      {"taken, and no answer", [](Sent& sent) { sent.answer(202); }},
      {"no JSON", [](Sent& sent) { sent.answer(200, "text/html", "<p>"); }},
      {"broken JSON", [](Sent& sent) { sent.answer(200, kJson, "{"); }},
      {"another id", [](Sent& sent) { sent.answer(200, kJson, result("99")); }},
      {"too much",
       [](Sent& sent) {
         sent.fail({WebFailure::Kind::too_large, "the head", true});
       }},
      {"bad gateway", [](Sent& sent) { sent.answer(502, "text/html", "down"); }},
      {"redirect",
       [](Sent& sent) {
         sent.answer(302, "", "", {{"location", "http://evil/"}});
       }},
  };
  int id = 100;
  for (const Case& one : cases) {
    world_.told.clear();
    const std::string request = call(std::to_string(++id));
    take(request);
    one.happens(post(request));
    world_.wait(seconds(60));
    ASSERT_EQ(world_.told.size(), 1U) << one.name;
    EXPECT_THAT(world_.told[0], HasSubstr(R"("id":)" + std::to_string(id) + R"(,"error")"));
    EXPECT_EQ(world_.web.count(request), 1U) << one.name;
  }
  EXPECT_FALSE(world_.left);
}

TEST_F(StreamableRemoteTest, WhatWasNotSentIsSentLater) {
  begin();
  take(call("1"));
  post(call("1")).fail(unsent());
  take(call("2"));
  EXPECT_EQ(world_.web.count(call("2")), 0U);
  world_.wait(milliseconds(200));
  post(call("1")).answer(200, kJson, result("1"));
  post(call("2")).answer(200, kJson, result("2"));
  EXPECT_THAT(world_.told, ElementsAre(result("1"), result("2")));
}

TEST_F(StreamableRemoteTest, WhatCannotBeSentInTimeIsAnError) {
  begin();
  take(call("1"));
  for (int i = 0; i < 200 && world_.told.empty(); ++i) {
    for (Sent* one : world_.web.open(WebMethod::post)) one->fail(unsent());
    world_.wait(milliseconds(500));
  }
  ASSERT_EQ(world_.told.size(), 1U);
  EXPECT_THAT(world_.told[0], HasSubstr(R"("id":1,"error")"));
  EXPECT_FALSE(world_.left);
}

TEST_F(StreamableRemoteTest, ASessionThatHasGoneIsBegunAnewAndTheClientIsTold) {
  begin();
  take(R"({"jsonrpc":"2.0","id":4,"method":"logging/setLevel","params":{"level":"info"}})");
  world_.web.last().answer(200, kJson, result("4"));
  world_.told.clear();
  take(call("1"));
  post(call("1")).answer(404, kJson,
                         R"({"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}})");
  post(kGreeting).answer(200, kJson, greeting_answer("2"), {{"mcp-session-id", "s2"}});
  post(kGreeted).answer(202);
  world_.web.last().answer(200, kJson, result("4"));  // sets the log level again
  EXPECT_THAT(world_.told,
              ElementsAre(HasSubstr("the server was restarted"), HasSubstr("tools/list_changed")));
  world_.told.clear();
  EXPECT_EQ(post(call("1")).field("Mcp-Session-Id"), "s2");
  post(call("1")).answer(200, kJson, result("1"));
  EXPECT_THAT(world_.told, ElementsAre(result("1")));
  EXPECT_EQ(world_.web.count(call("1")), 2U);  // the first one was refused
}

// The examples of the official SDKs refuse an unknown session in this way.
TEST_F(StreamableRemoteTest, ARefusalThatSpeaksOfTheSessionIsALostSession) {
  begin();
  take(call("1"));
  post(call("1")).answer(
      400, kJson,
      R"({"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No valid session ID provided"}})");
  post(kGreeting).answer(200, kJson, greeting_answer("2"), {{"mcp-session-id", "s2"}});
  post(kGreeted).answer(202);
  EXPECT_EQ(post(call("1")).field("Mcp-Session-Id"), "s2");
  post(call("1")).answer(200, kJson, result("1"));
  EXPECT_THAT(world_.told, testing::Contains(result("1")));
  EXPECT_EQ(world_.web.count(call("1")), 2U);
}

TEST_F(StreamableRemoteTest, AnotherRefusalIsAnAnswer) {
  begin();
  take(call("1"));
  post(call("1")).answer(
      400, kJson, R"({"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no such tool"}})");
  EXPECT_THAT(world_.told, ElementsAre(HasSubstr("no such tool")));
  EXPECT_EQ(world_.web.count(kGreeting), 1U);
}

TEST_F(StreamableRemoteTest, KnowsWhetherAllIsAnswered) {
  begin();
  EXPECT_TRUE(remote_.is_answered());
  take(call("1"));
  EXPECT_FALSE(remote_.is_answered());
  post(call("1")).answer(200, kJson, result("1"));
  EXPECT_TRUE(remote_.is_answered());
}

TEST_F(StreamableRemoteTest, ASessionIsNotBegunAnewWithoutEnd) {
  begin();
  take(call("1"));
  for (int i = 0; i < 50 && world_.told.size() < 50; ++i) {
    for (Sent* one : world_.web.open(WebMethod::post)) {
      if (one->request.body == kGreeting) {
        one->answer(200, kJson, greeting_answer(), {{"mcp-session-id", "n" + std::to_string(i)}});
      } else {
        one->answer(one->request.body == kGreeted ? 202 : 404);
      }
    }
    world_.wait(milliseconds(100));
  }
  EXPECT_LE(world_.web.count(call("1")), StreamableRemote::kMaxRefusals + 1);
  EXPECT_THAT(world_.told, testing::Contains(HasSubstr(R"("id":1,"error")")));
}

TEST_F(StreamableRemoteTest, AnotherRevisionAfterwardsEndsIt) {
  begin();
  take(call("1"));
  post(call("1")).answer(404);
  post(kGreeting).answer(200, kJson,
                         R"({"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18"}})");
  EXPECT_EQ(world_.left, Exit::lost);
  EXPECT_THAT(world_.told, ElementsAre(HasSubstr(R"("id":1,"error")")));
}

TEST_F(StreamableRemoteTest, AGreetingThatFailsEndsItAndSaysWhy) {
  struct Case {
    int status;
    const char* type;
    Exit exit;
    const char* says;
  };
  const Case cases[] = {{401, "", Exit::refused, "resource_metadata"},
                        {403, "", Exit::refused, "403"},
                        {404, "", Exit::no_server, "404"},
                        {302, "", Exit::no_server, "not followed"},
                        {200, "text/html", Exit::no_server, "not an MCP server"},
                        {503, "", Exit::unreachable, "503"}};
  for (const Case& one : cases) {
    test::RemoteWorld world;
    StreamableRemote remote(kUrl, world.services(), nullptr);
    remote.take(*test::RemoteWorld::message(kGreeting));
    world.web.last().answer(one.status, one.type, one.status == 200 ? "<p>" : "",
                            {{"www-authenticate", R"(Bearer resource_metadata="https://x/m")"}});
    EXPECT_EQ(world.left, one.exit) << one.status;
    ASSERT_EQ(world.told.size(), 1U) << one.status;
    EXPECT_THAT(world.told[0], HasSubstr(R"("id":0,"error")"));
    EXPECT_THAT(world.told[0], HasSubstr(one.says));
    EXPECT_THAT(world.lines.back(), HasSubstr(one.says));
  }
}

// A client that talks to a program cannot send an Mcp-Session-Id.
TEST_F(StreamableRemoteTest, AServerThatWantsTheGreetingFirstIsExplained) {
  const std::string refusal =
      R"({"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No valid session ID provided"}})";
  take(call("1"));
  post(call("1")).answer(400, kJson, refusal);
  EXPECT_THAT(world_.told, ElementsAre(HasSubstr(
                               R"("id":1,"error":{"code":-32600,"message":"send initialize first: )"
                               R"(https://x.example/mcp keeps sessions, and says: No valid)")));
  EXPECT_FALSE(world_.left);
  begin();
  take(call("2"));
  post(call("2")).answer(200, kJson, result("2"));
  EXPECT_THAT(world_.told, ElementsAre(result("2")));
}

TEST_F(StreamableRemoteTest, NobodyThereEndsIt) {
  take(kGreeting);
  world_.web.last().fail({WebFailure::Kind::unresolved, "Could not resolve host", false});
  EXPECT_EQ(world_.left, Exit::unreachable);
  EXPECT_THAT(world_.told, ElementsAre(HasSubstr("name of the server is not known")));
}

TEST_F(StreamableRemoteTest, ANewTokenIsAskedForOnceAfterA401) {
  world_.next_token = "t2";
  take(kGreeting);
  world_.web.last().answer(401);
  world_.wait(milliseconds(0));
  EXPECT_EQ(post(kGreeting).field("Authorization"), "Bearer t2");
  world_.web.last().answer(401);
  EXPECT_EQ(world_.renewals, 1U);
  EXPECT_EQ(world_.left, Exit::refused);
}

TEST_F(StreamableRemoteTest, ModernRequestsCarryTheirHeaders) {
  const std::string request =
      R"({"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"ü","_meta":)"
      R"({"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})";
  take(request);
  Sent& sent = world_.web.last();
  EXPECT_EQ(sent.field("MCP-Protocol-Version"), "2026-07-28");
  EXPECT_EQ(sent.field("Mcp-Method"), "tools/call");
  EXPECT_EQ(sent.field("Mcp-Name"), "=?base64?w7w=?=");
  EXPECT_EQ(sent.field("Mcp-Session-Id"), "");
  sent.answer(404, kJson, R"({"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no"}})");
  EXPECT_THAT(world_.told,
              ElementsAre(R"({"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"no"}})"));
  EXPECT_FALSE(world_.left);
}

std::string modern(const std::string& id, const std::string& method, const std::string& more = "") {
  return R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":")" + method + R"(","params":{)" + more +
         R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})";
}

TEST_F(StreamableRemoteTest, MarkedArgumentsAreRepeatedInHeaders) {
  take(modern("1", "tools/list"));
  world_.web.last().answer(
      200, kJson,
      R"({"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","inputSchema":{"type":"object",)"
      R"("properties":{"city":{"type":"string","x-mcp-header":"City"}}}}]}})");
  take(modern("2", "tools/call", R"("name":"t","arguments":{"city":"Rome"},)"));
  EXPECT_EQ(world_.web.last().field("Mcp-Param-City"), "Rome");
}

TEST_F(StreamableRemoteTest, AModernCancelEndsTheStreamAndIsNotSent) {
  take(modern("5", "tools/call", R"("name":"t",)"));
  Sent& sent = world_.web.last();
  const size_t before = world_.web.sent.size();
  take(cancel("5"));
  EXPECT_EQ(sent.events, nullptr);
  EXPECT_EQ(world_.web.sent.size(), before);
  EXPECT_THAT(world_.told, IsEmpty());
}

TEST_F(StreamableRemoteTest, AListenerIsOpenedAgainAndItsClientNotTold) {
  const std::string listen = modern("9", "subscriptions/listen");
  const std::string acknowledged =
      R"({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged"})";
  take(listen);
  Sent& sent = world_.web.last();
  sent.head(200, {{"content-type", kEvents}});
  sent.body(event(acknowledged));
  sent.fail(cut());
  world_.wait(seconds(1));
  Sent& again = post(listen);
  again.head(200, {{"content-type", kEvents}});
  again.body(event(acknowledged) + event(R"({"jsonrpc":"2.0","method":"n"})"));
  EXPECT_THAT(world_.told, ElementsAre(acknowledged, R"({"jsonrpc":"2.0","method":"n"})"));
}

TEST_F(StreamableRemoteTest, ALegacyCancelIsSentAndNoErrorFollows) {
  begin();
  take(call("1"));
  const Sent& sent = post(call("1"));
  take(cancel("1"));
  EXPECT_EQ(sent.events, nullptr);
  post(cancel("1")).answer(202);
  EXPECT_TRUE(remote_.is_answered());
  EXPECT_THAT(world_.told, IsEmpty());
}

// Servers of the official TypeScript SDK leave the streams of cancelled calls open.
TEST_F(StreamableRemoteTest, CancelledCallsTakeNoPlaces) {
  begin();
  for (size_t i = 1; i <= StreamableRemote::kMaxPosts; ++i) {
    const std::string id = std::to_string(i);
    take(call(id));
    post(call(id)).head(200, {{"content-type", kEvents}});
    take(cancel(id));
    post(cancel(id)).answer(202);
  }
  take(call("\"next\""));
  EXPECT_EQ(world_.web.count(call("\"next\"")), 1U);
}

TEST_F(StreamableRemoteTest, ABodyThatAnswersANotificationIsIgnored) {
  begin();
  take(cancel("1"));
  post(cancel("1")).answer(202, kJson, "null");
  EXPECT_THAT(world_.lines, IsEmpty());
}

TEST_F(StreamableRemoteTest, WhatTheServerAsksIsAnsweredOnceInItsOwnSession) {
  begin();
  const std::string ask = R"({"jsonrpc":"2.0","id":"q","method":"roots/list"})";
  listening().head(200, {{"content-type", kEvents}});
  listening().body(event(ask));
  EXPECT_THAT(world_.told, ElementsAre(ask));
  take(result("\"q\""));
  EXPECT_EQ(world_.web.count(result("\"q\"")), 1U);
  take(result("\"q\""));
  EXPECT_EQ(world_.web.count(result("\"q\"")), 1U);
}

TEST_F(StreamableRemoteTest, TheListenStreamComesBackBehindItsLastEvent) {
  begin();
  Sent& first = listening();
  first.head(200, {{"content-type", kEvents}});
  first.body("retry: 50\n" + event(R"({"jsonrpc":"2.0","method":"n"})", "e9"));
  first.end();
  world_.wait(milliseconds(60));
  EXPECT_EQ(listening().field("Last-Event-ID"), "e9");
  listening().answer(404);
  EXPECT_EQ(post(kGreeting).field("Mcp-Session-Id"), "");  // the session has ended
}

TEST_F(StreamableRemoteTest, NoListenStreamIsNoProblem) {
  begin();
  listening().answer(405);
  world_.wait(seconds(60));
  EXPECT_THAT(world_.web.open(WebMethod::get), IsEmpty());
  EXPECT_FALSE(world_.left);
}

TEST_F(StreamableRemoteTest, TheSessionEndsWithItsClient) {
  begin();
  take(call("1"));
  bool is_done = false;
  remote_.close([&] { is_done = true; });
  Sent& farewell = world_.web.last();
  EXPECT_EQ(farewell.request.method, WebMethod::del);
  EXPECT_EQ(farewell.field("Mcp-Session-Id"), "s1");
  EXPECT_THAT(world_.web.open(WebMethod::post), IsEmpty());
  farewell.answer(204);
  EXPECT_TRUE(is_done);
}

TEST_F(StreamableRemoteTest, ManyRequestsWaitForAPlaceAndWhatTheServerWaitsForDoesNot) {
  begin();
  for (size_t i = 0; i < StreamableRemote::kMaxPosts + 1; ++i) take(call(std::to_string(1000 + i)));
  EXPECT_EQ(world_.web.open(WebMethod::post).size(), StreamableRemote::kMaxPosts);
  take(R"({"jsonrpc":"2.0","method":"notifications/progress"})");
  EXPECT_EQ(world_.web.open(WebMethod::post).size(), StreamableRemote::kMaxPosts + 1);
  EXPECT_FALSE(remote_.is_full());
  for (size_t i = 0; i < MessageQueue::kMaxMessages; ++i) take(call(std::to_string(5000 + i)));
  EXPECT_TRUE(remote_.is_full());
  EXPECT_EQ(world_.rooms, 0U);
  for (size_t i = 0; i < 2 * StreamableRemote::kMaxPosts && world_.rooms == 0; ++i) {
    world_.web.open(WebMethod::post).front()->answer(202);
  }
  EXPECT_EQ(world_.rooms, 1U) << "and the client is read again";
  EXPECT_FALSE(remote_.is_full());
}

TEST_F(StreamableRemoteTest, AServerOf2024IsFound) {
  take(kGreeting);
  world_.web.last().answer(405);
  Sent& stream = listening();
  stream.head(200, {{"content-type", kEvents}});
  stream.body("event: endpoint\ndata: /messages?id=1\n\n");
  Sent& sent = post(kGreeting);
  EXPECT_EQ(sent.request.url, "https://x.example/messages?id=1");
  sent.answer(202);
  stream.body(event(greeting_answer()));
  EXPECT_THAT(world_.told, ElementsAre(greeting_answer()));
  take(call("1"));
  post(call("1")).answer(202);
  stream.fail(cut());
  EXPECT_THAT(world_.told.back(), HasSubstr(R"("id":1,"error")"));
  world_.wait(seconds(1));
  listening().head(200, {{"content-type", kEvents}});
  listening().body("event: endpoint\ndata: /messages?id=2\n\n");
  post(kGreeting).answer(202);
  listening().body(event(greeting_answer()));
  EXPECT_THAT(world_.told.back(), HasSubstr("the server was restarted"));
  EXPECT_EQ(world_.web.count(call("1")), 1U);
}

TEST_F(StreamableRemoteTest, AnEndpointOfAnotherServerIsRefused) {
  take(kGreeting);
  world_.web.last().answer(404);
  listening().head(200, {{"content-type", kEvents}});
  listening().body("event: endpoint\ndata: https://evil.example/m\n\n");
  EXPECT_EQ(world_.left, Exit::no_server);
  EXPECT_THAT(world_.web.open(WebMethod::post), IsEmpty());
}

}  // namespace
}  // namespace stdgate::remote

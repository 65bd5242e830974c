// POST /rpc and routing: statuses, single calls, batches, faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/rpc/json_reader.h"
#include "tests/unit/http/http_world.h"

namespace stdgate::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kNotification = R"({"jsonrpc":"2.0","method":"echo"})";

TEST(Rpc, SingleCall) {
  HttpWorld world;
  TestClient client(world);
  const Answer answer = client.ask(post(call("\"a\\u00e9\"", "echo", R"({"x":1.0})")));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.field("Content-Type"), "application/json");
  EXPECT_EQ(answer.field("Content-Length"), std::to_string(answer.body.size()));
  EXPECT_EQ(answer.field("Connection"), "");
  EXPECT_EQ(answer.field("Date").size(), 29u);
  EXPECT_EQ(answer.body, result("\"a\\u00e9\"", R"({"x":1.0})"));
  EXPECT_EQ(client.ask(post(call("2", "echo", "[2]"))).body, result("2", "[2]"));
  EXPECT_THAT(world.observer.outcomes, ElementsAre("ok", "ok"));
}

TEST(Rpc, ChildsErrorIsAnAnswer) {
  HttpWorld world;
  TestClient client(world);
  const Answer answer = client.ask(post(call("1", "fail", "[]")));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, R"({"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}})");
}

TEST(Rpc, Statuses) {
  HttpWorld world;
  struct Case {
    std::string body;
    int status;
    std::string contains;
  };
  const std::vector<Case> cases = {
      {kNotification, 204, ""},
      {result("1", "2"), 204, ""},
      {"[" + std::string(kNotification) + "]", 204, ""},
      {"", 400, R"("id":null,"error":{"code":-32700)"},
      {"{", 400, R"("id":null,"error":{"code":-32700)"},
      {"[1,", 400, R"("id":null,"error":{"code":-32700)"},
      {"[]", 400, R"({"jsonrpc":"2.0","id":null,"error":{"code":-32600)"},
      {"1", 400, R"("id":null,"error":{"code":-32600)"},
      {R"({"jsonrpc":"2.0","id":7,"method":1})", 400, R"("id":7,"error":{"code":-32600)"},
      {R"({"foo":1})", 400, R"("code":-32600)"},
  };
  TestClient client(world);
  for (const Case& c : cases) {
    const Answer answer = client.ask(post(c.body));
    EXPECT_EQ(answer.status, c.status) << c.body;
    EXPECT_THAT(answer.body, HasSubstr(c.contains)) << c.body;
    EXPECT_EQ(answer.field("Content-Type"), c.status == 204 ? "" : "application/json") << c.body;
    EXPECT_EQ(answer.field("Content-Length").empty(), c.status == 204) << c.body;
  }
}

TEST(Rpc, Batch) {
  HttpWorld world;
  TestClient client(world);
  const std::string body = "[" + call("1", "hold", "[]") + "," + kNotification + ",1," +
                           call("\"b\"", "echo", "[2]") + "," + call("3", "hold", "[]") + "]";
  client.send(post(body));
  ASSERT_TRUE(world.until([&] { return world.child().held.size() == 2; }));
  EXPECT_EQ(client.received, "");
  world.child().answer_held("\"first\"");
  world.child().answer_held("\"last\"");
  const Answer answer = client.answer();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body.front(), '[');
  EXPECT_EQ(answer.body.back(), ']');
  EXPECT_THAT(answer.body, HasSubstr(result("1", "\"first\"")));
  EXPECT_THAT(answer.body, HasSubstr(result("\"b\"", "[2]")));
  EXPECT_THAT(answer.body, HasSubstr(result("3", "\"last\"")));
  EXPECT_THAT(answer.body, HasSubstr(R"("id":null,"error":{"code":-32600)"));
  EXPECT_EQ(world.child().notifications.size(), 1u);
}

TEST(Rpc, BatchOfRejectedEntriesIsAnArray) {
  HttpWorld world;
  TestClient client(world);
  const Answer answer = client.ask(post("[1,2]"));
  EXPECT_EQ(answer.status, 200);
  const auto first = answer.body.find("-32600");
  ASSERT_NE(first, std::string::npos);
  EXPECT_NE(answer.body.find("-32600", first + 1), std::string::npos);
  EXPECT_EQ(answer.body.front(), '[');
}

TEST(Rpc, AnswerOfABatchIsLimited) {
  WorldOptions options;
  options.limits.message = 1000;
  HttpWorld world(options);
  TestClient client(world);
  // The answer is "[", the first result with 400 characters, ",", the second result, and "]". The
  // second result fits exactly, or is one byte too long.
  const size_t frame = result("1", "\"\"").size();
  const size_t second = 1000 - 1 - (frame + 400) - 1 - 1 - frame;
  const auto ask = [&](size_t size) {
    return client.ask(post("[" + call("1", "big", R"({"size":400})") + "," +
                           call("2", "big", R"({"size":)" + std::to_string(size) + "}") + "]"));
  };
  const Answer fits = ask(second);
  EXPECT_EQ(fits.body.size(), 1000u);
  EXPECT_THAT(fits.body, HasSubstr(result("2", '"' + std::string(second, 'x') + '"')));
  const Answer over = ask(second + 1);
  EXPECT_EQ(over.status, 200);
  EXPECT_THAT(over.body, HasSubstr(result("1", '"' + std::string(400, 'x') + '"')));
  EXPECT_THAT(over.body, HasSubstr(R"("id":2,"error":{"code":-32007)"));
}

TEST(Rpc, OverloadedSaysWhenToRetry) {
  WorldOptions options;
  options.pool.max = 1;
  options.pool.max_in_flight = 1;
  options.pool.queue = 1;
  HttpWorld world(options);
  TestClient busy(world);
  TestClient queued(world);
  TestClient refused(world);
  busy.send(post(call("1", "hold", "[]")));
  ASSERT_TRUE(world.until([&] { return world.child().held.size() == 1; }));
  queued.send(post(call("2", "hold", "[]")));
  ASSERT_TRUE(world.until([&] { return world.backends.default_one()->calls() == 2; }));
  const Answer answer = refused.ask(post(call("3", "echo", "[]")));
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.field("Retry-After"), "1");
  EXPECT_THAT(answer.body, HasSubstr(R"("id":3,"error":{"code":-32005)"));
  const Answer notification = refused.ask(post(kNotification));
  EXPECT_EQ(notification.status, 503);
  EXPECT_EQ(notification.field("Retry-After"), "1");
  EXPECT_EQ(notification.body, "");
}

TEST(Rpc, ContentTypes) {
  HttpWorld world;
  const auto ask = [&world](const std::string& fields) {
    TestClient client(world);
    const std::string body = call("1", "echo", "[]");
    return client
        .ask("POST /rpc HTTP/1.1\r\nHost: localhost\r\n" + fields +
             "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body)
        .status;
  };
  EXPECT_EQ(ask("Content-Type: application/json\r\n"), 200);
  EXPECT_EQ(ask("Content-Type: application/json-rpc; charset=UTF-8\r\n"), 200);
  EXPECT_EQ(ask("Content-Type: application/vnd.x+json\r\nContent-Encoding: identity\r\n"), 200);
  EXPECT_EQ(ask(""), 415);
  EXPECT_EQ(ask("Content-Type: text/plain\r\n"), 415);
  EXPECT_EQ(ask("Content-Type: application/json; charset=latin1\r\n"), 415);
  EXPECT_EQ(ask("Content-Type: application/json\r\nContent-Encoding: gzip\r\n"), 415);
}

TEST(Rpc, Routes) {
  HttpWorld world;
  struct Case {
    std::string request;
    int status;
    std::string contains;
    std::string allow;
  };
  const std::string body = call("1", "echo", "[]");
  const std::vector<Case> cases = {
      {post(body, "", "/calc/rpc"), 200, "result", ""},
      {post(body, "", "/other/rpc"), 200, "result", ""},
      {post(body, "", "/%72pc?x=y"), 200, "result", ""},
      {post(body, "", "http://localhost/rpc"), 200, "result", ""},
      {post(body, "", "/rpc/"), 200, "result", ""},
      {post(body, "", "/other/rpc/"), 200, "result", ""},
      {post(body, "", "/rpc//"), 404, "", ""},
      {get("/rpc/"), 405, "method_not_allowed", "POST, OPTIONS"},
      {post(body, "", "/nobody/rpc"), 404,
       R"({"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":)"
       R"("nothing is served at this path; POST JSON-RPC to /rpc, /calc/rpc or /other/rpc"}})"
       "\n",
       ""},
      {post(body, "", "/"), 405,
       R"("this method is not allowed here; POST JSON-RPC to /rpc, /calc/rpc or /other/rpc")",
       "GET, HEAD, OPTIONS"},
      {"POST /x HTTP/1.1\r\nHost: localhost\r\n\r\n", 404,
       R"({"error":{"code":"not_found","message":"nothing is served at this path; POST JSON-RPC to )"
       R"(/rpc, /calc/rpc or /other/rpc","paths":["/","/calc/rpc","/calc/rpc/stream",)",
       ""},
      {get("/"), 200, "POST /rpc ", ""},
      {get("/nothing"), 404, "not_found", ""},
      {get("/rpc"), 405, "method_not_allowed", "POST, OPTIONS"},
      {post(body, "", "/rpc/stream"), 405, "POST JSON-RPC to /rpc", "GET, HEAD, OPTIONS"},
      {"PUT /rpc HTTP/1.1\r\nHost: localhost\r\n\r\n", 405, "", "POST, OPTIONS"},
      {"DELETE / HTTP/1.1\r\nHost: localhost\r\n\r\n", 405, "", "GET, HEAD, OPTIONS"},
      {"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", 204, "",
       "GET, HEAD, POST, DELETE, OPTIONS"},
      {"OPTIONS /rpc HTTP/1.1\r\nHost: localhost\r\n\r\n", 204, "", "POST, OPTIONS"},
      {"OPTIONS /x HTTP/1.1\r\nHost: localhost\r\n\r\n", 404, "", ""},
      {get("/", "Content-Length: 1\r\n") + "x", 400, "bad_request", ""},
  };
  for (const Case& c : cases) {
    TestClient client(world);
    const Answer answer = client.ask(c.request);
    EXPECT_EQ(answer.status, c.status) << c.request;
    EXPECT_EQ(answer.field("Allow"), c.allow) << c.request;
    EXPECT_THAT(answer.body, HasSubstr(c.contains)) << c.request;
  }
}

TEST(Rpc, OriginsOnALoopbackListener) {
  WorldOptions options;
  options.rules.allowed_origins = {"https://app.example"};
  HttpWorld world(options);
  const auto ask = [&world](const std::string& fields) {
    TestClient client(world);
    return client.ask(post(call("1", "echo", "[]"), fields)).status;
  };
  EXPECT_EQ(ask(""), 200);
  EXPECT_EQ(ask("Origin: http://localhost:1234\r\n"), 200);
  EXPECT_EQ(ask("Origin: https://app.example\r\n"), 200);
  EXPECT_EQ(ask("Origin: https://evil.example\r\n"), 403);
  EXPECT_EQ(ask("Origin: null\r\n"), 403);
}

TEST(Rpc, ClientThatLeavesCancelsItsCall) {
  HttpWorld world;
  TestClient client(world);
  client.send(post(call("1", "hold", "[]")));
  ASSERT_TRUE(world.until([&] { return world.child().held.size() == 1; }));
  client.leave();
  ASSERT_TRUE(world.until([&] { return world.child().notifications.size() == 1; }));
  EXPECT_THAT(world.child().notifications[0], HasSubstr("$/cancelRequest"));
  EXPECT_THAT(world.observer.outcomes, ElementsAre("cancelled"));
  EXPECT_EQ(world.server->connections(), 0u);
  // The late answer has no receiver.
  world.child().answer_held("1");
  EXPECT_TRUE(world.until([&] { return !world.observer.dropped.empty(); }));
}

TEST(Rpc, HalfCloseWithACallUnderWayIsALeave) {
  HttpWorld world;
  TestClient client(world);
  client.send(post(call("1", "hold", "[]")));
  ASSERT_TRUE(world.until([&] { return world.child().held.size() == 1; }));
  client.half_close();
  EXPECT_TRUE(client.wait_closed());
  EXPECT_EQ(client.received, "");
  EXPECT_THAT(world.observer.outcomes, ElementsAre("cancelled"));
}

TEST(Rpc, HalfCloseAfterTheAnswerWasGivenStillGetsIt) {
  HttpWorld world;
  TestClient client(world);
  client.send(get("/"));
  client.half_close();
  EXPECT_EQ(client.answer().status, 200);
  EXPECT_TRUE(client.wait_closed());
  EXPECT_EQ(client.error, 0);
}

TEST(Rpc, NoRoomForAnotherOrigin) {
  WorldOptions options;
  options.callers = 1;
  HttpWorld world(options);
  TestClient first(world);
  TestClient second(world);
  EXPECT_EQ(first.ask(post(call("1", "echo", "[]"))).status, 200);
  const Answer answer = second.ask(post(call("1", "echo", "[]")));
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.field("Retry-After"), "1");
  first.leave();
  ASSERT_TRUE(world.until([&] { return world.observer.closed == 1; }));
  EXPECT_EQ(second.ask(post(call("1", "echo", "[]"))).status, 200);
}

}  // namespace
}  // namespace stdgate::test

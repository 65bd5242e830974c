// Exchanges that an endpoint answers later: GET, POST and DELETE at one path, event streams, and
// what their handler is told about the client.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/unit/http/http_world.h"
#include "transports/http/response.h"

namespace stdgate::test {
namespace {

using testing::ElementsAre;

constexpr const char* kNext = "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n";

// The test sends the answer.
class HeldEndpoint final : public http::Endpoint {
 public:
  struct Handler final : http::ExchangeHandler {
    static constexpr char kKind = 0;
    void on_writable() override {
      ++endpoint->writable;
      if (endpoint->when_writable) endpoint->when_writable();
    }
    void on_gone() override {
      endpoint->client = nullptr;
      ++endpoint->gone;
    }
    void rest() override {}
    HeldEndpoint* endpoint = nullptr;
  };

  [[nodiscard]] http::AllowedMethods allowed_methods() const override {
    return http::AllowedMethods::session;
  }
  std::optional<http::HttpError> admit(http::Exchange& /*exchange*/) override {
    return std::nullopt;
  }
  void serve(http::Exchange& exchange, std::span<char> body) override {
    exchange.handler<Handler>().endpoint = this;
    client = &exchange;
    bodies.emplace_back(body.data(), body.size());
    if (at_once) at_once();
  }
  void write(std::string_view data) { client->write_event({.data = {&data, 1}}); }

  http::Exchange* client = nullptr;
  std::vector<std::string> bodies;
  std::function<void()> at_once;
  std::function<void()> when_writable;
  int writable = 0;
  int gone = 0;
};

struct HeldWorld : HttpWorld {
  explicit HeldWorld(const WorldOptions& world_options = {}) : HttpWorld(world_options) {
    auto endpoint = std::make_unique<HeldEndpoint>();
    held = endpoint.get();
    router.add("/held", "about", std::move(endpoint));
  }
  // Sends a request and waits until it is served.
  bool serve(TestClient& client) {
    const size_t before = held->bodies.size();
    client.send(get("/held"));
    return until([&] { return held->bodies.size() == before + 1; });
  }
  // Writes events until `size` bytes have been written, or the client has left.
  void write_much(size_t size) {
    const std::string data(50000, 'x');
    for (size_t written = 0; written < size && held->gone == 0; written += data.size()) {
      held->write(data);
      loop.run_once();
    }
  }

  HeldEndpoint* held = nullptr;
};

TEST(SessionMethods, AreTaken) {
  struct Case {
    std::string request;
    int status;
    std::string allow;
  };
  const std::string rest = " /held HTTP/1.1\r\nHost: localhost\r\n";
  const std::string allow = "GET, POST, DELETE, OPTIONS";
  const std::vector<Case> cases = {
      {"GET" + rest + "\r\n", 200, ""},
      {"DELETE" + rest + "\r\n", 200, ""},
      {"DELETE" + rest + "Content-Length: 0\r\n\r\n", 200, ""},
      {"POST" + rest + "Content-Length: 2\r\n\r\n{}", 200, ""},
      {"GET" + rest + "Content-Length: 2\r\n\r\n{}", 400, ""},
      {"DELETE" + rest + "Content-Length: 2\r\n\r\n{}", 400, ""},
      {"PUT" + rest + "\r\n", 405, allow},
      {"OPTIONS" + rest + "\r\n", 204, allow},
  };
  HeldWorld world;
  world.held->at_once = [&] { world.held->client->respond({.content_type = http::kJsonType}); };
  for (const Case& c : cases) {
    TestClient client(world);
    const Answer answer = client.ask(c.request);
    EXPECT_EQ(answer.status, c.status) << c.request;
    EXPECT_EQ(answer.field("Allow"), c.allow) << c.request;
  }
  EXPECT_THAT(world.held->bodies, ElementsAre("", "", "", "{}"));
  TestClient client(world);
  const Answer head = client.ask("HEAD" + rest + "\r\n", true);
  EXPECT_EQ(head.status, 405);
  EXPECT_EQ(head.field("Allow"), allow);
  EXPECT_EQ(world.held->gone, 0);
}

TEST(SessionMethods, InTheIndex) {
  const http::AdmissionPolicy policy{http::OriginRules{}};
  http::Router router(policy);
  router.add("/held", "a session", std::make_unique<HeldEndpoint>());
  EXPECT_EQ(router.index_text("title"), "title\n\nGET, POST, DELETE /held  a session\n");
}

TEST(ExchangeHandler, AnswersLater) {
  HeldWorld world;
  TestClient client(world);
  ASSERT_TRUE(world.serve(client));
  EXPECT_EQ(client.received, "");
  constexpr std::string_view kBody[] = {"{", "}"};
  world.held->client->respond({.content_type = http::kJsonType,
                               .more_fields = "Mcp-Session-Id: s1\r\nX-Two: 2\r\n",
                               .body = kBody});
  const Answer answer = client.answer();
  EXPECT_EQ(answer.field("Mcp-Session-Id"), "s1");
  EXPECT_EQ(answer.field("X-Two"), "2");
  EXPECT_EQ(answer.body, "{}");
  EXPECT_EQ(client.ask(kNext).status, 204);
}

TEST(ExchangeHandler, StreamsEvents) {
  HeldWorld world;
  TestClient client(world);
  ASSERT_TRUE(world.serve(client));
  http::Exchange& responder = *world.held->client;
  responder.begin_stream(
      {.slow_client = http::SlowClient::waited_for, .more_fields = "Mcp-Session-Id: s1\r\n"});
  constexpr std::string_view kData[] = {"{\"a\"", ":", "1}"};
  responder.write_event({.id = "0-1", .retry_ms = 1000});
  responder.write_event({.name = "message", .id = "0-2", .data = kData});
  responder.write_event({.data = kData});
  responder.end_stream(http::StreamEnd::bare);
  const Answer answer = client.answer();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.field("Content-Type"), "text/event-stream");
  EXPECT_EQ(answer.field("Cache-Control"), "no-store");
  EXPECT_EQ(answer.field("X-Accel-Buffering"), "no");
  EXPECT_EQ(answer.field("Mcp-Session-Id"), "s1");
  EXPECT_EQ(answer.body,
            "id: 0-1\nretry: 1000\ndata: \n\n"
            "event: message\nid: 0-2\ndata: {\"a\":1}\n\n"
            "data: {\"a\":1}\n\n");
  EXPECT_EQ(client.ask(kNext).status, 204);
}

TEST(ExchangeHandler, SilentStreamIsKeptAlive) {
  WorldOptions options;
  options.timeouts.keep_alive = std::chrono::milliseconds(20);
  HeldWorld world(options);
  TestClient client(world);
  ASSERT_TRUE(world.serve(client));
  world.held->client->begin_stream({.slow_client = http::SlowClient::waited_for});
  EXPECT_TRUE(world.until([&] {
    const std::string chunk = "e\r\n" + std::string(http::kKeepAlive) + "\r\n";
    return client.received.ends_with(chunk + chunk);
  }));
}

TEST(ExchangeHandler, SourceThatWaitsIsNotCutOff) {
  WorldOptions options;
  options.limits.outbox = 1 << 20;
  HeldWorld world(options);
  TestClient client(world, false);
  ASSERT_TRUE(world.serve(client));
  world.held->client->begin_stream({.slow_client = http::SlowClient::waited_for});
  EXPECT_FALSE(world.held->client->is_backed_up());
  // More than the kernel takes, and more than the outbox would hold.
  constexpr size_t kMuch = 12 << 20;
  world.write_much(kMuch);
  ASSERT_EQ(world.held->gone, 0);
  EXPECT_TRUE(world.held->client->is_backed_up());
  EXPECT_EQ(world.held->writable, 0);
  client.read();
  ASSERT_TRUE(world.until([&] { return world.held->writable == 1; }));
  EXPECT_FALSE(world.held->client->is_backed_up());
  world.held->client->end_stream(http::StreamEnd::bare);
  EXPECT_GE(client.answer().body.size(), kMuch);
  EXPECT_TRUE(world.observer.dropped.empty());
  EXPECT_EQ(world.held->gone, 0);
  EXPECT_EQ(world.held->writable, 1);
}

TEST(ExchangeHandler, MayEndTheStreamWhenItIsWritable) {
  HeldWorld world;
  TestClient client(world, false);
  ASSERT_TRUE(world.serve(client));
  world.held->client->begin_stream({.slow_client = http::SlowClient::waited_for});
  world.held->when_writable = [&] { world.held->client->end_stream(http::StreamEnd::bare); };
  world.write_much(12 << 20);
  ASSERT_EQ(world.held->gone, 0);
  client.send(kNext);
  client.read();
  EXPECT_EQ(client.answer().status, 200);
  EXPECT_EQ(client.answer().status, 204);
  EXPECT_EQ(world.held->gone, 0);
}

TEST(ExchangeHandler, HearsOnceThatTheClientHasGone) {
  struct Case {
    const char* name;
    std::function<void(HeldWorld&, TestClient&)> go;
  };
  const std::vector<Case> cases = {
      {"leaves", [](HeldWorld&, TestClient& client) { client.leave(); }},
      {"ends its input", [](HeldWorld&, TestClient& client) { client.half_close(); }},
      {"is closed", [](HeldWorld& world, TestClient&) { world.server->close_all(); }},
  };
  for (const bool streams : {false, true}) {
    for (const Case& c : cases) {
      HeldWorld world;
      TestClient client(world);
      ASSERT_TRUE(world.serve(client)) << c.name;
      if (streams) world.held->client->begin_stream({});
      c.go(world, client);
      EXPECT_TRUE(world.until([&] { return world.held->gone == 1; })) << c.name << streams;
      EXPECT_TRUE(world.until([&] { return world.observer.closed == 1; })) << c.name << streams;
      EXPECT_EQ(world.held->gone, 1) << c.name << streams;
    }
  }
}

TEST(ExchangeHandler, HearsOfOneThatTakesNothing) {
  WorldOptions options;
  options.timeouts.body = std::chrono::milliseconds(30);
  HeldWorld world(options);
  TestClient client(world, false);
  ASSERT_TRUE(world.serve(client));
  world.held->client->begin_stream({.slow_client = http::SlowClient::waited_for});
  world.write_much(12 << 20);
  EXPECT_TRUE(world.until([&] { return world.held->gone == 1; }));
}

TEST(ExchangeHandler, HearsOfOneThatIsDropped) {
  for (const bool ended : {false, true}) {
    WorldOptions options;
    options.limits.outbox = 100000;
    HeldWorld world(options);
    TestClient client(world, false);
    ASSERT_TRUE(world.serve(client));
    world.held->client->begin_stream({.slow_client = http::SlowClient::dropped});
    const std::string data(50000, 'x');
    while (world.observer.dropped.empty()) {
      world.held->write(data);
      if (world.observer.dropped.empty()) world.loop.run_once();
    }
    if (ended) world.held->client->end_stream(http::StreamEnd::bare);
    EXPECT_TRUE(world.until([&] { return world.observer.closed == 1; }));
    EXPECT_THAT(world.observer.dropped, ElementsAre(DropReason::outbox_full));
    EXPECT_EQ(world.held->gone, ended ? 0 : 1);
  }
}

TEST(ExchangeHandler, HearsNothingAfterItsAnswer) {
  const std::vector<std::function<void(http::Exchange&)>> answers = {
      [](http::Exchange& client) { client.respond({.status = 204}); },
      [](http::Exchange& client) {
        client.fail({404, "no"});
      },
      [](http::Exchange& client) {
        client.begin_stream({});
        client.end_stream(http::StreamEnd::done_event);
      },
  };
  for (const bool at_once : {false, true}) {
    for (const auto& answer : answers) {
      HeldWorld world;
      TestClient client(world);
      if (at_once) world.held->at_once = [&] { answer(*world.held->client); };
      ASSERT_TRUE(world.serve(client));
      if (!at_once) answer(*world.held->client);
      EXPECT_NE(client.answer().status, 0);
      client.leave();
      EXPECT_TRUE(world.until([&] { return world.observer.closed == 1; }));
      EXPECT_EQ(world.held->gone, 0);
    }
  }
}

// Exchanges are reused, so an exchange must forget its former handler.
TEST(ExchangeHandler, IsOfOneExchangeOnly) {
  HeldWorld world;
  TestClient client(world);
  ASSERT_TRUE(world.serve(client));
  world.held->client->respond({.status = 204});
  EXPECT_EQ(client.answer().status, 204);
  client.send(post(call("1", "hold", "[]")));
  ASSERT_TRUE(world.until([&] { return world.child().held.size() == 1; }));
  client.leave();
  EXPECT_TRUE(world.until([&] { return world.observer.closed == 1; }));
  EXPECT_EQ(world.held->gone, 0);
}

}  // namespace
}  // namespace stdgate::test

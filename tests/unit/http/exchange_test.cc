// Endpoints and exchanges on a codec without a socket or a wire format, because they do not depend
// on the version of HTTP.
#include "transports/http/exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/http/codec_double.h"
#include "tests/unit/http/http_world.h"

namespace stdgate::test {
namespace {

using testing::HasSubstr;

constexpr const char* kEventStream = "text/event-stream";
constexpr const char* kStream = "/rpc/stream?method=hold&params=[]";

// The test sends the answer.
struct UnansweredEndpoint final : http::Endpoint {
  struct Handler final : http::ExchangeHandler {
    static constexpr char kKind = 0;
    void on_writable() override { ++writable; }
    void on_gone() override { ++gone; }
    void rest() override { ++rests; }
    int writable = 0;
    int gone = 0;
    int rests = 0;
  };

  std::optional<http::HttpError> admit(http::Exchange& exchange) override {
    if (exchange.can_upgrade()) return std::nullopt;
    return http::HttpError{426, "no"};
  }
  void serve(http::Exchange& exchange, std::span<char> /*body*/) override {
    handler = &exchange.handler<Handler>();
  }

  Handler* handler = nullptr;
};

class Exchanges : public testing::Test {
 protected:
  explicit Exchanges(const WorldOptions& options = {}) : world_(options) {
    auto endpoint = std::make_unique<UnansweredEndpoint>();
    open_ = endpoint.get();
    world_.router.add("/open", "", std::move(endpoint));
  }

  HttpWorld world_;
  UnansweredEndpoint* open_ = nullptr;
  CodecDouble codec_{*world_.server};
};

TEST_F(Exchanges, AnswerACall) {
  codec_.post("/rpc", call("7", "echo", "[1]"));
  ASSERT_TRUE(world_.until([this] { return codec_.sent.has_ended; }));
  EXPECT_EQ(codec_.sent.status, 200);
  EXPECT_EQ(codec_.sent.content_type, http::kJsonType);
  EXPECT_EQ(codec_.sent.body, result("7", "[1]"));
  EXPECT_FALSE(codec_.exchange.is_open());
  codec_.post("/rpc", "[" + call("8", "echo", "[2]") + "]");
  ASSERT_TRUE(world_.until([this] { return codec_.sent.has_ended; }));
  EXPECT_EQ(codec_.sent.body, "[" + result("8", "[2]") + "]");
}

TEST_F(Exchanges, StreamACall) {
  codec_.post("/rpc", call("7", "events", R"({"n":1})"), {{"accept", kEventStream}});
  ASSERT_TRUE(world_.until([this] { return codec_.sent.has_ended; }));
  EXPECT_EQ(codec_.sent.content_type, kEventStream);
  EXPECT_THAT(codec_.sent.fields, HasSubstr("Cache-Control: no-store\r\n"));
  EXPECT_THAT(codec_.sent.body, testing::StartsWith("data: {"));
  EXPECT_THAT(codec_.sent.body, testing::EndsWith("data: [DONE]\n\n"));
}

TEST_F(Exchanges, AStreamHasNoBodyForHead) {
  ASSERT_TRUE(codec_.admit("HEAD", kStream, {{"accept", kEventStream}}));
  codec_.exchange.serve({});
  EXPECT_TRUE(codec_.sent.has_ended);
  EXPECT_EQ(codec_.sent.content_type, kEventStream);
  EXPECT_EQ(codec_.sent.body, "");
}

TEST_F(Exchanges, CancelTheCallsOfWhoHasGone) {
  codec_.post("/rpc", call("7", "hold", "[]"));
  ASSERT_TRUE(world_.until([this] { return world_.child().held.size() == 1; }));
  codec_.exchange.on_gone();
  codec_.exchange.rest();
  EXPECT_EQ(world_.observer.outcomes.size(), 1U);
  world_.child().answer_held("1");
  world_.loop.run_once();
  EXPECT_EQ(codec_.sent.status, 0);
}

TEST_F(Exchanges, RefuseWhatCannotBeTaken) {
  ASSERT_TRUE(codec_.admit("POST", "/rpc", {{"content-type", "application/json"}}, true));
  codec_.exchange.refuse(rpc::faults::plain(rpc::Fault::too_large));
  EXPECT_EQ(codec_.sent.status, 413);
  EXPECT_THAT(codec_.sent.body, HasSubstr(R"("jsonrpc":"2.0")"));
  EXPECT_FALSE(codec_.admit("GET", "/nowhere"));
  EXPECT_EQ(codec_.sent.status, 404);
  EXPECT_FALSE(codec_.admit("DELETE", "/rpc"));
  EXPECT_EQ(codec_.sent.status, 405);
}

TEST_F(Exchanges, UpgradeWhereTheCodecCan) {
  codec_.upgrades = false;
  EXPECT_FALSE(codec_.admit("GET", "/open"));
  EXPECT_EQ(codec_.sent.status, 426);
  codec_.upgrades = true;
  EXPECT_TRUE(codec_.admit("GET", "/open"));
  codec_.exchange.upgrade("Upgrade: x\r\n", nullptr);
  EXPECT_EQ(codec_.sent.status, 101);
  EXPECT_FALSE(codec_.exchange.is_open());
}

TEST_F(Exchanges, PassOnWhatTheClientTakes) {
  codec_.get("/open");
  codec_.exchange.begin_stream({.slow_client = http::SlowClient::waited_for});
  codec_.backed_up = true;
  codec_.unsent_bytes = size_t{1} << 40;
  EXPECT_TRUE(codec_.exchange.is_backed_up());
  codec_.exchange.write_event({.id = "1"});
  EXPECT_EQ(codec_.sent.body, "id: 1\ndata: \n\n");
  codec_.exchange.on_writable();
  EXPECT_EQ(open_->handler->writable, 1);
}

TEST_F(Exchanges, AbortAStreamThatIsTakenTooSlowly) {
  codec_.get("/open");
  codec_.exchange.begin_stream({});
  codec_.unsent_bytes = world_.options.limits.outbox;
  codec_.exchange.write_event({.id = "1"});
  EXPECT_FALSE(codec_.sent.is_aborted) << "at the limit";
  ++codec_.unsent_bytes;
  codec_.exchange.write_event({.id = "2"});
  codec_.exchange.write_event({.id = "3"});
  EXPECT_TRUE(codec_.sent.is_aborted);
  EXPECT_EQ(codec_.sent.body, "id: 1\ndata: \n\n");
  EXPECT_THAT(world_.observer.dropped, testing::ElementsAre(DropReason::outbox_full));
  codec_.exchange.on_gone();
  EXPECT_EQ(open_->handler->gone, 1);
}

TEST_F(Exchanges, TellTheirHandlerOnceThatTheClientHasGone) {
  codec_.get("/open");
  codec_.exchange.on_gone();
  codec_.exchange.on_gone();
  codec_.exchange.on_writable();
  EXPECT_EQ(open_->handler->gone, 1);
  EXPECT_EQ(open_->handler->writable, 0);
  codec_.exchange.rest();
  codec_.get("/open");
  codec_.exchange.respond({.status = 204});
  codec_.exchange.on_gone();
  EXPECT_EQ(open_->handler->gone, 1) << "it has been answered";
  EXPECT_EQ(open_->handler->rests, 2);
}

// A reload removes endpoints from the router while they are in use.
TEST_F(Exchanges, OwnTheEndpointThatTheyUse) {
  codec_.get("/open");
  const std::weak_ptr<const http::Endpoint> endpoint = open_->weak_from_this();
  world_.router.clear();
  EXPECT_FALSE(endpoint.expired());
  EXPECT_EQ(open_->handler->gone, 0);
  codec_.exchange.respond({.status = 204});
  world_.loop.run_once();
  EXPECT_TRUE(endpoint.expired());
  codec_.get("/open");
  EXPECT_EQ(codec_.sent.status, 404);
}

TEST_F(Exchanges, OwnNoEndpointBetweenRequests) {
  codec_.get("/open");
  codec_.exchange.respond({.status = 204});
  const std::weak_ptr<const http::Endpoint> endpoint = open_->weak_from_this();
  world_.router.clear();
  EXPECT_TRUE(endpoint.expired());
}

class Deadlines : public Exchanges {
 protected:
  static WorldOptions quick() {
    WorldOptions options;
    options.timeouts.keep_alive = std::chrono::milliseconds(20);
    return options;
  }
  Deadlines() : Exchanges(quick()) { codec_.get("/open"); }
  void wait_until(TimePoint time) {
    ASSERT_TRUE(world_.until([&] { return world_.loop.now() >= time; }));
  }
};

TEST_F(Deadlines, AStreamIsKeptAlive) {
  EXPECT_EQ(codec_.exchange.due(), TimePoint::max())
      << "an answer is waited for as long as it takes";
  codec_.exchange.begin_stream({});
  codec_.exchange.on_due();
  EXPECT_EQ(codec_.sent.body, "") << "too early";
  wait_until(codec_.exchange.due());
  codec_.exchange.on_due();
  EXPECT_EQ(codec_.sent.body, ": keep-alive\n\n");
}

TEST_F(Deadlines, AnAnswerMayBecomeAStream) {
  codec_.exchange.may_stream({});
  wait_until(codec_.exchange.due());
  codec_.exchange.on_due();
  EXPECT_EQ(codec_.sent.content_type, kEventStream);
  EXPECT_EQ(codec_.sent.body, ": keep-alive\n\n");
  EXPECT_TRUE(codec_.exchange.is_streaming());
}

TEST_F(Deadlines, AStreamEndsWithItsCredential) {
  codec_.exchange.begin_stream({});
  codec_.exchange.identity.expires = world_.loop.now();
  codec_.exchange.on_due();
  EXPECT_TRUE(codec_.sent.has_ended);
  EXPECT_TRUE(codec_.sent.is_last);
  EXPECT_EQ(open_->handler->gone, 1);
}

// The response has not begun, so there is no stream to end.
TEST_F(Deadlines, AnAnswerThatMayBecomeAStreamDoesNotEndWithItsCredential) {
  codec_.exchange.may_stream({});
  codec_.exchange.identity.expires = world_.loop.now();
  codec_.exchange.on_due();
  EXPECT_EQ(codec_.sent.status, 0);
  EXPECT_FALSE(codec_.sent.has_ended);
  codec_.exchange.end_credential();
  EXPECT_FALSE(codec_.sent.has_ended);
  codec_.exchange.respond({.status = 204});
  EXPECT_EQ(codec_.sent.status, 204);
}

}  // namespace
}  // namespace stdgate::test

// Upgrades to another protocol: what the new owner of the connection receives, and what the server
// still tells it.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tests/unit/http/http_world.h"
#include "transports/http/client_connection.h"
#include "transports/http/exchange.h"
#include "transports/http/router.h"

namespace stdgate::test {
namespace {

constexpr std::string_view kFields = "Upgrade: echo\r\nConnection: Upgrade\r\n";

// The events of a Successor, which may have been destroyed.
struct Succession {
  int taken_over = 0, drained = 0, left = 0, destroyed = 0;
  std::string early;  // sent behind the request
  std::string bytes;  // sent later
  size_t unsent_before = 0;
};

// Echoes bytes until it is drained or closed.
class Successor final : public http::UpgradedConnection, private net::StreamEvents {
 public:
  Successor(http::Server& server, Succession& told) : server_(server), told_(told) {}
  ~Successor() override { ++told_.destroyed; }

  void take_over(std::unique_ptr<net::Stream> stream, ByteQueue already_read) override {
    ++told_.taken_over;
    stream_ = std::move(stream);
    told_.unsent_before = stream_->unsent_bytes();
    stream_->set_events(*this);
    told_.early.assign(already_read.view());
    stream_->write(told_.early);
    for (const auto reason : {net::Stream::kBackPressure, net::Stream::kBusy, net::Stream::kTurn}) {
      stream_->resume_read(reason);
    }
  }
  [[nodiscard]] ConnectionKind kind() const override { return ConnectionKind::websocket; }
  [[nodiscard]] bool has_request() const override { return false; }
  void drain() override {
    ++told_.drained;
    close();
  }
  void close() override {
    stream_->pause_read(net::Stream::kBusy);
    server_.remove(*this);
  }
  void cut() override {
    stream_->close();
    close();
  }
  [[nodiscard]] http::HeldMemory held_memory() const override { return {}; }
  [[nodiscard]] const Account* account() const override { return nullptr; }
  void report_written() override {}
  void resume() override {}
  [[nodiscard]] const policy::Principal* principal() const override { return nullptr; }
  void leave() override { ++told_.left; }
  void end_credential() override {}

 private:
  void on_bytes(std::span<char> bytes) override {
    told_.bytes.append(bytes.data(), bytes.size());
    stream_->write(std::string_view(bytes.data(), bytes.size()));
  }
  void on_end() override { close(); }
  void on_error(int /*error*/) override { close(); }

  http::Server& server_;
  Succession& told_;
  std::unique_ptr<net::Stream> stream_;
};

class UpgradingEndpoint final : public http::Endpoint {
 public:
  explicit UpgradingEndpoint(Succession& told) : told_(told) {}
  std::optional<http::HttpError> admit(http::Exchange& exchange) override {
    EXPECT_TRUE(exchange.can_upgrade());
    return std::nullopt;
  }
  void serve(http::Exchange& exchange, std::span<char> /*body*/) override {
    exchange.upgrade(kFields, std::make_unique<Successor>(exchange.server(), told_));
    EXPECT_EQ(told_.taken_over, 0) << "never from within the exchange";
  }

 private:
  Succession& told_;
};

class Upgrade : public testing::Test {
 protected:
  Upgrade() { world_.router.add("/echo", "about", std::make_unique<UpgradingEndpoint>(told_)); }
  bool upgrade(TestClient& client, std::string_view early = {}) {
    client.send(get("/echo").append(early));
    return world_.until([this] { return told_.taken_over > 0; });
  }
  bool reads(const TestClient& client, std::string_view end) {
    return world_.until([&] { return client.received.ends_with(end); });
  }

  Succession told_;
  HttpWorld world_;
};

TEST_F(Upgrade, AnswersBeforeTheSuccessorWrites) {
  TestClient client(world_);
  ASSERT_TRUE(upgrade(client, "early"));
  ASSERT_TRUE(reads(client, "\r\n\r\nearly"));
  EXPECT_TRUE(client.received.starts_with("HTTP/1.1 101 "));
  EXPECT_NE(client.received.find(kFields), std::string::npos);
  EXPECT_EQ(client.received.find("HTTP/1.1", 1), std::string::npos) << "one answer";
}

// Even bytes that look like another request are handed over.
TEST_F(Upgrade, HandsOverWhatFollowsTheRequest) {
  TestClient client(world_);
  const std::string next = get("/echo");
  ASSERT_TRUE(upgrade(client, next));
  EXPECT_EQ(told_.early, next);
  client.send("later");
  ASSERT_TRUE(reads(client, "later"));
  EXPECT_EQ(told_.bytes, "later");
  EXPECT_EQ(told_.taken_over, 1);
}

TEST_F(Upgrade, KeepsThePlaceInTheServer) {
  TestClient client(world_);
  ASSERT_TRUE(upgrade(client));
  EXPECT_EQ(world_.server->connections(), 1U);
  EXPECT_EQ(world_.observer.open[static_cast<size_t>(ConnectionKind::http)], 0U);
  EXPECT_EQ(world_.observer.open[static_cast<size_t>(ConnectionKind::websocket)], 1U);
  client.leave();
  ASSERT_TRUE(world_.until([this] { return told_.destroyed == 1; }));
  EXPECT_EQ(world_.server->connections(), 0U);
}

TEST_F(Upgrade, IsToldOfTheEnd) {
  TestClient client(world_);
  ASSERT_TRUE(upgrade(client));
  world_.server->close_listener(world_.address);
  EXPECT_EQ(told_.left, 1);
  bool is_gone = false;
  world_.server->drain([&] { is_gone = true; });
  EXPECT_EQ(told_.drained, 1);
  EXPECT_TRUE(is_gone);
  EXPECT_TRUE(client.wait_closed());
  EXPECT_EQ(told_.destroyed, 1);
}

}  // namespace
}  // namespace stdgate::test

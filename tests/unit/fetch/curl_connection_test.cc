// The events that the owner of a CurlConnection receives, and that no event follows the last one.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "tests/support/loop_runner.h"
#include "tests/unit/fetch/plain_server.h"
#include "transports/fetch/curl_web_client.h"

namespace stdgate {
namespace {

using std::chrono::milliseconds;
using test::run_for;
using test::run_until;

struct ConnectionOwner final : fetch::CurlConnection::Events {
  void on_connected() override {
    ++connected;
    call(connected_hook);
  }
  void on_bytes(std::span<char> chunk) override {
    bytes.append(chunk.data(), chunk.size());
    call(bytes_hook);
  }
  void on_sent() override {
    ++sent;
    call(sent_hook);
  }
  void on_closed(const remote::WebFailure& why) override {
    ++closed;
    failure = why;
    call(closed_hook);
  }
  static void call(const std::function<void()>& hook) {
    if (hook) hook();
  }

  int connected = 0, sent = 0, closed = 0;
  std::string bytes;
  std::optional<remote::WebFailure> failure;
  std::function<void()> connected_hook, bytes_hook, sent_hook, closed_hook;
};

class CurlConnectionTest : public testing::Test {
 protected:
  void connect() {
    connection_ = std::make_unique<fetch::CurlConnection>(server_.url(), web_, loop_, owner_);
    ASSERT_TRUE(run_until(loop_, [this] { return owner_.connected > 0 && has_peer(); }));
  }
  [[nodiscard]] bool has_peer() const { return server_.connections() > 0; }
  // The server resets the connection instead of closing it.
  void reset() {
    const linger at_once{1, 0};
    ASSERT_EQ(::setsockopt(server_socket(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
    server_.last().stream->close();
  }
  // The descriptor of the server's end, which the stream does not give out.
  [[nodiscard]] int server_socket() const {
    for (int fd = 0; fd < 256; ++fd) {
      sockaddr_in own{};
      sockaddr_in peer{};
      socklen_t size = sizeof(own);
      socklen_t peer_size = sizeof(peer);
      if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0) continue;
      if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) != 0) continue;
      if (own.sin_family == AF_INET && ntohs(own.sin_port) == server_.port()) return fd;
    }
    return -1;
  }

  net::Loop loop_;
  test::PlainServer server_{loop_};
  fetch::CurlWebClient web_{loop_, {}};
  ConnectionOwner owner_;
  std::unique_ptr<fetch::CurlConnection> connection_;
};

TEST_F(CurlConnectionTest, CarriesBytesBothWays) {
  owner_.connected_hook = [this] { connection_->write("ping"); };
  server_.on_bytes = [](test::StreamOwner& peer) { peer.stream->write("pong"); };
  connect();
  ASSERT_TRUE(run_until(loop_, [this] { return owner_.bytes == "pong"; }));
  EXPECT_EQ(server_.last().bytes, "ping");
  EXPECT_EQ(owner_.connected, 1);
  EXPECT_EQ(owner_.sent, 1);
  EXPECT_EQ(owner_.closed, 0);
}

TEST_F(CurlConnectionTest, KeepsWhatTheServerDoesNotRead) {
  server_.reads = false;
  connect();
  const std::string sent = test::pattern(16 << 20);
  connection_->write(sent);
  run_for(loop_, milliseconds(20));
  EXPECT_GT(connection_->unsent(), 0U);
  EXPECT_EQ(owner_.sent, 0);
  server_.last().read();
  ASSERT_TRUE(run_until(loop_, [&] { return server_.last().bytes.size() == sent.size(); }));
  EXPECT_EQ(server_.last().bytes, sent);
  ASSERT_TRUE(run_until(loop_, [this] { return owner_.sent == 1; }));
  EXPECT_EQ(connection_->unsent(), 0U);
}

TEST_F(CurlConnectionTest, ReadsNothingWhilePaused) {
  connect();
  connection_->pause();
  server_.last().stream->write("early");
  run_for(loop_, milliseconds(20));
  EXPECT_EQ(owner_.bytes, "");
  connection_->resume();
  EXPECT_TRUE(run_until(loop_, [this] { return owner_.bytes == "early"; }));
}

// The owner pauses after each part of a long text, in the middle of a turn.
TEST_F(CurlConnectionTest, LosesNothingByPauses) {
  connect();
  const std::string sent = test::pattern(4 << 20);
  owner_.bytes_hook = [this] { connection_->pause(); };
  server_.last().stream->write(sent);
  const auto has_all = [&] {
    connection_->resume();
    return owner_.bytes.size() >= sent.size();
  };
  ASSERT_TRUE(run_until(loop_, has_all));
  EXPECT_EQ(owner_.bytes, sent);
}

TEST_F(CurlConnectionTest, SaysThatTheServerHasClosedIt) {
  connect();
  server_.last().stream->write("last words");
  server_.last().stream->shutdown_write();
  ASSERT_TRUE(run_until(loop_, [this] { return owner_.closed > 0; }));
  run_for(loop_, milliseconds(20));
  EXPECT_EQ(owner_.bytes, "last words");
  EXPECT_EQ(owner_.closed, 1);
  EXPECT_TRUE(owner_.failure->may_be_sent);
}

TEST_F(CurlConnectionTest, SaysThatNobodyListens) {
  std::string nobody;
  {
    const test::PlainServer gone(loop_);
    nobody = gone.url();
  }
  connection_ = std::make_unique<fetch::CurlConnection>(nobody, web_, loop_, owner_);
  ASSERT_TRUE(run_until(loop_, [this] { return owner_.closed > 0; }));
  EXPECT_EQ(owner_.connected, 0);
  EXPECT_EQ(owner_.closed, 1);
  EXPECT_EQ(owner_.failure->kind, remote::WebFailure::Kind::unconnected);
  EXPECT_FALSE(owner_.failure->may_be_sent);
}

// The socket is then both readable and writable, and both operations fail.
TEST_F(CurlConnectionTest, IsClosedOnceByAReset) {
  server_.reads = false;
  connect();
  connection_->write(test::pattern(16 << 20));
  run_for(loop_, milliseconds(10));
  reset();
  ASSERT_TRUE(run_until(loop_, [this] { return owner_.closed > 0; }));
  run_for(loop_, milliseconds(20));
  EXPECT_EQ(owner_.closed, 1);
}

TEST_F(CurlConnectionTest, TellsNothingOnceItIsStopped) {
  connect();
  connection_->stop();
  server_.last().stream->write("late");
  server_.last().stream->shutdown_write();
  run_for(loop_, milliseconds(20));
  connection_->resume();
  run_for(loop_, milliseconds(20));
  EXPECT_EQ(owner_.bytes, "");
  EXPECT_EQ(owner_.closed, 0);
}

// The socket is readable and writable in the same turn.
TEST_F(CurlConnectionTest, IsStoppedByWhatItTells) {
  connect();
  owner_.sent_hook = [this] { connection_->stop(); };
  connection_->write("mine");
  ASSERT_EQ(::send(server_socket(), "late", 4, 0), 4);
  ASSERT_TRUE(run_until(loop_, [this] { return owner_.sent > 0; }));
  connection_->write("more");
  run_for(loop_, milliseconds(20));
  EXPECT_EQ(owner_.bytes, "");
  EXPECT_EQ(server_.last().bytes, "mine");
}

TEST_F(CurlConnectionTest, MayBeDestroyedInEachOfItsEvents) {
  using Hook = std::function<void()> ConnectionOwner::*;
  for (const Hook hook : {&ConnectionOwner::connected_hook, &ConnectionOwner::bytes_hook,
                          &ConnectionOwner::sent_hook, &ConnectionOwner::closed_hook}) {
    ConnectionOwner owner;
    owner.connected_hook = [&] { connection_->write("ping"); };
    owner.*hook = [&] { connection_.reset(); };
    server_.on_bytes = [](test::StreamOwner& peer) {
      peer.stream->write("pong");
      peer.stream->shutdown_write();
    };
    connection_ = std::make_unique<fetch::CurlConnection>(server_.url(), web_, loop_, owner);
    EXPECT_TRUE(run_until(loop_, [this] { return connection_ == nullptr; }));
    const int events = owner.connected + owner.sent + owner.closed;
    run_for(loop_, milliseconds(10));
    EXPECT_EQ(owner.connected + owner.sent + owner.closed, events);
  }
}

}  // namespace
}  // namespace stdgate

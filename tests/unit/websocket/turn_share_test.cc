// A client that sends much at once gets its share of a turn, and the other clients get theirs. The
// share is counted in answers, and not in time. The rule holds over TLS too.
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>

#include "tests/support/memory_stream.h"
#include "tests/unit/tls/tls_world.h"
#include "tests/unit/websocket/client_frames.h"
#include "tests/unit/websocket/websocket_world.h"
#include "transports/http/client_connection.h"

namespace stdgate::test {
namespace {

constexpr size_t kShare = http::ConnectionMeter::kTurnShare;
constexpr size_t kMany = 4 * kShare + 7;
// The gateway answers this request itself, at once.
constexpr std::string_view kRequest = "GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n";

std::string repeated(size_t count, std::string_view text) {
  std::string all;
  for (size_t i = 0; i < count; ++i) all += text;
  return all;
}

size_t count_of(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

// A client without a socket.
struct TurnClient {
  void send(std::string_view bytes) { peer.send(bytes); }
  [[nodiscard]] size_t answers(std::string_view part) const {
    return count_of(peer.received, part);
  }
  MemoryPeer peer;
};

class TurnShare : public testing::Test {
 protected:
  TurnClient& connect() {
    TurnClient& client = clients_.emplace_back();
    world_.server->serve(std::make_unique<MemoryStream>(client.peer), {});
    return client;
  }
  // One client sends all of `flood`, another client sends `single`. `answer` occurs in each answer.
  // The other client is answered at once, and the greedy client gets its share in each turn.
  void expect_shared(TurnClient& greedy, std::string_view flood, TurnClient& other,
                     std::string_view single, std::string_view answer) {
    const size_t before = other.answers(answer);
    greedy.send(flood);
    other.send(single);
    EXPECT_EQ(other.answers(answer), before + 1);
    EXPECT_GE(greedy.answers(answer), kShare);
    EXPECT_LE(greedy.answers(answer), 2 * kShare) << "and what was left of the last turn's share";
    EXPECT_FALSE(greedy.peer.stream->is_read()) << "what has come is enough";
    size_t turns = 0;
    for (size_t last = greedy.answers(answer); last < kMany && turns < 100; ++turns) {
      world_.loop.run_once();
      const size_t now = greedy.answers(answer);
      EXPECT_LE(now, last + kShare);
      last = now;
    }
    EXPECT_EQ(greedy.answers(answer), kMany);
    world_.loop.run_once();
    EXPECT_TRUE(greedy.peer.stream->is_read());
  }

  std::deque<TurnClient> clients_;  // outlive their connections
  WebSocketWorld world_;
};

TEST_F(TurnShare, OfRequestsInOneRead) {
  TurnClient& greedy = connect();
  TurnClient& other = connect();
  expect_shared(greedy, repeated(kMany, kRequest), other, kRequest, "HTTP/1.1 404");
}

TEST_F(TurnShare, OfMessagesInOneRead) {
  TurnClient& greedy = connect();
  TurnClient& other = connect();
  for (TurnClient* client : {&greedy, &other}) client->send(handshake());
  const std::string message = client_frame("1");
  expect_shared(greedy, repeated(kMany, message), other, message, "-32600");
}

TEST_F(TurnShare, OfPingsInOneRead) {
  TurnClient& greedy = connect();
  TurnClient& other = connect();
  for (TurnClient* client : {&greedy, &other}) client->send(handshake());
  const std::string ping = client_frame(websocket::Opcode::ping, "ping");
  expect_shared(greedy, repeated(kMany, ping), other, ping, "\x8a\x04ping");
}

TEST_F(TurnShare, OfMessagesBehindTheHandshake) {
  TurnClient& greedy = connect();
  greedy.send(handshake() + repeated(kMany, client_frame("1")));
  EXPECT_LE(greedy.answers("-32600"), kShare);
  EXPECT_TRUE(world_.until([&] { return greedy.answers("-32600") == kMany; }));
  EXPECT_TRUE(world_.until([&] { return greedy.peer.stream->is_read(); }));
}

TEST_F(TurnShare, LargeMessagesCountAsSeveral) {
  TurnClient& greedy = connect();
  greedy.send(handshake());
  const std::string large = client_frame(std::string(kShare / 4 * 512, 'x'));
  greedy.send(repeated(8, large));
  EXPECT_EQ(greedy.answers("-32700"), 4U);
  EXPECT_TRUE(world_.until([&] { return greedy.answers("-32700") == 8; }));
}

TEST_F(TurnShare, WhoEndsAfterAFloodIsReadToTheEnd) {
  TurnClient& http = connect();
  http.send(repeated(kMany, kRequest));
  http.peer.end();
  EXPECT_FALSE(http.peer.ended);
  // The end is reported when reading continues. A further byte of the peer would be reported then
  // too.
  EXPECT_TRUE(world_.until([&] { return http.answers("HTTP/1.1 404") == kMany; }));
  http.peer.end();
  EXPECT_TRUE(http.peer.ended);
}

TEST_F(TurnShare, ADrainWaitsForWhatHasCome) {
  TurnClient& greedy = connect();
  greedy.send(handshake());
  greedy.send(repeated(kMany, client_frame("1")));
  world_.server->drain([] {});
  EXPECT_TRUE(world_.until([&] { return greedy.peer.received.ends_with("going away"); }));
  EXPECT_EQ(greedy.answers("-32600"), kMany);
}

TEST_F(TurnShare, OfRequestsOverTls) {
  TlsWorld tls;
  MemoryPeer& peer = clients_.emplace_back().peer;
  TlsClient client(tls.client_options());
  auto stream = std::make_unique<tls::TlsStream>(
      tls::TlsStreamServices{world_.loop,
                             tls.handshakes,
                             tls.handshake_timeout,
                             {tls.plain_buffer.data(), tls.plain_buffer.size()}},
      tls.context, tls.events, std::make_unique<MemoryStream>(peer), ClientAddress());
  world_.server->serve(std::move(stream), {});
  const auto carry = [&] {
    if (const std::string sealed = client.take_sealed(); !sealed.empty()) peer.send(sealed);
    world_.loop.run_once();
    if (!peer.received.empty()) client.receive(std::exchange(peer.received, {}));
    return count_of(client.plain, "HTTP/1.1 404");
  };
  while (!client.is_open()) carry();
  client.write(repeated(kMany, kRequest));
  TurnClient& other = connect();
  size_t before = carry();
  EXPECT_LT(before, kMany);
  other.send(kRequest);
  EXPECT_EQ(other.answers("HTTP/1.1 404"), 1U);
  for (size_t now = before; now < kMany; before = now) {
    now = carry();
    ASSERT_LE(now, before + 2 * kShare) << "a turn or two";
  }
  world_.server->close_all();  // before the end of the parts that the stream uses
  world_.loop.run_once();
}

}  // namespace
}  // namespace stdgate::test

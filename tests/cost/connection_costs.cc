// Whole connections without a socket. The gateway answers by itself, so that no child is measured.
// The size is a number of messages, requests or connections.
#include <deque>
#include <memory>
#include <string>

#include "tests/cost/cost_case.h"
#include "tests/support/memory_stream.h"
#include "tests/unit/http/http_world.h"
#include "tests/unit/tls/tls_world.h"
#include "tests/unit/websocket/client_frames.h"
#include "transports/websocket/websocket_endpoint.h"

namespace stdgate::test {

namespace {

constexpr std::string_view kUnknown = "GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n";
constexpr std::string_view kUpgrade =
    "GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

// A base class, because the peers must outlive their connections.
struct Peers {
  std::deque<MemoryPeer> peers;
};

struct Connections : Peers, HttpWorld {
  Connections() { websocket::add_websocket_routes(router, backends); }

  MemoryPeer& connect() {
    MemoryPeer& peer = peers.emplace_back();
    server->serve(std::make_unique<MemoryStream>(peer), {});
    return peer;
  }
  MemoryPeer& upgrade() {
    MemoryPeer& peer = connect();
    peer.send(kUpgrade);
    must(peer.received.starts_with("HTTP/1.1 101"), "a WebSocket");
    return peer;
  }
  // Runs the loop until all received bytes have been read.
  void finish(MemoryPeer& peer) {
    size_t last = 0;
    for (int still = 0; still < 3; ++still) {
      loop.run_once();
      if (std::exchange(last, peer.received.size()) != peer.received.size()) still = 0;
    }
  }
};

// Counts the cost of sending `bytes_of(n)`, until `last_answer` arrives.
template <class Bytes>
CostCase sent(const std::string& name, size_t size, bool upgrades, size_t piece, Bytes&& bytes_of,
              std::string_view last_answer) {
  return {"connection/" + name, size, [upgrades, piece, bytes_of, last_answer](size_t n) -> Step {
            auto world = std::make_shared<Connections>();
            MemoryPeer& peer = upgrades ? world->upgrade() : world->connect();
            return [piece, world, &peer, last_answer, bytes = std::string(bytes_of(n))] {
              for (size_t at = 0; at < bytes.size(); at += piece) {
                peer.send(std::string_view(bytes).substr(at, piece));
              }
              world->finish(peer);
              must(peer.received.find(last_answer) != std::string::npos, "the last answer");
            };
          }};
}

std::string frames(size_t count, std::string_view frame) {
  return repeated(count, [frame](size_t) { return frame; });
}

std::string unknown(std::string_view name) {
  return "GET /" + std::string(name) + " HTTP/1.0\r\nHost: a\r\n\r\n";
}

std::vector<CostCase> stream_costs() {
  constexpr size_t kWhole = SIZE_MAX / 2;
  using websocket::Opcode;
  const std::string last = client_frame(Opcode::ping, "last");
  std::vector<CostCase> costs;
  costs.push_back(sent(
      "requests in one read", 50, false, kWhole,
      [](size_t n) { return frames(n, kUnknown) + unknown("last"); }, "Connection: close"));
  costs.push_back(sent(
      "requests byte by byte", 5, false, 1,
      [](size_t n) { return frames(n, kUnknown) + unknown("last"); }, "Connection: close"));
  costs.push_back(sent(
      "a body in chunks of a byte", 500, false, kWhole,
      [](size_t n) {
        return "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
               "Transfer-Encoding: chunked\r\n\r\n" +
               frames(n, "1\r\nx\r\n") + "0\r\n\r\n";
      },
      "-32700"));
  costs.push_back(sent(
      "messages in one read", 60, true, kWhole,
      [last](size_t n) { return frames(n, client_frame("1")) + last; }, "last"));
  costs.push_back(sent(
      "messages byte by byte", 20, true, 1,
      [last](size_t n) { return frames(n, client_frame("1")) + last; }, "last"));
  costs.push_back(sent(
      "pings", 200, true, kWhole,
      [last](size_t n) { return frames(n, client_frame(Opcode::ping, "")) + last; }, "last"));
  costs.push_back(sent(
      "fragments of a byte behind a long one", 500, true, kWhole,
      [last](size_t n) {
        return client_frame(Opcode::text, std::string(32 * n, 'x'), false) +
               frames(n, client_frame(Opcode::continuation, "x", false)) + last;
      },
      "last"));
  // The size is within limits.batch.
  costs.push_back(sent(
      "a batch", 100, true, kWhole,
      [last](size_t n) { return client_frame("[1" + frames(n - 1, ",1") + "]") + last; }, "last"));
  return costs;
}

std::vector<CostCase> many_costs() {
  const auto many = [](const std::string& name, size_t size,
                       std::function<void(Connections&, size_t)> run, size_t open) {
    return CostCase{"connection/" + name, size, [run, open](size_t n) -> Step {
                      auto world = std::make_shared<Connections>();
                      for (size_t i = 0; i < open * n; ++i) world->connect().send(kUnknown);
                      world->loop.run_once();
                      return [n, run, world] { run(*world, n); };
                    }};
  };
  const auto come_and_go = [](Connections& world, size_t n) {
    for (size_t i = 0; i < n; ++i) {
      MemoryPeer& peer = world.connect();
      peer.send(kUnknown);
      peer.fail(UV_ECONNRESET);
      world.loop.run_once();
    }
    must(world.observer.closed == n, "all are gone");
  };
  const auto leave_at_once = [](Connections& world, size_t n) {
    for (MemoryPeer& peer : world.peers) peer.fail(UV_ECONNRESET);
    world.loop.run_once();
    must(world.observer.closed == n, "all are gone");
  };
  // Each client sends more requests than its share of a turn, so that its connection has to wait.
  const auto leave_in_the_middle = [](Connections& world, size_t n) {
    const std::string flood = frames(http::ConnectionMeter::kTurnShare + 1, kUnknown);
    for (MemoryPeer& peer : world.peers) peer.send(flood);
    for (MemoryPeer& peer : world.peers) peer.fail(UV_ECONNRESET);
    must(world.observer.closed == n, "all are gone");
  };
  return {many("clients that come and go", 30, come_and_go, 0),
          many("clients that leave at once", 100, leave_at_once, 1),
          many("clients that leave with requests", 2, leave_in_the_middle, 1)};
}

// --- TLS -----------------------------------------------------------------------------------------

std::vector<CostCase> tls_stream_costs() {
  const auto read = [](const std::string& name, size_t size, size_t record, size_t piece) {
    return CostCase{"tls/" + name, size, [record, piece](size_t n) -> Step {
                      auto world = std::make_shared<TlsWorld>();
                      auto connection = std::make_shared<TlsConnection>(*world);
                      connection->ask("x");
                      std::string sealed;
                      for (size_t at = 0; at < n; ++at) {
                        connection->client.write(std::string(record, 'x'));
                        sealed += connection->client.take_sealed();
                      }
                      return [n, record, piece, sealed, world, connection] {
                        for (size_t at = 0; at < sealed.size(); at += piece) {
                          connection->peer.send(std::string_view(sealed).substr(at, piece));
                        }
                        must(connection->owner.bytes.size() == 1 + n * record, "all is read");
                      };
                    }};
  };
  return {read("records of a byte", 200, 1, SIZE_MAX / 2),
          read("records of a byte, byte by byte", 10, 1, 1),
          read("large records in pieces", 10, 16 << 10, 1000)};
}

}  // namespace

std::vector<CostCase> connection_costs() {
  std::vector<CostCase> costs;
  for (const auto& some : {stream_costs(), many_costs(), tls_stream_costs()}) {
    costs.insert(costs.end(), some.begin(), some.end());
  }
  return costs;
}

}  // namespace stdgate::test

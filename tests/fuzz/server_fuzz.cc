// Fuzz target: the whole server in one process, with the bytes of a client on any transport. It
// stays consistent, frees the connection, and serves the next client as usual.
//
// The first byte of the input chooses how its bytes are cut, and whether the client ends its
// stream, resets the connection, or reads nothing.

#include <cerrno>
#include <string>

#include "gateway/mcp/mcp_sessions.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/fake_seal.h"
#include "tests/support/fake_upstream.h"
#include "tests/support/memory_stream.h"
#include "tests/unit/http/http_world.h"
#include "transports/http/mcp_endpoint.h"
#include "transports/websocket/websocket_endpoint.h"

namespace stdgate::test::server_fuzz {
namespace {

class World : public HttpWorld {
 public:
  World() : HttpWorld(small()) {
    websocket::add_websocket_routes(router, backends);
    http::add_mcp_routes(router, "", sessions_, options.limits);
    // Sessions are left open. Their limit is low, so that new sessions replace old sessions.
  }
  ~World() { server.reset(); }

 private:
  static WorldOptions small() {
    WorldOptions options;
    options.limits.message = 64 << 10;
    options.limits.buffered = 1 << 20;
    options.limits.outbox = 32 << 10;
    options.limits.depth = 16;
    options.limits.batch = 8;
    options.pool.sessions = 4;
    return options;
  }
  FakeUpstream& add_upstream() {
    backend::UpstreamFacts facts;
    facts.id = 7;
    facts.name = "tools";
    facts.protocol = config::Protocol::mcp;
    facts.envelope_limits.batch = 3;
    facts.held = accounts.backend(facts.id).held;
    auto owned = std::make_unique<FakeUpstream>(facts, callers);
    FakeUpstream& fake = *owned;
    backends.add(std::move(owned));
    return fake;
  }

  uint64_t ids_ = 0;
  RandomSessionIds session_ids_{[this] { return "session-" + std::to_string(++ids_); }};
  mcp::McpSessions sessions_{{add_upstream(), callers, loop.timers(), loop, options.limits,
                              loop.storages(), options.timeouts},
                             std::chrono::minutes(1),
                             session_ids_};
};

void connect(HttpWorld& world, MemoryPeer& peer) {
  http::AcceptedClient client;
  client.traits.local = *ClientAddress::parse("127.0.0.1");
  world.server->serve(std::make_unique<MemoryStream>(peer), client);
}

void send(MemoryPeer& peer, std::string_view bytes, size_t piece) {
  for (size_t at = 0; at < bytes.size() && peer.stream != nullptr; at += piece) {
    peer.send(bytes.substr(at, piece));
  }
}

// The next client must be served, whatever was sent before.
void check_next_client(World& world, std::string_view input) {
  MemoryPeer peer;
  connect(world, peer);
  send(peer, post(call("7", "echo", "[7]")), SIZE_MAX / 2);
  run_until(world.loop, [&peer] { return peer.received.find("[7]") != std::string::npos; });
  require(peer.received.starts_with("HTTP/1.1 200 OK\r\n"), "the next client is served", input);
  if (peer.stream != nullptr) peer.fail(ECONNRESET);
  world.loop.run_once();
  require(world.server->connections() == 0, "no connection is left", input);
}

void check(std::string_view input) {
  static World world;
  if (input.empty()) return;
  const auto how = static_cast<uint8_t>(input[0]);
  MemoryPeer peer;
  connect(world, peer);
  if ((how & 1) != 0) peer.set_taking(false);
  send(peer, input.substr(1), (how & 2) != 0 ? size_t{1} + (how >> 4) : SIZE_MAX / 2);
  world.loop.run_once();
  if ((how & 4) != 0 && peer.stream != nullptr) {
    peer.end();
    world.loop.run_once();
  }
  if (peer.stream != nullptr) peer.fail(ECONNRESET);
  world.loop.run_once();
  check_next_client(world, input);
}

}  // namespace

void run(std::string_view input) { check(input); }

}  // namespace stdgate::test::server_fuzz

// Fuzz target: whatever a client sends to a TLS port, the stream stays consistent. It reports at
// most one end or error, delivers only sealed bytes, and keeps no finished handshake.
//
// The first byte of the input chooses the place of the following bytes: the beginning of a
// connection, behind a hello, an open connection, or a part of a sealed record. The second byte
// chooses how they are cut.

#include <cerrno>
#include <string>

#include "tests/fuzz/fuzz_target.h"
#include "tests/support/memory_stream.h"
#include "tests/support/test_certificates.h"
#include "tests/support/test_folder.h"
#include "tests/support/tls_client.h"
#include "transports/tls/tls_stream.h"

namespace stdgate::test::tls_fuzz {
namespace {

enum class Start : uint8_t { first_bytes, after_hello, open, within_record };
constexpr uint8_t kStarts = 4;

struct Owner final : net::StreamEvents {
  void on_bytes(std::span<char> chunk) override { bytes.append(chunk.data(), chunk.size()); }
  void on_end() override { ++ends; }
  void on_error(int /*error*/) override { ++ends; }
  std::string bytes;
  int ends = 0;
};

struct World final : tls::TlsEvents {
  World() {
    const Credential credential = TestAuthority().issue();
    config::TlsConfig config;
    config.certificate = {folder.write("a.crt", credential.certificate)};
    config.key = {folder.write("a.key", credential.key)};
    context = *tls::TlsContext::load(config);
  }
  void on_handshake_failed(HandshakeFailure, std::string_view, const ClientAddress&) override {}

  net::Loop loop;
  TestFolder folder;
  tls::Handshakes handshakes{1};
  std::shared_ptr<const tls::TlsContext> context;
  std::string plain = std::string(64 << 10, '\0');
};

void send(MemoryPeer& peer, std::string_view bytes, size_t piece) {
  for (size_t at = 0; at < bytes.size(); at += piece) peer.send(bytes.substr(at, piece));
}

void shake(World& world, MemoryPeer& peer, TlsClient& client) {
  for (int i = 0; i < 3; ++i) {
    peer.send(client.take_sealed());
    world.loop.run_once();
    client.receive(std::exchange(peer.received, {}));
  }
}

void run(World& world, std::string_view input) {
  const auto start = static_cast<Start>(static_cast<uint8_t>(input[0]) % kStarts);
  const size_t piece = 1 + static_cast<uint8_t>(input[1]);
  const std::string_view bytes = input.substr(2);
  MemoryPeer peer;
  Owner owner;
  TlsClient client;
  const tls::TlsStreamServices services{world.loop,
                                        world.handshakes,
                                        std::chrono::seconds(60),
                                        {world.plain.data(), world.plain.size()}};
  auto stream = std::make_unique<tls::TlsStream>(
      services, world.context, world, std::make_unique<MemoryStream>(peer), ClientAddress());
  stream->set_events(owner);
  stream->resume_read(net::Stream::kNotStarted);
  if (start == Start::after_hello) peer.send(client.take_sealed());
  if (start >= Start::open) shake(world, peer, client);
  if (start == Start::within_record) {
    client.write("sealed");
    std::string sealed = client.take_sealed();
    for (size_t i = 0; i < bytes.size() && i < sealed.size(); ++i) {
      sealed[i] = static_cast<char>(sealed[i] ^ bytes[i]);
    }
    send(peer, sealed, piece);
  } else {
    send(peer, bytes, piece);
  }
  stream->write("answer");
  stream->shutdown_write();
  for (int i = 0; i < 3; ++i) world.loop.run_once();
  const bool is_genuine = owner.bytes.empty() || owner.bytes == "sealed";
  require(is_genuine, "only what was sealed comes through", input);
  peer.end();
  require(owner.ends == 1, "one end", input);
  require(world.handshakes.under_way() == 0, "no handshake is left", input);
  stream->close();
}

}  // namespace

void run(std::string_view input) {
  static World world;
  if (input.size() >= 2) run(world, input);
}

}  // namespace stdgate::test::tls_fuzz

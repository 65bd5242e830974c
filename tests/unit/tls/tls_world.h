// TlsWorld: a TlsStream over a MemoryStream, its owner, and a client. The test carries the client's
// bytes.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/support/loop_runner.h"
#include "tests/support/memory_stream.h"
#include "tests/support/test_certificates.h"
#include "tests/support/test_folder.h"
#include "tests/support/tls_client.h"
#include "transports/tls/tls_stream.h"

namespace stdgate::test {

struct PlainOwner final : net::StreamEvents {
  void on_bytes(std::span<char> chunk) override {
    bytes.append(chunk.data(), chunk.size());
    ++reads;
    if (bytes_hook) bytes_hook();
  }
  void on_end() override { ++ends; }
  void on_error(int code) override {
    error = code;
    ++errors;
  }
  void on_writable() override { ++writable; }
  void on_flushed() override { ++flushed; }

  std::string bytes;
  int reads = 0, ends = 0, errors = 0, error = 0, writable = 0, flushed = 0;
  std::function<void()> bytes_hook;
};

struct RecordingTlsEvents final : tls::TlsEvents {
  void on_handshake_failed(HandshakeFailure reason, std::string_view detail,
                           const ClientAddress& /*client*/) override {
    failures.emplace_back(handshake_failure_name(reason));
    details.emplace_back(detail);
  }
  std::vector<std::string> failures;
  std::vector<std::string> details;
};

// The parts that all streams of a test share.
class TlsWorld {
 public:
  explicit TlsWorld(size_t max_handshakes = 16) : handshakes(max_handshakes) {
    use(authority.issue());
  }

  void use(const Credential& credential) {
    config.certificate = {folder.write("server.crt", credential.certificate)};
    config.key = {folder.write("server.key", credential.key)};
    load();
  }
  void load() {
    auto loaded = tls::TlsContext::load(config);
    ASSERT_TRUE(loaded) << loaded.error().message;
    context = *loaded;
  }
  tls::TlsStreamServices services() {
    return {loop, handshakes, handshake_timeout, {plain_buffer.data(), plain_buffer.size()}};
  }
  TlsClientOptions client_options() const { return {.authority = authority.certificate()}; }

  net::Loop loop;
  TestFolder folder;
  TestAuthority authority;
  config::TlsConfig config;
  std::shared_ptr<const tls::TlsContext> context;
  tls::Handshakes handshakes;
  Duration handshake_timeout = std::chrono::seconds(60);
  std::string plain_buffer = std::string(64 << 10, '\0');
  RecordingTlsEvents events;
};

// One connection. `piece`: how many bytes are carried to the server at a time; 0: all bytes.
class TlsConnection {
 public:
  TlsConnection(TlsWorld& world, const TlsClientOptions& options, size_t piece = 0)
      : world_(world), client(options), piece_(piece) {
    stream =
        std::make_unique<tls::TlsStream>(world.services(), world.context, world.events,
                                         std::make_unique<MemoryStream>(peer), ClientAddress());
    stream->set_events(owner);
    stream->resume_read(net::Stream::kNotStarted);
  }
  explicit TlsConnection(TlsWorld& world) : TlsConnection(world, world.client_options()) {}
  ~TlsConnection() {
    stream->close();
    stream.reset();
  }

  // Carries bytes in both directions until none are left.
  void carry() {
    for (bool moved = true; moved;) {
      moved = send(client.take_sealed());
      turn();
      moved = give_client() || moved;
    }
  }
  void turn() {
    for (int i = 0; i < 3; ++i) world_.loop.run_once();
  }
  bool send(const std::string& sealed) {
    std::string_view left = sealed;
    while (!left.empty() && peer.stream != nullptr) {
      const std::string_view part = left.substr(0, piece_ == 0 ? left.size() : piece_);
      peer.send(part);
      left.remove_prefix(part.size());
      if (piece_ != 0) world_.loop.run_once();
    }
    return !sealed.empty();
  }
  bool give_client() {
    const std::string sealed = std::exchange(peer.received, {});
    if (!sealed.empty()) client.receive(sealed);
    return !sealed.empty();
  }
  void ask(std::string_view plain) {
    if (!client.is_open()) carry();
    client.write(plain);
    carry();
  }

 private:
  TlsWorld& world_;

 public:
  MemoryPeer peer;
  PlainOwner owner;
  TlsClient client;
  std::unique_ptr<tls::TlsStream> stream;

 private:
  const size_t piece_;
};

// Bytes that differ at every place.
inline std::string tls_pattern(size_t size) {
  std::string out(size, '\0');
  uint32_t state = 12345;
  for (char& byte : out) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<char>(state >> 24);
  }
  return out;
}

}  // namespace stdgate::test

// TlsTunnel: a plain port whose connections are carried to a TLS port, each in a TLS connection of
// its own, so that every plain client can be used over TLS.
//
// Back-pressure goes through in both directions: neither side is read while the other does not
// take. A connection whose handshake fails is closed. Threads of its own; ended by the destructor.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/tls_client.h"

namespace stdgate::harness {

class TlsTunnel {
 public:
  // `url`: "https://127.0.0.1:8443".
  TlsTunnel(const std::string& url, test::TlsClientOptions options);
  ~TlsTunnel();
  TlsTunnel(const TlsTunnel&) = delete;
  TlsTunnel& operator=(const TlsTunnel&) = delete;

  // "http://127.0.0.1:40123".
  [[nodiscard]] std::string url() const;

 private:
  void accept_all();
  void carry(int plain);

  const test::TlsClientOptions options_;
  const uint16_t target_;
  int listener_ = -1;
  uint16_t port_ = 0;
  std::atomic<bool> ends_ = false;
  std::mutex mutex_;
  std::vector<int> open_;              // guarded by mutex_
  std::vector<std::thread> carriers_;  // those of accept_all()'s thread
  std::thread acceptor_;
};

// A connection to `url`: its handshake, and whose certificate it has been shown.
struct TlsGlance {
  bool is_open = false;
  std::string peer_name;
  std::string version;
  std::string error;
};
TlsGlance look_at(const std::string& url, const test::TlsClientOptions& options);

}  // namespace stdgate::harness

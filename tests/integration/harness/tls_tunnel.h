// TlsTunnel: a plain port whose connections are forwarded to a TLS port, so that plain clients can
// be used over TLS. Each connection has its own TLS connection.
//
// Back-pressure works in both directions: a side is not read while the other side takes nothing. A
// connection whose handshake fails is closed. The destructor ends the tunnel's threads.
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
  // `url` is like "https://127.0.0.1:8443".
  TlsTunnel(const std::string& url, test::TlsClientOptions options);
  ~TlsTunnel();
  TlsTunnel(const TlsTunnel&) = delete;
  TlsTunnel& operator=(const TlsTunnel&) = delete;

  // Like "http://127.0.0.1:40123".
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
  std::vector<std::thread> carriers_;  // used by the thread of accept_all() only
  std::thread acceptor_;
};

// A client's view of a TLS server: the handshake with the server at `url`, and the name in its
// certificate.
struct TlsGlance {
  bool is_open = false;
  std::string peer_name;
  std::string version;
  std::string error;
};
TlsGlance look_at(const std::string& url, const test::TlsClientOptions& options);

}  // namespace stdgate::harness

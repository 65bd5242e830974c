// TlsClient: the client's end of a TLS connection in memory, with libssl. The test carries the
// bytes.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "tests/support/test_certificates.h"

struct ssl_st;
struct ssl_session_st;

namespace stdgate::test {

struct TlsClientOptions {
  std::string authority;                              // in PEM; empty: the server is not verified
  std::string server_name = "localhost";              // sent as SNI, and verified
  Credential credential = {};                         // empty: no client certificate
  int max_version = 0;                                // TLS1_2_VERSION; 0: any
  std::string protocols = {};                         // for ALPN, in wire format
  std::shared_ptr<ssl_session_st> session = nullptr;  // to be resumed
};

class TlsClient {
 public:
  explicit TlsClient(const TlsClientOptions& options = {});
  ~TlsClient();
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  // Takes bytes of the server. False if the connection has failed; error() says why.
  bool receive(std::string_view sealed);
  // Returns the bytes that are to be sent to the server.
  std::string take_sealed();
  void write(std::string_view plain);
  void shutdown_write();

  [[nodiscard]] bool is_open() const;                      // the handshake is done
  [[nodiscard]] bool has_ended() const { return ended_; }  // by the server's close_notify
  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] bool was_resumed() const;
  [[nodiscard]] std::string version() const;
  [[nodiscard]] std::string protocol() const;   // chosen by ALPN
  [[nodiscard]] std::string peer_name() const;  // CN of the server's certificate
  [[nodiscard]] std::shared_ptr<ssl_session_st> session() const;
  [[nodiscard]] ssl_st* ssl() { return ssl_; }

  std::string plain;  // received from the server

 private:
  bool advance();

  ssl_st* ssl_ = nullptr;
  bool ended_ = false;
  std::string error_;
};

}  // namespace stdgate::test

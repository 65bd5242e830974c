// TlsContext: what the handshakes of a listener need, read from the files of its configuration: the
// certificates with their keys, and the rules for certificates of clients.
//
// TLS 1.2 and 1.3 with forward secrecy, ALPN http/1.1, session tickets and no renegotiation. The
// keys of the tickets belong to one context: a session of an earlier one is not resumed, so new
// authorities and revocations hold for all. Owner: shared by the listener and the streams that it
// has made; never changed. Limits: kMaxFile bytes a file, kMaxCertificates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/config/config.h"

struct ssl_st;  // OpenSSL's SSL

namespace stdgate::tls {

struct SslDeleter {
  void operator()(ssl_st* ssl) const;
};
using SslPtr = std::unique_ptr<ssl_st, SslDeleter>;

// Why a configuration cannot be used.
struct TlsError {
  std::string key;      // of the configuration: "certificate"
  std::string message;  // names the file, and says what to do
};

// Facts of a certificate, for people.
struct CertificateFacts {
  std::string file;
  int64_t not_before = 0;  // seconds since the epoch
  int64_t not_after = 0;
};

class TlsContext {
 public:
  static constexpr size_t kMaxFile = size_t{1} << 20;

  static tl::expected<std::shared_ptr<const TlsContext>, TlsError> load(
      const config::TlsConfig& config);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  // The server's end of a new connection; null: no memory. The context outlives it.
  [[nodiscard]] SslPtr make_ssl() const;
  // In the order of the configuration.
  [[nodiscard]] const std::vector<CertificateFacts>& certificates() const { return facts_; }
  // Faults at `now` (seconds since the epoch) that do not keep the files from being used.
  [[nodiscard]] std::vector<std::string> warnings(int64_t now) const;
  // The place of the certificate for a name of SNI; the first place if none has it.
  [[nodiscard]] size_t place_for(std::string_view server_name) const;

 private:
  struct Parts;  // what OpenSSL owns
  TlsContext();

  std::unique_ptr<Parts> parts_;
  std::vector<CertificateFacts> facts_;
  std::string crl_file_;
  int64_t crl_next_update_ = 0;  // the earliest; 0: none
};

}  // namespace stdgate::tls

// The outcome of a TLS handshake: the certificate that the client has shown, or why it failed.
#pragma once

#include <optional>
#include <string>

#include "gateway/observer.h"
#include "transports/net/peer_certificate.h"

struct ssl_st;  // OpenSSL's SSL
struct ssl_st;

namespace stdgate::tls {

// HandshakeError: why a handshake has failed, as OpenSSL says it. The only place that knows its
// codes of reasons.
struct HandshakeError {
  HandshakeFailure reason = HandshakeFailure::other;
  std::string detail;  // OpenSSL's words
};

// The error of the call on `ssl` that has just failed. Empties this thread's queue of errors.
HandshakeError take_handshake_error(const ssl_st& ssl);

// The certificate that a TLS client has shown.

// After the handshake. Nothing: none, or one that has not been verified.
std::optional<net::PeerCertificate> client_certificate_of(const ssl_st& ssl);

}  // namespace stdgate::tls

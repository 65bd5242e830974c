// The certificate that a TLS client has shown.
#pragma once

#include <optional>

#include "transports/net/peer_certificate.h"

struct ssl_st;

namespace stdgate::tls {

// After the handshake. Nothing: none, or one that has not been verified.
std::optional<net::PeerCertificate> client_certificate_of(const ssl_st& ssl);

}  // namespace stdgate::tls

// HandshakeError: why a handshake has failed, as OpenSSL says it. The only place that knows its
// codes of reasons.
#pragma once

#include <string>

#include "gateway/observer.h"

struct ssl_st;  // OpenSSL's SSL

namespace stdgate::tls {

struct HandshakeError {
  HandshakeFailure reason = HandshakeFailure::other;
  std::string detail;  // OpenSSL's words
};

// Of the call on `ssl` that has just failed. Empties this thread's queue of errors.
HandshakeError take_handshake_error(const ssl_st& ssl);

}  // namespace stdgate::tls

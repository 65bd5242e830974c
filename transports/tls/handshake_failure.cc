#include "transports/tls/handshake_failure.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

namespace stdgate::tls {

namespace {

HandshakeFailure failure_of(int reason) {
  // What the client has sent as an alert.
  if (reason > SSL_AD_REASON_OFFSET) return HandshakeFailure::refused_by_client;
  switch (reason) {
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_VERSION_TOO_LOW:
    case SSL_R_UNKNOWN_PROTOCOL:
      return HandshakeFailure::version;
    case SSL_R_NO_SHARED_CIPHER:
    case SSL_R_NO_SUITABLE_KEY_SHARE:
    case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
    case SSL_R_NO_SUITABLE_GROUPS:
      return HandshakeFailure::no_shared_cipher;
    case SSL_R_NO_APPLICATION_PROTOCOL:
      return HandshakeFailure::no_shared_protocol;
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return HandshakeFailure::no_client_certificate;
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
      return HandshakeFailure::bad_client_certificate;
    default:
      return HandshakeFailure::malformed;
  }
}

}  // namespace

HandshakeError take_handshake_error(const ssl_st& ssl) {
  const unsigned long error = ERR_peek_last_error();  // the one of the outermost call
  ERR_clear_error();
  HandshakeError out;
  if (error == 0) return out;
  const char* words = ERR_reason_error_string(error);
  out.detail = words == nullptr ? "" : words;
  if (ERR_GET_LIB(error) != ERR_LIB_SSL) {
    out.reason = HandshakeFailure::malformed;
    return out;
  }
  out.reason = failure_of(ERR_GET_REASON(error));
  if (out.reason == HandshakeFailure::bad_client_certificate) {
    out.detail = X509_verify_cert_error_string(SSL_get_verify_result(&ssl));
  }
  return out;
}

}  // namespace stdgate::tls

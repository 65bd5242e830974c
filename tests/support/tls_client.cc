#include "tests/support/tls_client.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <stdexcept>

namespace stdgate::test {
namespace {

struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using BioPtr = std::unique_ptr<BIO, FreeBio>;

BioPtr bio_of(const std::string& text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

void trust(SSL_CTX* context, const std::string& authority) {
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  X509* certificate = PEM_read_bio_X509(bio_of(authority).get(), nullptr, nullptr, nullptr);
  X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate);
  X509_free(certificate);
}

void show(SSL_CTX* context, const Credential& credential) {
  const BioPtr chain = bio_of(credential.certificate);
  X509* certificate = PEM_read_bio_X509(chain.get(), nullptr, nullptr, nullptr);
  EVP_PKEY* key = PEM_read_bio_PrivateKey(bio_of(credential.key).get(), nullptr, nullptr, nullptr);
  SSL_CTX_use_certificate(context, certificate);
  SSL_CTX_use_PrivateKey(context, key);
  while (X509* next = PEM_read_bio_X509(chain.get(), nullptr, nullptr, nullptr)) {
    SSL_CTX_add_extra_chain_cert(context, next);
  }
  X509_free(certificate);
  EVP_PKEY_free(key);
}

}  // namespace

TlsClient::TlsClient(const TlsClientOptions& options) {
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  if (options.max_version != 0) {
    SSL_CTX_set_min_proto_version(context, 0);
    SSL_CTX_set_max_proto_version(context, options.max_version);
    SSL_CTX_set_cipher_list(context, "DEFAULT:@SECLEVEL=0");
  }
  if (!options.authority.empty()) trust(context, options.authority);
  if (!options.credential.key.empty()) show(context, options.credential);
  if (!options.protocols.empty()) {
    SSL_CTX_set_alpn_protos(context,
                            reinterpret_cast<const unsigned char*>(options.protocols.data()),
                            static_cast<unsigned>(options.protocols.size()));
  }
  ssl_ = SSL_new(context);
  SSL_CTX_free(context);
  if (!options.server_name.empty()) {
    SSL_set_tlsext_host_name(ssl_, options.server_name.c_str());
    if (!options.authority.empty()) SSL_set1_host(ssl_, options.server_name.c_str());
  }
  if (options.session != nullptr) SSL_set_session(ssl_, options.session.get());
  SSL_set_bio(ssl_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  SSL_set_connect_state(ssl_);
  advance();
}

TlsClient::~TlsClient() { SSL_free(ssl_); }

bool TlsClient::receive(std::string_view sealed) {
  BIO_write(SSL_get_rbio(ssl_), sealed.data(), static_cast<int>(sealed.size()));
  return advance();
}

bool TlsClient::advance() {
  if (!error_.empty()) return false;
  ERR_clear_error();
  int result = SSL_do_handshake(ssl_);
  std::array<char, 65536> piece;
  while (result == 1 || (result > 0 && SSL_is_init_finished(ssl_) == 1)) {
    size_t count = 0;
    result = SSL_read_ex(ssl_, piece.data(), piece.size(), &count);
    if (result == 1) plain.append(piece.data(), count);
  }
  switch (SSL_get_error(ssl_, result)) {
    case SSL_ERROR_WANT_READ:
      return true;
    case SSL_ERROR_ZERO_RETURN:
      ended_ = true;
      return true;
    default:
      const char* reason = ERR_reason_error_string(ERR_peek_last_error());
      error_ = reason == nullptr ? "failed" : reason;
      ERR_clear_error();
      return false;
  }
}

std::string TlsClient::take_sealed() {
  BIO* bio = SSL_get_wbio(ssl_);
  std::string sealed(BIO_ctrl_pending(bio), '\0');
  if (!sealed.empty()) BIO_read(bio, sealed.data(), static_cast<int>(sealed.size()));
  return sealed;
}

void TlsClient::write(std::string_view bytes) {
  size_t count = 0;
  if (!bytes.empty() && SSL_write_ex(ssl_, bytes.data(), bytes.size(), &count) != 1) {
    throw std::runtime_error("SSL_write");
  }
}

void TlsClient::shutdown_write() { SSL_shutdown(ssl_); }

bool TlsClient::is_open() const { return SSL_is_init_finished(ssl_) == 1; }

bool TlsClient::was_resumed() const { return SSL_session_reused(ssl_) == 1; }

std::string TlsClient::version() const { return SSL_get_version(ssl_); }

std::string TlsClient::protocol() const {
  const unsigned char* chosen = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl_, &chosen, &size);
  return {reinterpret_cast<const char*>(chosen), size};
}

std::string TlsClient::peer_name() const {
  X509* certificate = SSL_get1_peer_certificate(ssl_);
  if (certificate == nullptr) return {};
  std::array<char, 256> name{};
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name.data(),
                            name.size());
  X509_free(certificate);
  return name.data();
}

std::shared_ptr<ssl_session_st> TlsClient::session() const {
  return {SSL_get1_session(ssl_), SSL_SESSION_free};
}

}  // namespace stdgate::test

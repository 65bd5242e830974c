#include "transports/tls/tls_context.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>

#include "gateway/config/config_files.h"

namespace stdgate::tls {

namespace {

template <auto Free>
struct Freer {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using BioPtr = std::unique_ptr<BIO, Freer<BIO_free>>;
using CertificatePtr = std::unique_ptr<X509, Freer<X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;
using CrlPtr = std::unique_ptr<X509_CRL, Freer<X509_CRL_free>>;
using ContextPtr = std::unique_ptr<SSL_CTX, Freer<SSL_CTX_free>>;
struct ChainDeleter {
  void operator()(STACK_OF(X509) * chain) const { sk_X509_pop_free(chain, X509_free); }
};
using ChainPtr = std::unique_ptr<STACK_OF(X509), ChainDeleter>;

// With forward secrecy and authenticated encryption; TLS 1.3 has no others.
constexpr const char* kCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20";
// Of ALPN, as on the wire; the best first.
constexpr std::array<std::string_view, 2> kProtocols = {"\x08http/1.1", "\x08http/1.0"};
constexpr std::string_view kSessionContext = "stdgate";
constexpr long kSessionSeconds = 3600;
constexpr int kMaxChain = 10;  // certificates of a client

struct Certificate {
  CertificatePtr leaf;
  ChainPtr chain;
  KeyPtr key;
};

tl::unexpected<TlsError> error_at(std::string_view key, std::string message) {
  return tl::unexpected(TlsError{std::string(key), std::move(message)});
}

// OpenSSL's last word on what went wrong; empty: none.
std::string last_reason() {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  return reason == nullptr ? std::string() : reason;
}

BioPtr bio_of(const std::string& text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

int64_t seconds_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) return 0;
  return static_cast<int64_t>(::timegm(&parts));
}

std::string date_of(int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  std::string text(32, '\0');
  text.resize(std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts));
  return text;
}

tl::expected<std::string, TlsError> read(std::string_view key, const std::string& file) {
  // A pipe would have to be waited for, and the loop stands still meanwhile.
  std::error_code unknown;
  const auto kind = std::filesystem::status(file, unknown).type();
  if (kind == std::filesystem::file_type::fifo || kind == std::filesystem::file_type::socket) {
    return error_at(key, file + " is a pipe or a socket; a file is needed");
  }
  auto text = config::read_text_file(file, TlsContext::kMaxFile);
  if (!text) return error_at(key, std::move(text.error()));
  return *std::move(text);
}

// The certificates of `file`, at least one.
tl::expected<std::vector<CertificatePtr>, TlsError> read_certificates(std::string_view key,
                                                                      const std::string& file) {
  const auto text = read(key, file);
  if (!text) return tl::unexpected(text.error());
  ERR_clear_error();
  const BioPtr bio = bio_of(*text);
  std::vector<CertificatePtr> certificates;
  while (CertificatePtr certificate{PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)}) {
    certificates.push_back(std::move(certificate));
  }
  const unsigned long error = ERR_peek_last_error();
  const bool at_end =
      ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
  if (at_end && !certificates.empty()) return certificates;
  if (at_end) {
    return error_at(key, file + " holds no certificate in PEM (-----BEGIN CERTIFICATE-----)");
  }
  return error_at(key, file + " holds a broken certificate: " + last_reason());
}

tl::expected<KeyPtr, TlsError> read_key(const std::string& file) {
  auto text = read("key", file);
  if (!text) return tl::unexpected(text.error());
  ERR_clear_error();
  bool is_encrypted = false;
  const auto ask = [](char*, int, int, void* asked) {
    *static_cast<bool*>(asked) = true;
    return -1;
  };
  KeyPtr key(PEM_read_bio_PrivateKey(bio_of(*text).get(), nullptr, ask, &is_encrypted));
  OPENSSL_cleanse(text->data(), text->size());
  if (key != nullptr) return key;
  if (is_encrypted) {
    return error_at("key", file +
                               " is encrypted; stdgate has nobody to ask for its passphrase: "
                               "store it decrypted, readable by stdgate's user only");
  }
  return error_at("key", file + " holds no private key in PEM (-----BEGIN PRIVATE KEY-----)");
}

tl::expected<Certificate, TlsError> read_certificate(const std::string& file,
                                                     const std::string& key_file) {
  auto certificates = read_certificates("certificate", file);
  if (!certificates) return tl::unexpected(std::move(certificates.error()));
  auto key = read_key(key_file);
  if (!key) return tl::unexpected(std::move(key.error()));
  Certificate out;
  out.leaf = std::move(certificates->front());
  out.key = *std::move(key);
  out.chain.reset(sk_X509_new_null());
  for (size_t i = 1; i < certificates->size(); ++i) {
    sk_X509_push(out.chain.get(), (*certificates)[i].release());
  }
  if (X509_check_private_key(out.leaf.get(), out.key.get()) != 1) {
    return error_at("key", key_file + " is not the key of the certificate in " + file +
                               "; the server's own certificate must stand first there");
  }
  return out;
}

int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* chosen_size,
                    const unsigned char* offered, unsigned offered_size, void*) {
  const std::string_view list(reinterpret_cast<const char*>(offered), offered_size);
  for (const std::string_view protocol : kProtocols) {
    for (size_t at = 0; at < list.size(); at += 1 + static_cast<uint8_t>(list[at])) {
      if (!list.substr(at).starts_with(protocol)) continue;
      *chosen = offered + at + 1;
      *chosen_size = offered[at];
      return SSL_TLSEXT_ERR_OK;
    }
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

}  // namespace

void SslDeleter::operator()(ssl_st* ssl) const { SSL_free(ssl); }

struct TlsContext::Parts {
  ContextPtr context;
  std::vector<Certificate> certificates;
};

namespace {

tl::expected<ContextPtr, TlsError> make_context() {
  ContextPtr context(SSL_CTX_new(TLS_server_method()));
  SSL_CTX* raw = context.get();
  if (raw == nullptr || SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION) != 1 ||
      SSL_CTX_set_cipher_list(raw, kCiphers) != 1) {
    return error_at("", "OpenSSL cannot be used: " + last_reason());
  }
  SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                               SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS);
  // Sessions are the clients' to keep: as tickets.
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_timeout(raw, kSessionSeconds);
  SSL_CTX_set_session_id_context(raw,
                                 reinterpret_cast<const unsigned char*>(kSessionContext.data()),
                                 static_cast<unsigned>(kSessionContext.size()));
  SSL_CTX_set_alpn_select_cb(raw, choose_protocol, nullptr);
  return context;
}

tl::expected<void, TlsError> trust_authorities(SSL_CTX& context, const config::TlsConfig& config) {
  if (config.client_certificate == config::ClientCertificate::none) return {};
  const auto authorities = read_certificates("client_ca", config.client_ca);
  if (!authorities) return tl::unexpected(authorities.error());
  X509_STORE* store = SSL_CTX_get_cert_store(&context);
  for (const CertificatePtr& authority : *authorities) {
    X509_STORE_add_cert(store, authority.get());
    SSL_CTX_add_client_CA(&context, authority.get());
  }
  // A session would be resumed after its certificate has expired or was revoked.
  SSL_CTX_set_options(&context, SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(&context, 0);
  const bool is_required = config.client_certificate == config::ClientCertificate::require;
  SSL_CTX_set_verify(
      &context, SSL_VERIFY_PEER | (is_required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), nullptr);
  SSL_CTX_set_verify_depth(&context, kMaxChain);
  return {};
}

// Gives when the first of the lists has to be replaced; 0: none says so.
tl::expected<int64_t, TlsError> take_revocations(SSL_CTX& context, const std::string& file) {
  const auto text = read("crl", file);
  if (!text) return tl::unexpected(text.error());
  ERR_clear_error();
  const BioPtr bio = bio_of(*text);
  X509_STORE* store = SSL_CTX_get_cert_store(&context);
  size_t count = 0;
  int64_t next_update = 0;
  while (const CrlPtr crl{PEM_read_bio_X509_CRL(bio.get(), nullptr, nullptr, nullptr)}) {
    X509_STORE_add_crl(store, crl.get());
    const int64_t next = seconds_of(X509_CRL_get0_nextUpdate(crl.get()));
    if (next != 0) next_update = next_update == 0 ? next : std::min(next_update, next);
    ++count;
  }
  const unsigned long error = ERR_peek_last_error();
  if (count == 0 || ERR_GET_REASON(error) != PEM_R_NO_START_LINE) {
    return error_at("crl", file + " holds no revocation list in PEM (-----BEGIN X509 CRL-----)");
  }
  X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
  return next_update;
}

}  // namespace

TlsContext::TlsContext() : parts_(std::make_unique<Parts>()) {}
TlsContext::~TlsContext() = default;

tl::expected<std::shared_ptr<const TlsContext>, TlsError> TlsContext::load(
    const config::TlsConfig& config) {
  auto context = make_context();
  if (!context) return tl::unexpected(std::move(context.error()));
  std::shared_ptr<TlsContext> out(new TlsContext);
  Parts& parts = *out->parts_;
  parts.context = *std::move(context);
  SSL_CTX& ssl_context = *parts.context;
  for (size_t i = 0; i < config.certificate.size() && i < config.key.size(); ++i) {
    const std::string& file = config.certificate[i];
    auto certificate = read_certificate(file, config.key[i]);
    if (!certificate) return tl::unexpected(std::move(certificate.error()));
    ERR_clear_error();
    if (SSL_CTX_use_cert_and_key(&ssl_context, certificate->leaf.get(), certificate->key.get(),
                                 certificate->chain.get(), 1) != 1) {
      return error_at("certificate", file + " cannot be used: " + last_reason());
    }
    out->facts_.push_back({file, seconds_of(X509_get0_notBefore(certificate->leaf.get())),
                           seconds_of(X509_get0_notAfter(certificate->leaf.get()))});
    parts.certificates.push_back(*std::move(certificate));
  }
  if (auto trusted = trust_authorities(ssl_context, config); !trusted) {
    return tl::unexpected(std::move(trusted.error()));
  }
  if (!config.crl.empty()) {
    const auto next_update = take_revocations(ssl_context, config.crl);
    if (!next_update) return tl::unexpected(next_update.error());
    out->crl_file_ = config.crl;
    out->crl_next_update_ = *next_update;
  }
  if (parts.certificates.size() > 1) {
    SSL_CTX_set_cert_cb(
        &ssl_context,
        [](SSL* ssl, void* self) {
          const auto& of = *static_cast<const TlsContext*>(self);
          const char* name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
          const size_t place = of.place_for(name == nullptr ? "" : name);
          const Certificate& chosen = of.parts_->certificates[place];
          return SSL_use_cert_and_key(ssl, chosen.leaf.get(), chosen.key.get(), chosen.chain.get(),
                                      1);
        },
        out.get());
  }
  return out;
}

SslPtr TlsContext::make_ssl() const { return SslPtr(SSL_new(parts_->context.get())); }

size_t TlsContext::place_for(std::string_view server_name) const {
  if (server_name.empty()) return 0;
  const auto& certificates = parts_->certificates;
  const auto found = std::ranges::find_if(certificates, [&](const Certificate& certificate) {
    return X509_check_host(certificate.leaf.get(), server_name.data(), server_name.size(), 0,
                           nullptr) == 1;
  });
  return found == certificates.end() ? 0 : static_cast<size_t>(found - certificates.begin());
}

std::vector<std::string> TlsContext::warnings(int64_t now) const {
  std::vector<std::string> lines;
  for (const CertificateFacts& facts : facts_) {
    if (facts.not_after < now) {
      lines.push_back(facts.file + " expired at " + date_of(facts.not_after) +
                      "; clients will refuse it");
    } else if (facts.not_before > now) {
      lines.push_back(facts.file + " is not valid before " + date_of(facts.not_before));
    }
  }
  if (crl_next_update_ != 0 && crl_next_update_ < now) {
    lines.push_back(crl_file_ + " had to be replaced by " + date_of(crl_next_update_) +
                    "; certificates of its authority will be refused");
  }
  return lines;
}

}  // namespace stdgate::tls

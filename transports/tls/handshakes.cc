#include "transports/tls/handshakes.h"

#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>

#include "gateway/base/check.h"
#include "gateway/base/time.h"

namespace stdgate::tls {
namespace {

HandshakeFailure failure_of(int reason) {
  // The alert that the client has sent.
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

ClientAddress Handshakes::counted(const ClientAddress& client) {
  return client.kind == ClientAddress::Kind::ip ? client.key() : ClientAddress();
}

bool Handshakes::is_unlimited(const ClientAddress& client) const {
  return client.kind != ClientAddress::Kind::ip ||
         std::ranges::any_of(unlimited_,
                             [&](const AddressBlock& block) { return block.contains(client); });
}

bool Handshakes::begin(Waiter& waiter, const ClientAddress& client) {
  const ClientAddress key = counted(client);
  Client& known = clients_[key];
  known.is_unlimited = is_unlimited(client);
  const bool may_begin = under_way_ < limit_ && has_share(known);
  if (may_begin) {
    count(known);
  } else {
    waiter.ticket_ = ++tickets_;
    known.waiting.emplace(waiter.ticket_, &waiter);
    ++waiting_;
  }
  settle(key, known);
  return may_begin;
}

void Handshakes::end(const ClientAddress& client) {
  const ClientAddress key = counted(client);
  const auto ended = clients_.find(key);
  STDGATE_CHECK(ended != clients_.end() && ended->second.under_way > 0);
  --ended->second.under_way;
  --under_way_;
  settle(key, ended->second);
  while (under_way_ < limit_ && !next_.empty()) begin_next();
}

void Handshakes::begin_next() {
  const ClientAddress next_key = next_.begin()->second;
  Client& next = clients_.find(next_key)->second;
  Waiter& waiter = *next.waiting.begin()->second;
  next.waiting.erase(next.waiting.begin());
  --waiting_;
  count(next);
  settle(next_key, next);
  waiter.on_handshake_turn();
}

void Handshakes::leave(const Waiter& waiter, const ClientAddress& client) {
  const ClientAddress key = counted(client);
  const auto known = clients_.find(key);
  STDGATE_CHECK(known != clients_.end());
  const size_t left = known->second.waiting.erase(waiter.ticket_);
  STDGATE_CHECK(left == 1);
  --waiting_;
  settle(key, known->second);
}

void Handshakes::settle(const ClientAddress& key, Client& client) {
  const bool may_go_on = has_share(client) && !client.waiting.empty();
  const uint64_t next = may_go_on ? client.waiting.begin()->first : 0;
  if (next != client.next) {
    next_.erase(client.next);
    if (next != 0) next_.emplace(next, key);
    client.next = next;
  }
  if (client.under_way == 0 && client.waiting.empty()) clients_.erase(key);
}

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

namespace {

struct Free {
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
  void operator()(BIO* bio) const { BIO_free(bio); }
};

// Empty for what has bytes that no name has, a NUL above all.
std::string text_of(const ASN1_STRING* string) {
  const auto* const data = reinterpret_cast<const char*>(ASN1_STRING_get0_data(string));
  const std::string_view text(data, static_cast<size_t>(ASN1_STRING_length(string)));
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return {};
  }
  return std::string(text);
}

void read_names(const X509& certificate, net::PeerCertificate& out) {
  const std::unique_ptr<GENERAL_NAMES, Free> names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_URI && out.uri.empty()) {
      out.uri = text_of(name->d.uniformResourceIdentifier);
    } else if (name->type == GEN_DNS && out.dns.empty()) {
      out.dns = text_of(name->d.dNSName);
    }
  }
}

void read_subject(const X509& certificate, net::PeerCertificate& out) {
  const X509_NAME* const subject = X509_get_subject_name(&certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  // Among several it is not known which one is meant.
  if (at >= 0 && X509_NAME_get_index_by_NID(subject, NID_commonName, at) < 0) {
    unsigned char* utf8 = nullptr;
    const ASN1_STRING* const value = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at));
    const int size = ASN1_STRING_to_UTF8(&utf8, value);
    if (size >= 0) {
      const std::string name(reinterpret_cast<const char*>(utf8), static_cast<size_t>(size));
      if (name.find('\0') == std::string::npos) out.common_name = name;
      OPENSSL_free(utf8);
    }
  }
  const std::unique_ptr<BIO, Free> bio(BIO_new(BIO_s_mem()));
  if (bio == nullptr || X509_NAME_print_ex(bio.get(), subject, 0, XN_FLAG_RFC2253) < 0) return;
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  if (size > 0) out.subject.assign(text, static_cast<size_t>(size));
}

}  // namespace

std::optional<net::PeerCertificate> client_certificate_of(const ssl_st& ssl) {
  const std::unique_ptr<X509, Free> certificate(SSL_get1_peer_certificate(&ssl));
  if (certificate == nullptr || SSL_get_verify_result(&ssl) != X509_V_OK) return std::nullopt;
  net::PeerCertificate read;
  read_names(*certificate, read);
  read_subject(*certificate, read);
  std::tm end{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &end) != 1) return std::nullopt;
  read.expires = calendar_time(std::chrono::sys_seconds(std::chrono::seconds(::timegm(&end))));
  return read;
}

}  // namespace stdgate::tls

#include "tests/support/test_certificates.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <ctime>
#include <stdexcept>

namespace stdgate::test {
namespace {

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(X509_CRL* crl) const { X509_CRL_free(crl); }
  void operator()(BIO* bio) const { BIO_free(bio); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

void check(bool good) {
  if (!good) throw std::runtime_error("libcrypto");
}

template <class Write>
std::string pem_of(Write write) {
  const Owned<BIO> bio(BIO_new(BIO_s_mem()));
  check(write(bio.get()) == 1);
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<size_t>(size)};
}

std::string pem_of(X509* certificate) {
  return pem_of([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
}

std::string pem_of(EVP_PKEY* key) {
  return pem_of([&](BIO* bio) {
    return PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  });
}

void add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  check(extension != nullptr);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

uint64_t next_serial() {
  static uint64_t last = static_cast<uint64_t>(std::time(nullptr)) << 16;
  return ++last;
}

Owned<X509> make_certificate(const CertificateWish& wish, EVP_PKEY* key, bool is_authority) {
  Owned<X509> certificate(X509_new());
  X509* raw = certificate.get();
  X509_set_version(raw, 2);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(raw), next_serial());
  X509_gmtime_adj(X509_getm_notBefore(raw), wish.begins_seconds);
  X509_gmtime_adj(X509_getm_notAfter(raw), wish.ends_seconds);
  X509_set_pubkey(raw, key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(raw), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(wish.name.c_str()), -1, -1, 0);
  if (is_authority) {
    add_extension(raw, raw, NID_basic_constraints, "critical,CA:TRUE");
    add_extension(raw, raw, NID_key_usage, "critical,keyCertSign,cRLSign");
    return certificate;
  }
  std::string names = "IP:127.0.0.1";
  for (const std::string& host : wish.hosts) names += ",DNS:" + host;
  for (const std::string& uri : wish.uris) names += ",URI:" + uri;
  add_extension(raw, raw, NID_subject_alt_name, names);
  add_extension(raw, raw, NID_ext_key_usage, "serverAuth,clientAuth");
  return certificate;
}

}  // namespace

struct TestAuthority::Parts {
  Owned<EVP_PKEY> key{EVP_EC_gen("P-256")};
  Owned<X509> certificate;
  std::string chain;  // the issuers' certificates, for the chain of an issued one

  void sign(X509* other) const {
    X509_set_issuer_name(other, X509_get_subject_name(certificate.get()));
    check(X509_sign(other, key.get(), EVP_sha256()) > 0);
  }
};

TestAuthority::TestAuthority(const std::string& name) : parts_(std::make_unique<Parts>()) {
  parts_->certificate =
      make_certificate({.name = name, .ends_seconds = 864000}, parts_->key.get(), true);
  parts_->sign(parts_->certificate.get());
}

TestAuthority::TestAuthority(const std::string& name, TestAuthority& parent)
    : parts_(std::make_unique<Parts>()) {
  parts_->certificate =
      make_certificate({.name = name, .ends_seconds = 864000}, parts_->key.get(), true);
  parent.parts_->sign(parts_->certificate.get());
  parts_->chain = certificate() + parent.parts_->chain;
}

TestAuthority::~TestAuthority() = default;

Credential TestAuthority::issue(const CertificateWish& wish) {
  const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  const Owned<X509> made = make_certificate(wish, key.get(), false);
  parts_->sign(made.get());
  Credential out{pem_of(made.get()) + parts_->chain, pem_of(key.get())};
  ASN1_INTEGER_get_uint64(&out.serial, X509_get0_serialNumber(made.get()));
  return out;
}

std::string TestAuthority::certificate() const { return pem_of(parts_->certificate.get()); }

uint64_t TestAuthority::serial() const {
  uint64_t serial = 0;
  ASN1_INTEGER_get_uint64(&serial, X509_get0_serialNumber(parts_->certificate.get()));
  return serial;
}

std::string TestAuthority::revocations(const std::vector<uint64_t>& serials,
                                       long ends_seconds) const {
  const Owned<X509_CRL> crl(X509_CRL_new());
  X509_CRL_set_version(crl.get(), 1);
  X509_CRL_set_issuer_name(crl.get(), X509_get_subject_name(parts_->certificate.get()));
  ASN1_TIME* time = X509_gmtime_adj(nullptr, -3600);
  X509_CRL_set1_lastUpdate(crl.get(), time);
  X509_gmtime_adj(time, ends_seconds);
  X509_CRL_set1_nextUpdate(crl.get(), time);
  X509_gmtime_adj(time, -1800);
  for (const uint64_t serial : serials) {
    X509_REVOKED* revoked = X509_REVOKED_new();
    ASN1_INTEGER* number = ASN1_INTEGER_new();
    ASN1_INTEGER_set_uint64(number, serial);
    X509_REVOKED_set_serialNumber(revoked, number);
    X509_REVOKED_set_revocationDate(revoked, time);
    ASN1_INTEGER_free(number);
    X509_CRL_add0_revoked(crl.get(), revoked);
  }
  ASN1_TIME_free(time);
  check(X509_CRL_sign(crl.get(), parts_->key.get(), EVP_sha256()) > 0);
  return pem_of([&](BIO* bio) { return PEM_write_bio_X509_CRL(bio, crl.get()); });
}

}  // namespace stdgate::test

#include "transports/auth/signature.h"

#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include <algorithm>
#include <array>
#include <utility>

namespace stdgate::auth {

enum class KeyKind : unsigned char { rsa, curve, edwards };

struct SignatureAlgorithm {
  std::string_view name;
  KeyKind kind;
  const char* digest;      // null: the algorithm has its own
  bool pss = false;        // RSA
  const char* curve = "";  // as OpenSSL calls it
  size_t half = 0;         // bytes of each of its two numbers
};

namespace {

constexpr int kMinRsaBits = 2048;  // RFC 7518 section 3.3

// RFC 7518 section 3.1, RFC 8037 section 3.1.
constexpr std::array<SignatureAlgorithm, 10> kAlgorithms{{
    {"RS256", KeyKind::rsa, "SHA256"},
    {"RS384", KeyKind::rsa, "SHA384"},
    {"RS512", KeyKind::rsa, "SHA512"},
    {"PS256", KeyKind::rsa, "SHA256", true},
    {"PS384", KeyKind::rsa, "SHA384", true},
    {"PS512", KeyKind::rsa, "SHA512", true},
    {"ES256", KeyKind::curve, "SHA256", false, "prime256v1", 32},
    {"ES384", KeyKind::curve, "SHA384", false, "secp384r1", 48},
    {"ES512", KeyKind::curve, "SHA512", false, "secp521r1", 66},
    {"EdDSA", KeyKind::edwards, nullptr},
}};

struct FreeSignature {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  void operator()(ECDSA_SIG* signature) const { ECDSA_SIG_free(signature); }
};

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// Of the two numbers, one behind the other, what OpenSSL takes: DER; empty: it is no signature.
std::string as_der(std::string_view signature, size_t half) {
  if (signature.size() != 2 * half) return {};
  const std::unique_ptr<ECDSA_SIG, FreeSignature> parts(ECDSA_SIG_new());
  BIGNUM* r = BN_bin2bn(bytes_of(signature), static_cast<int>(half), nullptr);
  BIGNUM* s = BN_bin2bn(bytes_of(signature.substr(half)), static_cast<int>(half), nullptr);
  if (parts == nullptr || ECDSA_SIG_set0(parts.get(), r, s) != 1) {
    BN_free(r);
    BN_free(s);
    return {};
  }
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(parts.get(), &der);
  if (size <= 0) return {};
  std::string text(reinterpret_cast<const char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  return text;
}

}  // namespace

void FreeKey::operator()(evp_pkey_st* key) const { EVP_PKEY_free(key); }

const SignatureAlgorithm* find_algorithm(std::string_view name) {
  const auto* const found = std::ranges::find(kAlgorithms, name, &SignatureAlgorithm::name);
  return found == kAlgorithms.end() ? nullptr : found;
}

bool fits(const SignatureAlgorithm& algorithm, const evp_pkey_st& key) {
  switch (algorithm.kind) {
    case KeyKind::rsa:
      return EVP_PKEY_is_a(&key, "RSA") == 1 && EVP_PKEY_get_bits(&key) >= kMinRsaBits;
    case KeyKind::curve: {
      std::array<char, 32> curve{};
      return EVP_PKEY_is_a(&key, "EC") == 1 &&
             EVP_PKEY_get_utf8_string_param(&key, OSSL_PKEY_PARAM_GROUP_NAME, curve.data(),
                                            curve.size(), nullptr) == 1 &&
             std::string_view(curve.data()) == algorithm.curve;
    }
    case KeyKind::edwards:
      return EVP_PKEY_is_a(&key, "ED25519") == 1;
  }
  return false;
}

bool verify(const SignatureAlgorithm& algorithm, evp_pkey_st& key, std::string_view text,
            std::string_view signature) {
  std::string der;
  if (algorithm.kind == KeyKind::curve) {
    der = as_der(signature, algorithm.half);
    signature = der;
  }
  if (signature.empty()) return false;
  const std::unique_ptr<EVP_MD_CTX, FreeSignature> context(EVP_MD_CTX_new());
  EVP_PKEY_CTX* parameters = nullptr;
  if (context == nullptr || EVP_DigestVerifyInit_ex(context.get(), &parameters, algorithm.digest,
                                                    nullptr, nullptr, &key, nullptr) != 1) {
    return false;
  }
  // The salt is as long as the digest (RFC 7518 section 3.5).
  if (algorithm.pss &&
      (EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING) != 1 ||
       EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, RSA_PSS_SALTLEN_DIGEST) != 1)) {
    return false;
  }
  const bool is_good = EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(),
                                        bytes_of(text), text.size()) == 1;
  ERR_clear_error();  // it would be taken for one of TLS
  return is_good;
}

}  // namespace stdgate::auth

#include "transports/auth/digest.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <utility>

#include "gateway/base/check.h"

namespace stdgate::auth {

namespace {

constexpr std::string_view kMark = "sha256:";

uint8_t hex_value(char c) {
  if (c <= '9') return static_cast<uint8_t>(c - '0');
  return static_cast<uint8_t>((c | 0x20) - 'a' + 10);
}

}  // namespace

void Sha256::Free::operator()(evp_md_st* algorithm) const { EVP_MD_free(algorithm); }

void Sha256::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Sha256::Sha256()
    : algorithm_(EVP_MD_fetch(nullptr, "SHA256", nullptr)), context_(EVP_MD_CTX_new()) {
  STDGATE_CHECK(algorithm_ != nullptr && context_ != nullptr);
}

Digest Sha256::of(std::string_view text) {
  Digest digest{};
  unsigned size = 0;
  const bool is_done = EVP_DigestInit_ex2(context_.get(), algorithm_.get(), nullptr) == 1 &&
                       EVP_DigestUpdate(context_.get(), text.data(), text.size()) == 1 &&
                       EVP_DigestFinal_ex(context_.get(), digest.data(), &size) == 1;
  STDGATE_CHECK(is_done && size == digest.size());
  return digest;
}

SessionName session_name(std::string_view id) {
  const Digest digest = Sha256().of(id);
  uint32_t bits = 0;
  for (size_t i = 0; i < sizeof(bits); ++i) bits = bits << 8 | digest[i];
  return SessionName::of(bits);
}

bool are_equal(const Digest& one, const Digest& other) {
  return CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

std::string key_hash(const Digest& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(kMark);
  for (const uint8_t byte : digest) text.append({kDigits[byte >> 4], kDigits[byte & 15]});
  return text;
}

Digest parse_key_hash(std::string_view text) {
  STDGATE_CHECK(text.starts_with(kMark) && text.size() == kMark.size() + 2 * sizeof(Digest));
  text.remove_prefix(kMark.size());
  Digest digest{};
  for (size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<uint8_t>(hex_value(text[2 * i]) << 4 | hex_value(text[2 * i + 1]));
  }
  return digest;
}

std::optional<DigestAlgorithm> find_digest(std::string_view name) {
  if (name == "sha-256") return DigestAlgorithm::sha256;
  if (name == "sha-512") return DigestAlgorithm::sha512;
  return std::nullopt;
}

bool is_digest_of(DigestAlgorithm algorithm, std::string_view digest, std::string_view body) {
  const char* const name = algorithm == DigestAlgorithm::sha256 ? "SHA256" : "SHA512";
  std::array<unsigned char, EVP_MAX_MD_SIZE> made{};
  size_t size = 0;
  return EVP_Q_digest(nullptr, name, nullptr, body.data(), body.size(), made.data(), &size) == 1 &&
         size == digest.size() && CRYPTO_memcmp(made.data(), digest.data(), size) == 0;
}

std::string sha1_base64(std::string_view text) {
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest;
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  constexpr size_t kDigits = (SHA_DIGEST_LENGTH + 2) / 3 * 4;
  std::array<unsigned char, kDigits + 1> base64;  // with a NUL
  const int size = EVP_EncodeBlock(base64.data(), digest.data(), digest.size());
  return {reinterpret_cast<const char*>(base64.data()), static_cast<size_t>(size)};
}

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

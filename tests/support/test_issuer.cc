#include "tests/support/test_issuer.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <array>
#include <utility>

#include "gateway/base/encodings.h"

namespace stdgate::test {

namespace {

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string number_of(const EVP_PKEY* key, const char* name, int size = 0) {
  BIGNUM* number = nullptr;
  EVP_PKEY_get_bn_param(key, name, &number);
  std::string bytes(static_cast<size_t>(size == 0 ? BN_num_bytes(number) : size), '\0');
  BN_bn2binpad(number, reinterpret_cast<unsigned char*>(bytes.data()),
               static_cast<int>(bytes.size()));
  BN_free(number);
  return encode_base64url(bytes);
}

EVP_PKEY* make_key(TestIssuer::Kind kind) {
  switch (kind) {
    case TestIssuer::Kind::rsa:
      return EVP_RSA_gen(2048);
    case TestIssuer::Kind::small_rsa:
      return EVP_RSA_gen(1024);
    case TestIssuer::Kind::p256:
      return EVP_EC_gen("P-256");
    case TestIssuer::Kind::p384:
      return EVP_EC_gen("P-384");
    case TestIssuer::Kind::ed25519:
      break;
  }
  return EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
}

}  // namespace

TestIssuer::TestIssuer(Kind kind, std::string kid)
    : key_(make_key(kind)), kind_(kind), kid_(std::move(kid)) {}

TestIssuer::~TestIssuer() { EVP_PKEY_free(key_); }

std::string TestIssuer::jwk(std::string_view more) const {
  const std::string kid = kid_.empty() ? "" : R"(,"kid":")" + kid_ + '"';
  const std::string end = kid + std::string(more) + "}";
  if (kind_ == Kind::rsa || kind_ == Kind::small_rsa) {
    return R"({"kty":"RSA","n":")" + number_of(key_, OSSL_PKEY_PARAM_RSA_N) + R"(","e":")" +
           number_of(key_, OSSL_PKEY_PARAM_RSA_E) + '"' + end;
  }
  if (kind_ == Kind::ed25519) {
    std::string x(32, '\0');
    size_t size = x.size();
    EVP_PKEY_get_raw_public_key(key_, reinterpret_cast<unsigned char*>(x.data()), &size);
    return R"({"kty":"OKP","crv":"Ed25519","x":")" + encode_base64url(x) + '"' + end;
  }
  const bool is_small = kind_ == Kind::p256;
  const int size = is_small ? 32 : 48;
  return std::string(R"({"kty":"EC","crv":")") + (is_small ? "P-256" : "P-384") + R"(","x":")" +
         number_of(key_, OSSL_PKEY_PARAM_EC_PUB_X, size) + R"(","y":")" +
         number_of(key_, OSSL_PKEY_PARAM_EC_PUB_Y, size) + '"' + end;
}

std::string TestIssuer::token(std::string_view algorithm, std::string_view header,
                              std::string_view claims) const {
  const std::string text = encode_base64url(header) + '.' + encode_base64url(claims);
  return text + '.' + encode_base64url(sign(algorithm, text));
}

std::string TestIssuer::token(std::string_view algorithm, std::string_view claims) const {
  const std::string kid = kid_.empty() ? "" : R"(,"kid":")" + kid_ + '"';
  return token(algorithm, R"({"alg":")" + std::string(algorithm) + R"(","typ":"JWT")" + kid + "}",
               claims);
}

std::string TestIssuer::confused_token(std::string_view claims) const {
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PUBKEY(bio, key_);
  char* pem = nullptr;
  const long size = BIO_get_mem_data(bio, &pem);
  const std::string text =
      encode_base64url(R"({"alg":"HS256","typ":"JWT"})") + '.' + encode_base64url(claims);
  std::array<unsigned char, EVP_MAX_MD_SIZE> mac{};
  unsigned mac_size = 0;
  HMAC(EVP_sha256(), pem, static_cast<int>(size), bytes_of(text), text.size(), mac.data(),
       &mac_size);
  BIO_free(bio);
  return text + '.' + encode_base64url({reinterpret_cast<const char*>(mac.data()), mac_size});
}

std::string TestIssuer::sign(std::string_view algorithm, std::string_view text) const {
  const bool has_digest = algorithm != "EdDSA";
  const char* digest = !has_digest                  ? nullptr
                       : algorithm.ends_with("384") ? "SHA384"
                       : algorithm.ends_with("512") ? "SHA512"
                                                    : "SHA256";
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  EVP_PKEY_CTX* parameters = nullptr;
  EVP_DigestSignInit_ex(context, &parameters, digest, nullptr, nullptr, key_, nullptr);
  if (algorithm.starts_with("PS")) {
    EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING);
    EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, RSA_PSS_SALTLEN_DIGEST);
  }
  std::string signature(1024, '\0');
  size_t size = signature.size();
  EVP_DigestSign(context, reinterpret_cast<unsigned char*>(signature.data()), &size, bytes_of(text),
                 text.size());
  EVP_MD_CTX_free(context);
  signature.resize(size);
  if (kind_ != Kind::p256 && kind_ != Kind::p384) return signature;
  const unsigned char* der = bytes_of(signature);
  ECDSA_SIG* parts = d2i_ECDSA_SIG(nullptr, &der, static_cast<long>(size));
  const int half = kind_ == Kind::p256 ? 32 : 48;
  std::string joined(static_cast<size_t>(2 * half), '\0');
  auto* out = reinterpret_cast<unsigned char*>(joined.data());
  BN_bn2binpad(ECDSA_SIG_get0_r(parts), out, half);
  BN_bn2binpad(ECDSA_SIG_get0_s(parts), out + half, half);
  ECDSA_SIG_free(parts);
  return joined;
}

}  // namespace stdgate::test

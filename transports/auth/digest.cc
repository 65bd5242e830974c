#include "transports/auth/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>

#include <array>

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

}  // namespace stdgate::auth

#include "transports/auth/body_digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <array>

namespace stdgate::auth {

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

}  // namespace stdgate::auth

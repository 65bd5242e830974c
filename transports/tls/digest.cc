#include "transports/tls/digest.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

#include <array>

namespace stdgate::tls {

std::string sha1_base64(std::string_view text) {
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest;
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  constexpr size_t kDigits = (SHA_DIGEST_LENGTH + 2) / 3 * 4;
  std::array<unsigned char, kDigits + 1> base64;  // with a NUL
  const int size = EVP_EncodeBlock(base64.data(), digest.data(), digest.size());
  return {reinterpret_cast<const char*>(base64.data()), static_cast<size_t>(size)};
}

}  // namespace stdgate::tls

// Digests: SHA-256 of texts and keys, digests of bodies (RFC 9530), and SHA-1 for WebSockets. Also
// whether signatures of tokens are good.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/base/log.h"

struct evp_md_st;
struct evp_md_ctx_st;

namespace stdgate::auth {

using Digest = std::array<uint8_t, 32>;

// Sha256: digests, one after the other (FIPS 180-4). Allocates when it is made, and then no more.
class Sha256 {
 public:
  Sha256();
  [[nodiscard]] Digest of(std::string_view text);

 private:
  struct Free {
    void operator()(evp_md_st* algorithm) const;
    void operator()(evp_md_ctx_st* context) const;
  };

  std::unique_ptr<evp_md_st, Free> algorithm_;
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

// How the log names the session with this id.
SessionName session_name(std::string_view id);

// Hash for tables by digest.
struct HashDigest {
  size_t operator()(const Digest& digest) const {
    size_t hash = 0;
    std::memcpy(&hash, digest.data(), sizeof(hash));
    return hash;
  }
};

// Compares digests, in a time that does not depend on where they differ.
bool are_equal(const Digest& one, const Digest& other);
// "sha256:" and hex digits, as configurations have it.
std::string key_hash(const Digest& digest);
// Parses the form of key_hash(), in upper or lower case. The text has been checked.
Digest parse_key_hash(std::string_view text);

// --- Digests of bodies (RFC 9530 section 5), without the broken algorithms

enum class DigestAlgorithm : uint8_t { sha256, sha512 };

// "sha-256", as Content-Digest has it; nothing: another one.
std::optional<DigestAlgorithm> find_digest(std::string_view name);
bool is_digest_of(DigestAlgorithm algorithm, std::string_view digest, std::string_view body);

// The SHA-1 of `text`, in base64 with padding: the opening handshake of a WebSocket asks for it
// (RFC 6455 section 4.2.2). Protects nothing.
std::string sha1_base64(std::string_view text);

}  // namespace stdgate::auth

// --- Signatures of tokens (RFC 7518 section 3): which algorithms there are, and whether a
// signature is good
//
// None with a shared secret, and no `none`.

struct evp_pkey_st;

namespace stdgate::auth {

// Frees a key of OpenSSL.
struct FreeKey {
  void operator()(evp_pkey_st* key) const;
};
using PublicKey = std::unique_ptr<evp_pkey_st, FreeKey>;

struct SignatureAlgorithm;

// "RS256"; null: the name is unknown.
const SignatureAlgorithm* find_algorithm(std::string_view name);

// Whether a key can be used with the algorithm: its kind, curve and size.
bool fits(const SignatureAlgorithm& algorithm, const evp_pkey_st& key);
// Whether `signature`, as it stands in a token, is the signature of `text` by `key`, which fits the
// algorithm.
bool verify(const SignatureAlgorithm& algorithm, evp_pkey_st& key, std::string_view text,
            std::string_view signature);

}  // namespace stdgate::auth

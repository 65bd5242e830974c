// Sha256: digests, one after the other (FIPS 180-4). Allocates when it is made, and then no more.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "gateway/base/session_name.h"

struct evp_md_st;
struct evp_md_ctx_st;

namespace stdgate::auth {

using Digest = std::array<uint8_t, 32>;

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

// For tables by digest.
struct HashDigest {
  size_t operator()(const Digest& digest) const {
    size_t hash = 0;
    std::memcpy(&hash, digest.data(), sizeof(hash));
    return hash;
  }
};

// Whether they are the same, in a time that does not depend on where they differ.
bool are_equal(const Digest& one, const Digest& other);
// "sha256:" and hex digits, as configurations have it.
std::string key_hash(const Digest& digest);
// Of what key_hash() has written, in capitals or not; the text has been checked.
Digest parse_key_hash(std::string_view text);

}  // namespace stdgate::auth

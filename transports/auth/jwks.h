// Jwks: the public keys of an issuer of tokens (RFC 7517).
//
// Keys that nothing here can use are left out: of other kinds, for encryption, too short. A set
// with private or secret keys is refused, as it should not be where it is. Owner: IssuerKeys.
// Limit: kMaxKeys.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "transports/auth/signature.h"

namespace stdgate::auth {

class Jwks {
 public:
  static constexpr size_t kMaxKeys = 100;

  // The error says what is wrong with the set.
  static tl::expected<Jwks, std::string> parse(std::string_view json);

  [[nodiscard]] size_t size() const { return keys_.size(); }
  // Whether there is a key with this id, whatever it is for.
  [[nodiscard]] bool has(std::string_view id) const;
  // The keys that `other` does not have.
  [[nodiscard]] std::vector<std::string_view> ids_missing_in(const Jwks& other) const;
  // The key with this id, or the only one where a token names none, if it is for the algorithm.
  [[nodiscard]] evp_pkey_st* find(std::string_view id, const SignatureAlgorithm& algorithm) const;

 private:
  struct Key {
    std::string id;                                 // empty: none
    const SignatureAlgorithm* algorithm = nullptr;  // null: any that fits
    PublicKey key;
  };

  std::vector<Key> keys_;
};

}  // namespace stdgate::auth

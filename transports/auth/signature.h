// Signatures of tokens (RFC 7518 section 3): which algorithms there are, and whether a signature is
// good. None with a shared secret, and no `none`.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct evp_pkey_st;

namespace stdgate::auth {

struct FreeKey {
  void operator()(evp_pkey_st* key) const;
};
using PublicKey = std::unique_ptr<evp_pkey_st, FreeKey>;

struct SignatureAlgorithm;

// "RS256"; null: the name is unknown.
const SignatureAlgorithm* find_algorithm(std::string_view name);

// Whether keys like this one are for it: kind, curve and size.
bool fits(const SignatureAlgorithm& algorithm, const evp_pkey_st& key);
// `key` fits. Whether `signature`, as it stands in a token, fits `text`.
bool verify(const SignatureAlgorithm& algorithm, evp_pkey_st& key, std::string_view text,
            std::string_view signature);

}  // namespace stdgate::auth

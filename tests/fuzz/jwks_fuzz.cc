// Fuzz target: any set of keys is read or refused, and each key is only for its own algorithm.

#include <array>
#include <string>

#include "tests/fuzz/fuzz_target.h"
#include "transports/auth/issuer_keys.h"

namespace stdgate::test::jwks_fuzz {
namespace {

void check(std::string_view text) {
  const auto keys = auth::Jwks::parse(text);
  if (!keys) {
    require(!keys.error().empty(), "what is refused has a reason", text);
    return;
  }
  for (const char* name : {"RS256", "PS256", "ES256", "EdDSA"}) {
    const auth::SignatureAlgorithm* algorithm = auth::find_algorithm(name);
    require(algorithm != nullptr, "a known algorithm", text);
    for (const char* id : {"", "k1", "k2"}) {
      evp_pkey_st* const key = keys->find(id, *algorithm);
      if (key == nullptr) continue;
      // Verifying with any key must be safe.
      static_cast<void>(auth::verify(*algorithm, *key, "text", std::string(64, 's')));
    }
  }
}

}  // namespace

void run(std::string_view input) { check(input); }

}  // namespace stdgate::test::jwks_fuzz

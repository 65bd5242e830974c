#include "transports/auth/jwks.h"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <simdjson.h>

#include <algorithm>
#include <utility>

#include "gateway/base/base64.h"

namespace stdgate::auth {

namespace {

using Element = simdjson::dom::element;

struct FreeJwk {
  void operator()(OSSL_PARAM_BLD* builder) const { OSSL_PARAM_BLD_free(builder); }
  void operator()(OSSL_PARAM* parameters) const { OSSL_PARAM_free(parameters); }
  void operator()(EVP_PKEY_CTX* context) const { EVP_PKEY_CTX_free(context); }
  void operator()(BIGNUM* number) const { BN_free(number); }
};
using Number = std::unique_ptr<BIGNUM, FreeJwk>;

// Empty: there is no such text.
std::string_view text_at(Element object, std::string_view key) {
  std::string_view text;
  return object[key].get(text) == simdjson::SUCCESS ? text : std::string_view();
}

std::string bytes_at(Element object, std::string_view key) {
  return decode_base64(text_at(object, key), Base64Alphabet::url).value_or(std::string());
}

Number number_of(const std::string& bytes) {
  return Number(BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()),
                          static_cast<int>(bytes.size()), nullptr));
}

PublicKey make_key(const char* kind, OSSL_PARAM_BLD* builder) {
  const std::unique_ptr<OSSL_PARAM, FreeJwk> parameters(OSSL_PARAM_BLD_to_param(builder));
  const std::unique_ptr<EVP_PKEY_CTX, FreeJwk> context(
      EVP_PKEY_CTX_new_from_name(nullptr, kind, nullptr));
  EVP_PKEY* key = nullptr;
  if (parameters == nullptr || context == nullptr || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get()) != 1) {
    return nullptr;
  }
  return PublicKey(key);
}

PublicKey rsa_key(Element jwk) {
  const Number modulus = number_of(bytes_at(jwk, "n"));
  const Number exponent = number_of(bytes_at(jwk, "e"));
  const std::unique_ptr<OSSL_PARAM_BLD, FreeJwk> builder(OSSL_PARAM_BLD_new());
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, modulus.get());
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, exponent.get());
  return make_key("RSA", builder.get());
}

// RFC 7518 section 6.2.1.
PublicKey curve_key(Element jwk) {
  struct Curve {
    std::string_view name;
    const char* group;
    size_t size;
  };
  constexpr Curve kCurves[] = {
      {"P-256", "prime256v1", 32}, {"P-384", "secp384r1", 48}, {"P-521", "secp521r1", 66}};
  const auto* const curve = std::ranges::find(kCurves, text_at(jwk, "crv"), &Curve::name);
  const std::string x = bytes_at(jwk, "x");
  const std::string y = bytes_at(jwk, "y");
  if (curve == std::end(kCurves) || x.size() != curve->size || y.size() != curve->size) {
    return nullptr;
  }
  const std::string point = "\x04" + x + y;
  const std::unique_ptr<OSSL_PARAM_BLD, FreeJwk> builder(OSSL_PARAM_BLD_new());
  OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, curve->group, 0);
  OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                   point.size());
  return make_key("EC", builder.get());
}

// RFC 8037 section 2.
PublicKey edwards_key(Element jwk) {
  const std::string x = bytes_at(jwk, "x");
  if (text_at(jwk, "crv") != "Ed25519") return nullptr;
  return PublicKey(EVP_PKEY_new_raw_public_key(
      EVP_PKEY_ED25519, nullptr, reinterpret_cast<const unsigned char*>(x.data()), x.size()));
}

PublicKey public_key(Element jwk) {
  const std::string_view kind = text_at(jwk, "kty");
  if (kind == "RSA") return rsa_key(jwk);
  if (kind == "EC") return curve_key(jwk);
  return kind == "OKP" ? edwards_key(jwk) : nullptr;
}

bool is_secret(Element jwk) {
  return jwk["d"].error() == simdjson::SUCCESS || jwk["k"].error() == simdjson::SUCCESS;
}

}  // namespace

tl::expected<Jwks, std::string> Jwks::parse(std::string_view json) {
  simdjson::dom::parser parser;
  Element root;
  simdjson::dom::array entries;
  if (parser.parse(json.data(), json.size()).get(root) != simdjson::SUCCESS ||
      root["keys"].get(entries) != simdjson::SUCCESS) {
    return tl::unexpected<std::string>("expected a JSON Web Key Set, { \"keys\": [ … ] }");
  }
  if (entries.size() > kMaxKeys) {
    return tl::unexpected("at most " + std::to_string(kMaxKeys) + " keys");
  }
  Jwks jwks;
  for (const Element jwk : entries) {
    if (!jwk.is_object()) continue;
    if (is_secret(jwk)) {
      return tl::unexpected<std::string>("holds a private key; only public ones belong here");
    }
    const std::string_view use = text_at(jwk, "use");
    const std::string_view name = text_at(jwk, "alg");
    Key key{std::string(text_at(jwk, "kid")), find_algorithm(name), public_key(jwk)};
    const bool is_for_signatures = use.empty() || use == "sig";
    if (!is_for_signatures || key.key == nullptr || (!name.empty() && key.algorithm == nullptr)) {
      continue;
    }
    jwks.keys_.push_back(std::move(key));
  }
  ERR_clear_error();  // of keys that are none
  if (jwks.keys_.empty()) return tl::unexpected<std::string>("holds no key that can be used");
  return jwks;
}

bool Jwks::has(std::string_view id) const {
  return std::ranges::find(keys_, id, &Key::id) != keys_.end();
}

std::vector<std::string_view> Jwks::ids_missing_in(const Jwks& other) const {
  std::vector<std::string_view> ids;
  for (const Key& key : keys_) {
    if (!other.has(key.id)) ids.emplace_back(key.id);
  }
  return ids;
}

evp_pkey_st* Jwks::find(std::string_view id, const SignatureAlgorithm& algorithm) const {
  evp_pkey_st* found = nullptr;
  for (const Key& key : keys_) {
    const bool is_meant = id.empty() ? true : key.id == id;
    const bool is_for_it = key.algorithm == nullptr || key.algorithm == &algorithm;
    if (!is_meant || !is_for_it || !fits(algorithm, *key.key)) continue;
    if (found != nullptr) return nullptr;  // which one is not said
    found = key.key.get();
  }
  return found;
}

}  // namespace stdgate::auth

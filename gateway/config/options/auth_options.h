// The keys of `auth`: who may come in.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "gateway/config/options/option.h"
#include "gateway/config/options/option_rules.h"

namespace stdgate::config {

inline constexpr auto kApiKeyOptions = std::to_array<Option<ApiKeyConfig>>({
    {.key = "name",
     .type = Text{&ApiKeyConfig::name},
     .help = "name of the client with this key, in logs and rules",
     .details = "Several keys may have one name: an old and a new one.",
     .missing = "name who shows this key"},
    {.key = "hash",
     .type = Text{&ApiKeyConfig::hash},
     .help = "SHA-256 of the key, sha256:… in hex, as stdgate hash-key prints it"},
    {.key = "file",
     .type = ApiKeyFile{&ApiKeyConfig::file, &ApiKeyConfig::keys},
     .help = "instead of the hash, a file with keys or hashes, one a line"},
    {.key = "roles",
     .type = list_of<&ApiKeyConfig::roles>(kRole, {0, kMaxApiKeys}),
     .help = "roles of the client, which rules name"},
    {.key = "expires",
     .type = Text{&ApiKeyConfig::expires},
     .help = "when the key expires",
     .details = "A day, `2027-06-30`: the key expires when that day begins in UTC. Or a time, "
                "`2027-06-30T12:00:00Z`."},
});

template <>
struct OptionsOf<ApiKeyConfig> {
  static constexpr std::span<const Option<ApiKeyConfig>> kRows = kApiKeyOptions;
  static constexpr std::string_view kTitle = "API keys";
};

// RFC 7518 section 3.1 and RFC 8037, without algorithms of shared secrets and without `none`.
inline constexpr auto kJwtAlgorithms = std::to_array<std::string_view>(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"});
inline constexpr TextRule kJwtAlgorithm{
    [](std::string_view text) {
      return std::find(kJwtAlgorithms.begin(), kJwtAlgorithms.end(), text) != kJwtAlgorithms.end();
    },
    "one of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA"};

inline constexpr auto kJwksOptions = std::to_array<Option<JwksConfig>>({
    {.key = "file",
     .type = FileText{&JwksConfig::file, &JwksConfig::keys},
     .help = "a file with the keys, read at start and on SIGHUP"},
    {.key = "url",
     .type = Text{&JwksConfig::url},
     .help = "URL to fetch the keys from",
     .details = "With `https`; `http` to this machine only."},
    {.key = "ca",
     .type = FileText{&JwksConfig::ca_file, &JwksConfig::certificates},
     .help = "a file with the certificate authorities to trust when the keys are fetched, in PEM",
     .default_words = "those of the system"},
});

template <>
struct OptionsOf<JwksConfig> {
  static constexpr std::span<const Option<JwksConfig>> kRows = kJwksOptions;
  static constexpr std::string_view kTitle = "Keys of an issuer";
};

inline constexpr auto kJwtOptions = std::to_array<Option<JwtConfig>>({
    {.key = "issuer",
     .type = Text{&JwtConfig::issuer},
     .help = "issuer of the tokens, as in their claim iss",
     .missing = "name the issuer, as tokens have it in iss"},
    {.key = "audience",
     .type = list_of<&JwtConfig::audience>(kAnyText, {1, kMaxAudiences}),
     .help = "accepted values of aud; a token needs one of them",
     .default_words = "`public_url`, or the URL that is asked",
     .applies = [](const JwtConfig& jwt) { return !jwt.audience.empty(); }},
    {.key = "jwks",
     .type = Part{&JwtConfig::jwks},
     .help = "the issuer's public keys, a JSON Web Key Set",
     .details = "Without `file` and `url` the issuer's metadata says where the keys are: "
                "`/.well-known/openid-configuration` behind the issuer, or RFC 8414's "
                "`/.well-known/oauth-authorization-server`."},
    {.key = "algorithms",
     .type = list_of<&JwtConfig::algorithms>(kJwtAlgorithm, {1, kJwtAlgorithms.size()}),
     .help = "signature algorithms that are accepted",
     .details = "Any of `RS256`, `RS384`, `RS512`, `PS256`, `PS384`, `PS512`, `ES256`, `ES384`, "
                "`ES512` and `EdDSA`."},
    {.key = "roles",
     .type = Text{&JwtConfig::roles},
     .help = "path of the claim with the roles; dots separate its steps",
     .details = "Like `realm_access.roles`. Without it tokens give no roles."},
});

template <>
struct OptionsOf<JwtConfig> {
  static constexpr std::span<const Option<JwtConfig>> kRows = kJwtOptions;
  static constexpr std::string_view kTitle = "Tokens";
};

inline constexpr auto kSignatureOptions = std::to_array<Option<SignatureConfig>>({
    {.key = "key_id",
     .type = Text{&SignatureConfig::key_id},
     .help = "keyid of the signatures, and the client's name in logs and rules",
     .missing = "name the key, as signatures have it in keyid"},
    {.key = "algorithm", .type = Word{&SignatureConfig::algorithm}, .help = "how the client signs"},
    {.key = "secret_file",
     .type = FileText{&SignatureConfig::secret_file, &SignatureConfig::secret},
     .help = "with hmac-sha256, a file with the secret in base64, 32 bytes or more",
     .details = "As `openssl rand -base64 32` makes it."},
    {.key = "public_key",
     .type = FileText{&SignatureConfig::public_key_file, &SignatureConfig::public_key},
     .help = "with the other algorithms, a file with the client's public key in PEM"},
    {.key = "roles",
     .type = list_of<&SignatureConfig::roles>(kRole, {0, kMaxApiKeys}),
     .help = "the client's roles, which rules name"},
});

template <>
struct OptionsOf<SignatureConfig> {
  static constexpr std::span<const Option<SignatureConfig>> kRows = kSignatureOptions;
  static constexpr std::string_view kTitle = "Signed requests";
};

inline constexpr auto kMtlsOptions = std::to_array<Option<MtlsConfig>>({
    {.key = "roles",
     .type = TextLists{&MtlsConfig::roles, kRole, kMaxApiKeys},
     .help = "roles of clients by the names in their certificates",
     .details =
         "A name is the first URI among the alternative names, else the first DNS name, else "
         "`CN=` and the common name of the subject; `*` stands for any characters. A client "
         "has the roles of all names that fit."},
});

template <>
struct OptionsOf<MtlsConfig> {
  static constexpr std::span<const Option<MtlsConfig>> kRows = kMtlsOptions;
  static constexpr std::string_view kTitle = "Certificates of clients";
};

inline constexpr auto kAuthOptions = std::to_array<Option<AuthConfig>>({
    {.key = "api_key_file",
     .type = ApiKeyFile{&AuthConfig::api_key_file, &AuthConfig::keys},
     .flag = {.name = "--api-key-file",
              .placeholder = "FILE",
              .help = "clients need one of these API keys, one a line, or their hashes"},
     .help = "file with API keys, or their hashes, of clients without roles, one a line",
     .details = "A client with one of them is called `api-key`."},
    {.key = "api_keys", .type = Items{&AuthConfig::api_keys, {1, kMaxApiKeys}}, .help = "API keys"},
    {.key = "jwt",
     .type = Items{&AuthConfig::jwt, {1, kMaxIssuers}},
     .help = "issuers whose tokens say who clients are (JSON Web Tokens)"},
    {.key = "signatures",
     .type = Items{&AuthConfig::signatures, {1, kMaxApiKeys}},
     .help = "keys of clients that sign their requests (RFC 9421)"},
    {.key = "public_url",
     .type = Text{&AuthConfig::public_url},
     .help = "URL under which clients reach the gateway; for jwt and signatures",
     .details = "It has no path if the backends are at the root. It is never taken from `Host`. "
                "`GET /`, `stdgate ls` and `stdgate snippet` show it."},
    {.key = "scopes",
     .type = list_of<&AuthConfig::scopes>(kScope, {0, kMaxPatterns}),
     .help = "scopes that clients are told to request for their first token; with jwt",
     .details = "`rules` say which scopes are needed. A client without one is told which, and can "
                "come back with another token.",
     .applies = [](const AuthConfig& auth) { return !auth.scopes.empty(); }},
    {.key = "mtls",
     .type = Part{&AuthConfig::mtls},
     .help = "take a client's identity from its TLS certificate",
     .details = "Needs `client_ca` in `tls`."},
});

template <>
struct OptionsOf<AuthConfig> {
  static constexpr std::span<const Option<AuthConfig>> kRows = kAuthOptions;
  static constexpr std::string_view kTitle = "Authentication";
};

}  // namespace stdgate::config

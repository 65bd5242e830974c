#include <algorithm>
#include <charconv>
#include <set>
#include <string>

#include "gateway/base/addresses.h"
#include "gateway/config/config_files.h"
#include "gateway/config/config_ranges.h"
#include "gateway/config/environment_variables.h"
#include "gateway/config/options/option_rules.h"

namespace stdgate::config {
namespace {

// Takes a number of so many digits from the front of `text`.
bool take_digits(std::string_view& text, size_t digits, int& number) {
  if (text.size() < digits || text.front() < '0' || text.front() > '9') return false;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + digits, number);
  if (error != std::errc() || stop != text.data() + digits) return false;
  text.remove_prefix(digits);
  return true;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

// "2027-06-30", or "2027-06-30T12:00:00Z" (RFC 3339, in UTC).
std::optional<std::chrono::sys_seconds> parse_time(std::string_view text) {
  int year = 0;
  int month = 0;
  int day = 0;
  if (!take_digits(text, 4, year) || !take(text, '-') || !take_digits(text, 2, month) ||
      !take(text, '-') || !take_digits(text, 2, day)) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  std::chrono::sys_seconds time = std::chrono::sys_days(date);
  if (text.empty()) return time;
  int hours = 0;
  int minutes = 0;
  int seconds = 0;
  if (!take(text, 'T') || !take_digits(text, 2, hours) || !take(text, ':') ||
      !take_digits(text, 2, minutes) || !take(text, ':') || !take_digits(text, 2, seconds) ||
      text != "Z" || hours > 23 || minutes > 59 || seconds > 59) {
    return std::nullopt;
  }
  time += std::chrono::hours(hours) + std::chrono::minutes(minutes) + std::chrono::seconds(seconds);
  return time;
}

bool is_principal_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxPrincipalName &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

// Whether programs of other machines reach it.
bool is_reachable(const ListenerConfig& listener) {
  const auto address = Address::parse(listener.address);
  return address && address->kind == Address::Kind::tcp && !address->is_loopback();
}

bool asks_for_certificate(const Config& config, const ListenerConfig& listener) {
  const TlsConfig* const tls = config.tls_of(listener);
  return tls != nullptr && tls->client_certificate == ClientCertificate::require;
}

bool asks_for_certificates(const Config& config) {
  const auto asks = [&config](const ListenerConfig& listener) {
    const TlsConfig* const tls = config.tls_of(listener);
    return tls != nullptr && tls->client_certificate != ClientCertificate::none;
  };
  return asks(config.admin) || std::ranges::any_of(config.listen, asks);
}

void check_listeners(const Section& root, const Config& config) {
  if (config.anonymous || config.auth.is_used() || root.has("auth")) return;
  for (const ListenerConfig& listener : config.listen) {
    if (listener.anonymous || !is_reachable(listener) || asks_for_certificate(config, listener)) {
      continue;
    }
    root.fail("listen", "who reaches '" + listener.address +
                            "' over the network could call; say who may (auth, --api-key-file), "
                            "or, if everybody may, write { address: \"" +
                            listener.address + "\", anonymous: true } (--anonymous)");
  }
}

void check_keys(const Section& root, const AuthConfig& auth) {
  std::set<std::string> hashes;
  for (const ApiKeyConfig& key : auth.api_keys) {
    if (key.hash.empty() || hashes.insert(key.hash).second) continue;
    root.fail("auth",
              "api_keys: the key of '" + key.name + "' is listed twice; remove one of them");
  }
}

// They stand in a header field, with spaces.
void check_scopes(const Section& section, const std::vector<std::string>& scopes) {
  size_t size = 0;
  for (const std::string& scope : scopes) size += scope.size() + 1;
  if (size <= kMaxScopes) return;
  section.fail("scopes", "expected at most " + std::to_string(kMaxScopes) + " bytes together");
}

void check_jwks(const Section& section, const JwksConfig& config) {
  if (section.has("file") && section.has("url")) {
    section.fail("url", "expected either file or url");
  } else if (section.has("url") && !section.failed("url")) {
    const auto url = WebUrl::parse(config.url);
    if (!url) {
      section.fail("url", "expected a URL, like https://id.example.com/jwks");
    } else if (!url->is_safe()) {
      section.fail("url", "keys are fetched with https, or with http from this machine only");
    }
  }
  if (!section.has("ca") || section.failed("ca")) return;
  if (section.has("file")) section.fail("ca", "is not used with file; remove it");
  if (config.certificates.find("-----BEGIN CERTIFICATE-----") == std::string::npos) {
    section.fail("ca", "holds no certificate in PEM");
  }
}

// The URL stands in header fields and in front of paths.
bool is_public_url(std::string_view text) {
  const bool has_scheme = text.starts_with("https://") || text.starts_with("http://");
  return has_scheme && !text.ends_with('/') && text.size() <= kMaxPublicUrl &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f && c != '"'; }) &&
         text.find_first_of("?#\\") == std::string_view::npos;
}

void check_jwt(const Section& auth, const AuthConfig& config) {
  if (auth.has("public_url") && !auth.failed("public_url") && !is_public_url(config.public_url)) {
    auth.fail("public_url",
              "expected a URL with https:// and without a slash at its end, like "
              "https://tools.example.com; found '" +
                  config.public_url + "'");
  }
  check_scopes(auth, config.scopes);
  if (auth.has("scopes") && !auth.has("jwt")) {
    auth.fail("scopes", "is for tokens only; configure jwt, or remove it");
  }
  if (auth.has("jwt") && !auth.has("public_url")) {
    auth.fail("jwt", "needs public_url, where clients find out who issues tokens");
  }
  std::set<std::string> key_ids;
  for (const SignatureConfig& key : config.signatures) {
    if (!key_ids.insert(key.key_id).second)
      auth.fail("signatures", "'" + key.key_id + "' is listed twice; remove one of them");
  }
  // Two keys of one name would be one principal.
  std::set<std::string_view> sources = {"api_key", "certificate", "signature"};
  for (const JwtConfig& jwt : config.jwt) {
    if (!sources.insert(source_of_issuer(jwt.issuer)).second) {
      auth.fail("jwt",
                "'" + jwt.issuer + "' is already the name of another issuer or kind of credential");
    }
  }
}

}  // namespace

void complete_item(const Section& section, ApiKeyConfig& out) {
  if (section.has("name") && !section.failed("name") && !is_principal_name(out.name)) {
    section.fail("name", "expected 1 to 64 visible characters of ASCII");
  }
  if (section.has("hash") == section.has("file")) {
    section.fail("hash", "expected either hash or file; stdgate hash-key makes a key and its hash");
  } else if (section.has("hash") && !section.failed("hash") && !is_key_hash(out.hash)) {
    section.fail("hash", "expected sha256: and 64 hex digits, as stdgate hash-key prints them");
  }
  if (!section.has("expires") || section.failed("expires")) return;
  out.expires_at = parse_time(out.expires);
  if (out.expires_at) return;
  section.fail("expires",
               "expected a day, 2027-06-30, or a time in UTC, 2027-06-30T12:00:00Z; "
               "found '" +
                   out.expires + "'");
}

void complete_item(const Section& section, SignatureConfig& out) {
  if (section.has("key_id") && !section.failed("key_id") && !is_principal_name(out.key_id)) {
    section.fail("key_id", "expected 1 to 64 visible characters of ASCII");
  }
  const bool is_shared = out.algorithm == SignatureMethod::hmac_sha256;
  const char* const wanted = is_shared ? "secret_file" : "public_key";
  const char* const other = is_shared ? "public_key" : "secret_file";
  if (section.has(other)) section.fail(other, "is not used with this algorithm; remove it");
  if (!section.has(wanted)) section.fail(wanted, "missing; this algorithm needs it");
}

void complete_item(const Section& section, RuleConfig& out) { check_scopes(section, out.scopes); }

void complete_item(const Section& section, JwtConfig& out) {
  if (section.has("issuer") && !section.failed("issuer") && out.issuer.empty()) {
    section.fail("issuer", "expected a text, like https://id.example.com");
  }
  const Section* const jwks = section.part("jwks");
  if (jwks != nullptr) check_jwks(*jwks, out.jwks);
  const bool is_discovered =
      out.jwks.url.empty() && (jwks == nullptr || !(jwks->has("file") || jwks->has("url")));
  const auto issuer = WebUrl::parse(out.issuer);
  const bool can_be = issuer && issuer->is_safe() && issuer->query.empty();
  if (is_discovered && section.has("issuer") && !section.failed("issuer") && !can_be) {
    section.fail("issuer",
                 "its keys are looked for at its own address, so expected a URL like "
                 "https://id.example.com; or name jwks: { file: … } or { url: … }");
  }
}

void complete_auth(const Section& root, Config& out) {
  const Section* const auth = root.part("auth");
  out.auth.mtls.used = auth != nullptr && auth->has("mtls");
  check_keys(root, out.auth);
  if (auth != nullptr) check_jwt(*auth, out.auth);
  const bool was_read = auth != nullptr && !auth->any_failed();
  if (root.has("auth") && was_read && !out.auth.is_used()) {
    root.fail_at_key("auth", "lets no client call; add api_keys or jwt, or remove it");
  }
  if (root.failed("listen")) return;
  check_listeners(root, out);
  if (out.auth.mtls.used && !asks_for_certificates(out)) {
    auth->fail_at_key("mtls", "no listener asks for certificates; give its tls a client_ca");
  }
}

}  // namespace stdgate::config

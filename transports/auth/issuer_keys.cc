#include "transports/auth/issuer_keys.h"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "gateway/base/addresses.h"
#include "gateway/base/check.h"
#include "gateway/base/encodings.h"
#include "gateway/base/text.h"

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

constexpr std::string_view kOpenid = "/.well-known/openid-configuration";
constexpr std::string_view kOauth = "/.well-known/oauth-authorization-server";

std::string_view without_slash(std::string_view url) {
  return url.ends_with('/') ? url.substr(0, url.size() - 1) : url;
}

// Behind the issuer (OpenID Connect Discovery 1.0 section 4.1).
std::string openid_url(const std::string& issuer) {
  return std::string(without_slash(issuer)).append(kOpenid);
}

// Between the issuer's host and its path (RFC 8414 section 3.1).
std::string oauth_url(const std::string& issuer) {
  const auto url = WebUrl::parse(issuer);
  STDGATE_CHECK(url.has_value());
  return std::string(url->origin).append(kOauth).append(without_slash(url->path));
}

// application/json, application/jwk-set+json.
bool is_json(std::string_view content_type) {
  std::string type(trim(content_type.substr(0, content_type.find(';'))));
  std::ranges::transform(type, type.begin(), lower_ascii);
  return type == "application/json" || type.ends_with("+json");
}

// RFC 9111 section 5.2.2; nothing: it says nothing of it.
std::optional<std::chrono::seconds> max_age_of(std::string_view cache_control) {
  constexpr std::chrono::seconds kMost = IssuerKeys::kMaxLifetime;
  while (!cache_control.empty()) {
    const size_t end = std::min(cache_control.find(','), cache_control.size());
    const std::string_view directive = trim(cache_control.substr(0, end));
    cache_control.remove_prefix(std::min(end + 1, cache_control.size()));
    if (equals_ignoring_case(directive, "no-store") || equals_ignoring_case(directive, "no-cache"))
      return std::chrono::seconds::zero();
    const size_t equals = directive.find('=');
    if (equals == std::string_view::npos ||
        !equals_ignoring_case(directive.substr(0, equals), "max-age")) {
      continue;
    }
    const std::string_view digits = trim(directive.substr(equals + 1), "\"");
    uint64_t seconds = 0;
    const auto [stop, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
    if (stop != digits.data() + digits.size()) return std::nullopt;
    if (error != std::errc() || seconds > uint64_t(kMost.count())) return kMost;
    return std::chrono::seconds(seconds);
  }
  return std::nullopt;
}

Duration lifetime_of(const fetch::Fetched& fetched) {
  const auto named = max_age_of(fetched.cache_control);
  return std::clamp<Duration>(named.value_or(IssuerKeys::kLifetime), IssuerKeys::kMinLifetime,
                              IssuerKeys::kMaxLifetime);
}

struct Description {
  std::string issuer;
  std::string jwks_uri;
};

std::optional<Description> parse_description(const std::string& text) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  std::string_view issuer;
  std::string_view uri;
  if (parser.parse(text).get(root) != simdjson::SUCCESS ||
      root["issuer"].get(issuer) != simdjson::SUCCESS ||
      root["jwks_uri"].get(uri) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  return Description{std::string(issuer), std::string(uri)};
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

IssuerKeys::IssuerKeys(const config::JwtConfig& config, const KeyServices& services)
    : issuer_(config.issuer),
      config_(config.jwks),
      services_(services),
      timer_(services.timers, [this] { fetch_now(); }) {
  if (config_.is_fetched()) {
    timer_.arm(services_.clock.now());
    return;
  }
  auto keys = Jwks::parse(config_.keys);
  STDGATE_CHECK(keys.has_value());
  keys_ = *std::move(keys);
}

bool IssuerKeys::look_for(std::string_view key_id) {
  if (!config_.is_fetched()) return false;
  if (keys_ && !key_id.empty() && keys_->has(key_id)) return false;  // it is for something else
  look_again();
  const auto known =
      std::ranges::find(missing_, std::hash<std::string_view>()(key_id), &Missing::id);
  if (known != missing_.end()) return brought_ <= known->asked_at;
  add_missing(key_id, begun_);
  return true;
}

void IssuerKeys::add_missing(std::string_view key_id, uint64_t asked_at) {
  if (missing_.size() == kMaxMissing) missing_.pop_front();
  missing_.push_back({std::hash<std::string_view>()(key_id), asked_at});
}

void IssuerKeys::look_again() {
  if (fetch_ != nullptr) return;
  const TimePoint now = services_.clock.now();
  const TimePoint due = missed_at_ ? std::max(now, *missed_at_ + kMissedEvery) : now;
  if (timer_.armed() && timer_.due() <= due) return;
  missed_at_ = due;
  timer_.arm(due);
}

KeyFacts IssuerKeys::facts() const {
  KeyFacts facts;
  facts.issuer = issuer_;
  facts.source = "file";
  if (config_.is_fetched()) facts.source = config_.url.empty() ? "discovery" : "url";
  facts.keys = keys_ ? keys_->size() : 0;
  if (config_.is_fetched() && keys_) facts.age = services_.clock.now() - fetched_at_;
  facts.problem = problem_;
  return facts;
}

void IssuerKeys::fetch_now() {
  ++begun_;
  if (!config_.url.empty()) return get(Step::keys, config_.url);
  get(Step::openid, openid_url(issuer_));
}

void IssuerKeys::get(Step step, std::string url) {
  fetch::Request request{url, config_.certificates};
  auto done = [this, step, url = std::move(url)](const fetch::Fetched& fetched) {
    const auto finished = std::move(fetch_);  // until the end of this call
    on_fetched(step, url, fetched);
  };
  fetch_ = services_.fetcher.start(request, std::move(done));
}

void IssuerKeys::on_fetched(Step step, const std::string& url, const fetch::Fetched& fetched) {
  const bool is_ok = fetched.outcome == FetchOutcome::ok;
  const bool is_good = is_ok && is_json(fetched.content_type);
  // The other description may be there.
  const bool is_absent = fetched.outcome == FetchOutcome::bad_status || (is_ok && !is_good);
  if (step == Step::openid && is_absent) return get(Step::oauth, oauth_url(issuer_));
  if (!is_ok) return fail(fetched.outcome, url, fetched.detail);
  if (!is_good) return fail(FetchOutcome::bad_content, url, "is not sent as application/json");
  if (step == Step::keys) return take_keys(url, fetched);
  read_description(url, fetched);
}

// Not sent in the clear where the issuer was not, nor from this machine to where its users may not
// look.
bool IssuerKeys::may_fetch(std::string_view url) const {
  const auto parsed = WebUrl::parse(url);
  const auto issuer = WebUrl::parse(issuer_);
  return parsed && (parsed->is_secure || (parsed->is_loopback() && issuer && !issuer->is_secure));
}

void IssuerKeys::read_description(const std::string& url, const fetch::Fetched& fetched) {
  const auto description = parse_description(fetched.body);
  if (!description) {
    return fail(FetchOutcome::bad_content, url, "expected issuer and jwks_uri in JSON");
  }
  if (description->issuer != issuer_) {
    constexpr size_t kMaxShown = 200;
    return fail(FetchOutcome::wrong_issuer, url,
                "describes " + description->issuer.substr(0, kMaxShown));
  }
  if (!may_fetch(description->jwks_uri)) {
    return fail(FetchOutcome::bad_content, url, "its jwks_uri is not an https URL");
  }
  get(Step::keys, description->jwks_uri);
}

void IssuerKeys::take_keys(const std::string& url, const fetch::Fetched& fetched) {
  auto keys = Jwks::parse(fetched.body);
  if (!keys) return fail(FetchOutcome::bad_content, url, keys.error());
  brought_ = begun_;
  services_.observer.on_keys_fetched(FetchOutcome::ok);
  fetched_at_ = services_.clock.now();
  const Duration lifetime = lifetime_of(fetched);
  timer_.arm(fetched_at_ + lifetime - lifetime / 4);
  retry_ = kFirstRetry;
  const bool was_down = !std::exchange(problem_, {}).empty();
  const bool is_new = !keys_ || text_ != fetched.body;
  if (is_new || was_down) {
    services_.log.write(LogLevel::info, "keys of an issuer fetched",
                        {{"issuer", issuer_}, {"url", url}, {"keys", uint64_t{keys->size()}}});
  }
  if (!is_new) return;
  // Those that it has taken back need not be looked for.
  for (const std::string_view id :
       keys_ ? keys_->ids_missing_in(*keys) : std::vector<std::string_view>()) {
    add_missing(id, 0);
  }
  keys_ = *std::move(keys);
  text_ = fetched.body;
  if (changed_) changed_();
}

void IssuerKeys::fail(FetchOutcome outcome, std::string_view url, std::string_view detail) {
  services_.observer.on_keys_fetched(outcome);
  problem_ = std::string(url).append(": ").append(detail);
  services_.log.write(LogLevel::warn, "keys of an issuer not fetched",
                      {{"issuer", issuer_},
                       {"url", url},
                       {"outcome", fetch_outcome_name(outcome)},
                       {"detail", detail},
                       {"keys_in_use", uint64_t{keys_ ? keys_->size() : 0}},
                       {"next_try_in_ms", retry_}});
  timer_.arm(services_.clock.now() + retry_);
  retry_ = std::min<Duration>(retry_ * 2, kLastRetry);
}

}  // namespace stdgate::auth

#include "transports/auth/tokens.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "gateway/base/check.h"
#include "gateway/base/encodings.h"
#include "gateway/base/time.h"

namespace stdgate::auth {

namespace {

using Element = simdjson::dom::element;
using Outcome = Judgement::Outcome;
using std::chrono::seconds;

Judgement refuse_token(std::string_view why, std::string detail = {}) {
  return {.outcome = Outcome::unknown, .problem = why, .detail = std::move(detail)};
}

// For the log: '"a", "b"', of what is long its beginning.
std::string in_quotes(const std::vector<std::string>& texts) {
  constexpr size_t kMaxTexts = 5;
  constexpr size_t kMaxShown = 200;
  std::string list;
  for (size_t i = 0; i < std::min(texts.size(), kMaxTexts); ++i) {
    list.append(i == 0 ? "\"" : ", \"").append(texts[i], 0, kMaxShown).append("\"");
  }
  return list.empty() ? "nothing" : list;
}

// The three parts of a compact token (RFC 7515 section 7.1).
struct Parts {
  std::string_view header;
  std::string_view claims;
  std::string_view signature;
  std::string_view signed_text;
};

// `token` has two dots.
Parts split(std::string_view token) {
  const size_t first = token.find('.');
  const size_t last = token.rfind('.');
  return {token.substr(0, first), token.substr(first + 1, last - first - 1), token.substr(last + 1),
          token.substr(0, last)};
}

// One part as a JSON object; its texts live as long as its parser.
class JsonPart {
 public:
  explicit JsonPart(std::string_view base64) {
    const auto text = decode_base64(base64, Base64Alphabet::url);
    if (!text) return;
    Element root;
    simdjson::dom::object object;
    if (parser_.parse(*text).get(root) != simdjson::SUCCESS ||
        root.get(object) != simdjson::SUCCESS || has_twins(object)) {
      return;
    }
    root_ = root;
  }

  [[nodiscard]] bool is_object() const { return root_.has_value(); }
  [[nodiscard]] bool has(std::string_view key) const {
    return (*root_)[key].error() == simdjson::SUCCESS;
  }
  // Nothing: absent, or no text.
  [[nodiscard]] std::optional<std::string_view> text(std::string_view key) const {
    std::string_view text;
    if ((*root_)[key].get(text) != simdjson::SUCCESS) return std::nullopt;
    return text;
  }
  // Seconds since 1970; fractions are cut off. Nothing: absent, no number, or not of our time.
  [[nodiscard]] std::optional<int64_t> time(std::string_view key) const {
    constexpr double kLast = 253402300799;  // the end of the year 9999
    double number = 0;
    if ((*root_)[key].get(number) != simdjson::SUCCESS || !(number >= 0 && number <= kLast)) {
      return std::nullopt;
    }
    return static_cast<int64_t>(number);
  }
  // A list of texts, or one text. Empty: absent, or something else.
  [[nodiscard]] std::vector<std::string> texts(std::string_view key) const {
    return texts_of((*root_)[key]);
  }
  // The value at a path of keys between dots; a key may have dots itself.
  [[nodiscard]] std::vector<std::string> texts_at(std::string_view path) const {
    if (has(path)) return texts(path);
    simdjson::simdjson_result<Element> at(Element{*root_});
    while (!path.empty()) {
      const size_t end = std::min(path.find('.'), path.size());
      at = at[path.substr(0, end)];
      path.remove_prefix(std::min(end + 1, path.size()));
    }
    return texts_of(at);
  }

 private:
  static std::vector<std::string> texts_of(simdjson::simdjson_result<Element> value) {
    std::vector<std::string> texts;
    std::string_view text;
    simdjson::dom::array items;
    if (value.get(text) == simdjson::SUCCESS) {
      texts.emplace_back(text);
    } else if (value.get(items) == simdjson::SUCCESS) {
      for (const Element item : items) {
        if (item.get(text) == simdjson::SUCCESS) texts.emplace_back(text);
      }
    }
    return texts;
  }
  // Readers disagree about which of two equal keys counts (RFC 7519 section 4).
  static bool has_twins(simdjson::dom::object object) {
    std::vector<std::string_view> keys;
    for (const auto& [key, value] : object) keys.push_back(key);
    std::ranges::sort(keys);
    return std::ranges::adjacent_find(keys) != keys.end();
  }

  simdjson::dom::parser parser_;
  std::optional<Element> root_;
};

bool is_one_of(const std::vector<std::string>& some, const std::vector<std::string>& others) {
  return std::ranges::any_of(some, [&others](const std::string& one) {
    return std::ranges::find(others, one) != others.end();
  });
}

bool is_for(const Resource& resource, const std::vector<std::string>& audience) {
  return std::ranges::any_of(
      audience, [&resource](const std::string& one) { return resource.is_meant_by(one); });
}

// `expected`: of the configuration; none: the URL that is asked.
Judgement refuse_audience(const Resource& resource, const std::vector<std::string>& audience,
                          const std::vector<std::string>& expected) {
  std::string wanted = in_quotes(expected);
  if (expected.empty()) {
    wanted = in_quotes({std::string(resource.public_url).append(resource.path)});
  }
  return refuse_token("the token is for another audience",
                      "the token's aud is " + in_quotes(audience) + ", not " + wanted);
}

std::vector<std::string> words_of(const std::vector<std::string>& texts) {
  std::vector<std::string> words;
  for (std::string_view text : texts) {
    while (!text.empty()) {
      const size_t end = std::min(text.find(' '), text.size());
      if (end > 0) words.emplace_back(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }
  return words;
}

std::vector<std::string> scopes_of(const JsonPart& claims) {
  return words_of(claims.texts(claims.has("scope") ? "scope" : "scp"));
}

policy::Principal principal_of(const JsonPart& claims, const config::JwtConfig& issuer) {
  policy::Principal principal;
  principal.kind = policy::Principal::Kind::token;
  principal.name = principal.subject = claims.text("sub").value_or("");
  principal.issuer = issuer.issuer;
  if (!issuer.roles.empty()) principal.roles = claims.texts_at(issuer.roles);
  principal.scopes = scopes_of(claims);
  return principal;
}

// The claims of a token whose signature is good. `kept` gets the audience if that is to be
// judged with each request.
Judgement judge_claims(const Resource& resource, const JsonPart& claims,
                       const config::JwtConfig& issuer, const Clocks& clocks,
                       std::vector<std::string>& kept) {
  std::vector<std::string> audience = claims.texts("aud");
  const bool is_default = issuer.audience.empty();
  const bool is_meant =
      is_default ? is_for(resource, audience) : is_one_of(audience, issuer.audience);
  if (!is_meant) return refuse_audience(resource, audience, issuer.audience);
  if (is_default) kept = std::move(audience);
  const std::string_view subject = claims.text("sub").value_or("");
  if (subject.empty()) return refuse_token("the token has no subject");
  if (subject.size() > Tokens::kMaxSubject) return refuse_token("the token's subject is too long");
  const auto now = std::chrono::time_point_cast<seconds>(clocks.now()).time_since_epoch();
  const auto is_future = [&](std::string_view claim) {
    if (!claims.has(claim)) return false;
    const auto time = claims.time(claim);
    return !time || seconds(*time) > now + Tokens::kLeeway;
  };
  const auto end = claims.time("exp");
  if (!end) return refuse_token("the token does not say when it ends");
  if (is_future("nbf") || is_future("iat")) return refuse_token("the token is not valid yet");
  policy::Principal principal = principal_of(claims, issuer);
  principal.expires = calendar_time(std::chrono::sys_seconds(seconds(*end) + Tokens::kLeeway));
  Identity identity{std::make_shared<const policy::Principal>(std::move(principal))};
  identity.expires = clocks.at(*identity.principal->expires);
  if (clocks.clock.now() >= identity.expires) return {.outcome = Outcome::expired};
  return {.outcome = Outcome::accepted, .identity = std::move(identity)};
}

}  // namespace

Tokens::Tokens(const std::vector<config::JwtConfig>& issuers, const Clocks& clocks,
               const KeyServices& services, Tokens* predecessor)
    : clocks_(clocks) {
  for (const config::JwtConfig& config : issuers) {
    Issuer& issuer = issuers_.emplace_back();
    issuer.config = config;
    if (predecessor != nullptr) issuer.keys = predecessor->give_keys(config);
    if (issuer.keys == nullptr) issuer.keys = std::make_unique<IssuerKeys>(config, services);
    issuer.keys->on_change([this] { forget_all(); });
    for (const std::string& name : config.algorithms) {
      issuer.algorithms.push_back(find_algorithm(name));
    }
  }
}

// Null: it has none that were found so.
std::unique_ptr<IssuerKeys> Tokens::give_keys(const config::JwtConfig& config) {
  for (Issuer& issuer : issuers_) {
    const bool is_same = issuer.config.issuer == config.issuer && issuer.config.jwks == config.jwks;
    if (is_same && issuer.keys != nullptr) return std::move(issuer.keys);
  }
  return nullptr;
}

std::optional<Judgement> Tokens::judge(const Credential& credential) {
  const std::string_view token = credential.text;
  // A brace in base64, and three parts.
  const bool looks_so = credential.form == Credential::Form::bearer && token.starts_with('e') &&
                        std::ranges::count(token, '.') == 2;
  if (!looks_so) return std::nullopt;
  if (token.size() > kMaxToken) return refuse_token("the token is too long");
  const Digest digest = sha256_.of(token);
  if (const auto found = judged_.find(digest); found != judged_.end()) {
    return judge_again(credential, found->second);
  }
  Known known;
  Judgement judgement = judge_anew(credential, known);
  if (judgement.outcome != Outcome::accepted) return judgement;
  known.identity = judgement.identity;
  remember(digest, std::move(known));
  return judgement;
}

// The audience depends on the request.
Judgement Tokens::judge_again(const Credential& credential, const Known& known) const {
  if (now() >= known.identity.expires) return {.outcome = Outcome::expired};
  if (!known.audience.empty() && !is_for(credential.resource, known.audience)) {
    return refuse_audience(credential.resource, known.audience, {});
  }
  return {.outcome = Outcome::accepted, .identity = known.identity};
}

void Tokens::remember(const Digest& digest, Known known) {
  if (judged_.size() == kMaxJudged) {
    judged_.erase(order_.front());
    order_.pop_front();
  }
  if (judged_.emplace(digest, std::move(known)).second) order_.push_back(digest);
}

// Keys that an issuer has taken back are good for nothing any more.
void Tokens::forget_all() {
  if (++revision_ == 0) revision_ = 1;
  judged_.clear();
  order_.clear();
}

std::vector<KeyFacts> Tokens::key_facts() const {
  std::vector<KeyFacts> facts;
  facts.reserve(issuers_.size());
  for (const Issuer& issuer : issuers_) facts.push_back(issuer.keys->facts());
  return facts;
}

Judgement Tokens::judge_anew(const Credential& credential, Known& known) {
  const Parts parts = split(credential.text);
  const JsonPart header(parts.header);
  const JsonPart claims(parts.claims);
  const auto signature = decode_base64(parts.signature, Base64Alphabet::url);
  if (!header.is_object() || !claims.is_object() || !signature) {
    return refuse_token("the token is malformed");
  }
  if (header.has("crit")) return refuse_token("the token asks for what is not known here (crit)");
  const auto name = claims.text("iss").value_or("");
  const auto issuer = std::ranges::find_if(
      issuers_, [name](const Issuer& one) { return one.config.issuer == name; });
  if (issuer == issuers_.end()) {
    std::vector<std::string> known_issuers;
    known_issuers.reserve(issuers_.size());
    for (const Issuer& one : issuers_) known_issuers.push_back(one.config.issuer);
    return refuse_token("the token's issuer is not known", "the token's iss is " +
                                                               in_quotes({std::string(name)}) +
                                                               ", not " + in_quotes(known_issuers));
  }
  const SignatureAlgorithm* const algorithm = find_algorithm(header.text("alg").value_or(""));
  if (algorithm == nullptr ||
      std::ranges::find(issuer->algorithms, algorithm) == issuer->algorithms.end()) {
    return refuse_token("the token's algorithm is not allowed");
  }
  if (header.has("kid") && header.text("kid").value_or("").empty()) {
    return refuse_token("the token is malformed");
  }
  if (issuer->keys->keys() == nullptr) {
    return {.outcome = Outcome::undecided,
            .problem = "the keys of the token's issuer have not come yet"};
  }
  const std::string_view key_id = header.text("kid").value_or("");
  evp_pkey_st* const key = issuer->keys->keys()->find(key_id, *algorithm);
  if (key == nullptr) {
    if (!issuer->keys->look_for(key_id)) return refuse_token("the token's key is not known");
    return {.outcome = Outcome::undecided, .problem = "the token's key is not known yet"};
  }
  if (!verify(*algorithm, *key, parts.signed_text, *signature)) {
    return refuse_token("the token's signature is wrong");
  }
  return judge_claims(credential.resource, claims, issuer->config, clocks_, known.audience);
}

std::string check_keys(const config::JwksConfig& config) {
  if (config.is_fetched()) return {};
  const auto keys = Jwks::parse(config.keys);
  return keys ? std::string() : keys.error();
}

}  // namespace stdgate::auth

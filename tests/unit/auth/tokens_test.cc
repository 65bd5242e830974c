// Tokens: which are valid, and why each of the others is refused.
#include "transports/auth/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/base/encodings.h"
#include "gateway/config/options/auth_options.h"
#include "tests/support/fake_fetcher.h"
#include "tests/support/manual_clock.h"
#include "tests/support/recording_log.h"
#include "tests/support/test_issuer.h"

namespace stdgate::auth {
namespace {

using Outcome = Judgement::Outcome;
using test::TestIssuer;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kIssuer = "https://id.example";
constexpr const char* kAudience = "https://tools.example/mcp";

// The tests share one key, because making a key takes long.
const TestIssuer& shared_issuer() {
  static const TestIssuer kShared(TestIssuer::Kind::rsa);
  return kShared;
}

class TokensTest : public testing::Test {
 protected:
  TokensTest() {
    config_.issuer = kIssuer;
    config_.audience = {kAudience, "other"};
    config_.roles = "realm_access.roles";
    config_.jwks.file = "jwks.json";
    config_.jwks.keys = rsa_.jwks();
  }
  [[nodiscard]] int64_t now() const {
    return std::chrono::duration_cast<std::chrono::seconds>(clocks_.now().time_since_epoch())
        .count();
  }
  // The usual claims, after the claims of `more`. Each claim of `more` ends with a comma.
  [[nodiscard]] std::string claims(const std::string& more = "") const {
    return "{" + more + R"("iss":")" + kIssuer + R"(","aud":")" + kAudience +
           R"(","sub":"ada","exp":)" + std::to_string(now() + 600) + "}";
  }
  // The usual claims, with `text` in place of `part`.
  [[nodiscard]] std::string claims_with(const std::string& part, const std::string& text) const {
    std::string changed = claims();
    const size_t at = changed.find(part);
    EXPECT_NE(at, std::string::npos) << part;
    return changed.replace(at, part.size(), text);
  }
  [[nodiscard]] std::string end() const { return R"("exp":)" + std::to_string(now() + 600); }
  Judgement judge(std::string_view token, Credential::Form form = Credential::Form::bearer) {
    Tokens tokens({config_}, clocks_, services_);
    return tokens.judge(Credential{form, token}).value_or(Judgement{.problem = "no token"});
  }
  [[nodiscard]] std::string rs256(const std::string& header, const std::string& text) const {
    return rsa_.token("RS256", header, text);
  }

  test::ManualClock clock_;
  test::Calendar calendar_;
  const Clocks clocks_{clock_, calendar_};
  TimerQueue timers_;
  test::FakeFetcher fetcher_;
  test::RecordingLog log_;
  Observer observer_;
  const KeyServices services_{fetcher_, clock_, timers_, log_, observer_};
  const TestIssuer& rsa_ = shared_issuer();
  config::JwtConfig config_;
};

TEST_F(TokensTest, FetchedKeysGoOnToTheirSuccessor) {
  config_.jwks = {};
  config_.jwks.url = "https://id.example/jwks";
  config::JwtConfig other = config_;
  other.issuer = "https://other.example";
  Tokens former({config_}, clocks_, services_);
  timers_.run_due(clock_.now());
  fetcher_.finish_json(rsa_.jwks());
  const std::string token = rsa_.token("RS256", claims());
  const Credential credential{Credential::Form::bearer, token};
  ASSERT_EQ(former.judge(credential)->outcome, Outcome::accepted);
  Tokens next({other, config_}, clocks_, services_, &former);
  EXPECT_EQ(next.judge(credential)->outcome, Outcome::accepted);
  config_.audience = {"https://elsewhere.example"};
  Tokens last({config_}, clocks_, services_, &next);
  EXPECT_EQ(last.judge(credential)->outcome, Outcome::unknown) << "it is for somebody else";
  config_.jwks.url = "https://id.example/other-keys";
  Tokens moved({config_}, clocks_, services_, &last);
  EXPECT_EQ(moved.judge(credential)->outcome, Outcome::undecided) << "the keys are elsewhere";
}

TEST_F(TokensTest, AGoodOneSaysWhoItIs) {
  const Judgement judgement = judge(rsa_.token(
      "RS256", claims(R"("realm_access":{"roles":["ci",7,"ops"]},"scope":"a  b c","scp":["x"],)")));
  ASSERT_EQ(judgement.outcome, Outcome::accepted) << judgement.problem;
  const policy::Principal& ada = *judgement.identity.principal;
  EXPECT_EQ(ada.kind, policy::Principal::Kind::token);
  EXPECT_EQ(ada.name, "ada");
  EXPECT_EQ(ada.subject, "ada");
  EXPECT_EQ(ada.issuer, kIssuer);
  EXPECT_THAT(ada.roles, ElementsAre("ci", "ops"));
  EXPECT_THAT(ada.scopes, ElementsAre("a", "b", "c"));
  EXPECT_GT(judgement.identity.expires, clock_.now() + std::chrono::seconds(628));
  EXPECT_LE(judgement.identity.expires, clock_.now() + std::chrono::seconds(630));
}

TEST_F(TokensTest, WhereRolesAndScopesStand) {
  struct Case {
    std::string path;
    std::string claims;
    std::vector<std::string> roles;
  };
  const Case cases[] = {
      {"roles", R"("roles":["a","b"],)", {"a", "b"}},
      {"roles", R"("roles":"a b",)", {"a b"}},
      {"roles", R"("roles":{"a":1},)", {}},
      {"roles", "", {}},
      {"", R"("roles":["a"],)", {}},
      {"https://x.example/roles", R"("https://x.example/roles":["a"],)", {"a"}},
      {"a.b.c", R"("a":{"b":{"c":["d"]}},)", {"d"}},
      {"a.b.c", R"("a":{"b":["c"]},)", {}},
  };
  for (const Case& c : cases) {
    config_.roles = c.path;
    const Judgement judgement = judge(rsa_.token("RS256", claims(c.claims)));
    ASSERT_EQ(judgement.outcome, Outcome::accepted) << judgement.problem;
    EXPECT_EQ(judgement.identity.principal->roles, c.roles) << c.path << c.claims;
  }
  const auto scopes = [&](const std::string& more) {
    return judge(rsa_.token("RS256", claims(more))).identity.principal->scopes;
  };
  EXPECT_THAT(scopes(R"("scp":["a","b"],)"), ElementsAre("a", "b"));
  EXPECT_THAT(scopes(R"("scp":"a b",)"), ElementsAre("a", "b"));
  EXPECT_THAT(scopes(""), IsEmpty());
}

TEST_F(TokensTest, EveryAlgorithm) {
  const std::pair<TestIssuer::Kind, std::vector<std::string>> kinds[] = {
      {TestIssuer::Kind::rsa, {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}},
      {TestIssuer::Kind::p256, {"ES256"}},
      {TestIssuer::Kind::p384, {"ES384"}},
      {TestIssuer::Kind::ed25519, {"EdDSA"}},
  };
  for (const auto& [kind, algorithms] : kinds) {
    const TestIssuer issuer(kind);
    config_.jwks.keys = issuer.jwks();
    for (const std::string& algorithm : algorithms) {
      config_.algorithms = {algorithm};
      const std::string token = issuer.token(algorithm, claims());
      EXPECT_EQ(judge(token).outcome, Outcome::accepted) << algorithm << judge(token).problem;
      config_.algorithms = {algorithm == "RS256" ? "PS256" : "RS256"};
      EXPECT_EQ(judge(token).problem, "the token's algorithm is not allowed") << algorithm;
      config_.algorithms = {algorithm};
      std::string changed = token;
      const size_t at = changed.rfind('.') + 10;
      changed[at] = changed[at] == 'A' ? 'B' : 'A';
      EXPECT_EQ(judge(changed).problem, "the token's signature is wrong") << algorithm;
    }
  }
  for (const std::string_view name : config::kJwtAlgorithms) {
    EXPECT_NE(find_algorithm(name), nullptr) << name;
  }
}

TEST_F(TokensTest, ForgedOnes) {
  const TestIssuer mallory(TestIssuer::Kind::rsa);
  const TestIssuer curve(TestIssuer::Kind::p256);
  const std::string good = rsa_.token("RS256", claims());
  const std::string unsigned_part = good.substr(0, good.rfind('.') + 1);
  const std::string signature = good.substr(good.rfind('.') + 1);
  const auto head = [](const std::string& text) { return encode_base64url(text) + "."; };
  const std::string body = encode_base64url(claims()) + ".";
  const std::pair<std::string, const char*> cases[] = {
      {head(R"({"alg":"none"})") + body, "algorithm is not allowed"},
      {head(R"({"alg":"None"})") + body, "algorithm is not allowed"},
      {head(R"({"alg":"NONE"})") + body + signature, "algorithm is not allowed"},
      {head(R"({"alg":""})") + body, "algorithm is not allowed"},
      {head("{}") + body, "algorithm is not allowed"},
      {head(R"({"alg":["RS256"]})") + body + signature, "algorithm is not allowed"},
      {head(R"({"alg":"rs256"})") + body + signature, "algorithm is not allowed"},
      {rsa_.confused_token(claims()), "algorithm is not allowed"},
      {head(R"({"alg":"RS256","kid":"k1"})") + body, "signature is wrong"},
      {unsigned_part, "signature is wrong"},
      {mallory.token("RS256", claims()), "signature is wrong"},
      {rsa_.token("PS256", R"({"alg":"RS256","kid":"k1"})", claims()), "signature is wrong"},
      {rsa_.token("RS256", R"({"alg":"PS256","kid":"k1"})", claims()), "signature is wrong"},
      {curve.token("ES256", R"({"alg":"ES256","kid":"k1"})", claims()), "key is not known"},
      {rs256(R"({"alg":"RS256","kid":"k2"})", claims()), "key is not known"},
      {rs256(R"({"alg":"RS256","kid":"../../dev/null"})", claims()), "key is not known"},
      {rs256(R"({"alg":"RS256","kid":"k1' OR '1'='1"})", claims()), "key is not known"},
      {rs256(R"({"alg":"RS256","kid":""})", claims()), "malformed"},
      {rs256(R"({"alg":"RS256","kid":7})", claims()), "malformed"},
      {mallory.token("RS256", R"({"alg":"RS256","jwk":)" + mallory.jwk() + "}", claims()),
       "signature is wrong"},
      {mallory.token("RS256", R"({"alg":"RS256","jku":"https://evil.example"})", claims()),
       "signature is wrong"},
      {rs256(R"({"alg":"RS256","crit":["exp"],"kid":"k1"})", claims()), "crit"},
      {rs256(R"({"alg":"RS256","crit":[],"kid":"k1"})", claims()), "crit"},
      {rs256(R"({"alg":"RS256","alg":"RS256"})", claims()), "malformed"},
      {rs256(R"(["RS256"])", claims()), "no token"},
      {rs256("{", claims()), "malformed"},
      {good + ".", "no token"},
      {good + ".x.y", "no token"},
      {good + "=", "malformed"},
      {"ey.", "no token"},
      {"ey..", "malformed"},
      {"e" + good, "malformed"},
      {" " + good, "no token"},
  };
  for (const auto& [token, problem] : cases) {
    const Judgement judgement = judge(token);
    EXPECT_EQ(judgement.outcome, Outcome::unknown) << token;
    EXPECT_THAT(std::string(judgement.problem), HasSubstr(problem)) << token;
    EXPECT_EQ(judgement.identity.principal, nullptr);
  }
  EXPECT_EQ(judge(good).outcome, Outcome::accepted);
  EXPECT_EQ(judge(rs256(R"({"alg":"RS256"})", claims())).outcome, Outcome::accepted)
      << "there is but one key";
  EXPECT_EQ(judge(good, Credential::Form::api_key).problem, "no token");
}

TEST_F(TokensTest, KeysThatAreTooShort) {
  const TestIssuer small(TestIssuer::Kind::small_rsa);
  config_.jwks.keys =
      R"({"keys":[)" + small.jwk() + "," + TestIssuer(TestIssuer::Kind::p256).jwk() + "]}";
  EXPECT_EQ(judge(small.token("RS256", claims())).problem, "the token's key is not known");
}

TEST_F(TokensTest, ClaimsThatAreNotGoodEnough) {
  const std::string iss = std::string(R"("iss":")") + kIssuer + '"';
  const std::string aud = std::string(R"("aud":")") + kAudience + '"';
  const auto at = [&](int64_t seconds) { return std::to_string(now() + seconds); };
  const std::pair<std::string, const char*> cases[] = {
      {claims_with(iss, R"("iss":"https://id.example/")"), "issuer is not known"},
      {claims_with(iss, R"("iss":"https://ID.example")"), "issuer is not known"},
      {claims_with(iss, R"("iss":["https://id.example"])"), "issuer is not known"},
      {claims_with(iss, R"("x":1)"), "issuer is not known"},
      {claims_with(aud, R"("aud":"https://tools.example")"), "another audience"},
      {claims_with(aud, R"("aud":"https://tools.example/mcp2")"), "another audience"},
      {claims_with(aud, R"("aud":[])"), "another audience"},
      {claims_with(aud, R"("aud":7)"), "another audience"},
      {claims_with(aud, R"("x":1)"), "another audience"},
      {claims_with(R"("sub":"ada")", R"("sub":"")"), "no subject"},
      {claims_with(R"("sub":"ada")", R"("sub":7)"), "no subject"},
      {claims_with(R"("sub":"ada")", R"("sub":")" + std::string(513, 'a') + '"'), "too long"},
      {claims_with(R"("sub":"ada")", R"("x":"ada")"), "no subject"},
      {claims_with(end(), R"("x":1)"), "when it ends"},
      {claims_with(end(), R"("exp":")" + at(600) + '"'), "when it ends"},
      {claims_with(end(), R"("exp":-1)"), "when it ends"},
      {claims_with(end(), R"("exp":1e300)"), "when it ends"},
      {claims_with(end(), R"("exp":null)"), "when it ends"},
      {claims(R"("nbf":)" + at(31) + ","), "not valid yet"},
      {claims(R"("nbf":"now",)"), "not valid yet"},
      {claims(R"("iat":)" + at(31) + ","), "not valid yet"},
      {claims(R"("iss":"https://evil.example",)"), "malformed"},
      {claims(R"("exp":)" + at(6000) + ","), "malformed"},
      {"[" + claims() + "]", "malformed"},
      {claims() + "x", "malformed"},
  };
  for (const auto& [text, problem] : cases) {
    const Judgement judgement = judge(rsa_.token("RS256", text));
    EXPECT_EQ(judgement.outcome, Outcome::unknown) << text;
    EXPECT_THAT(std::string(judgement.problem), HasSubstr(problem)) << text;
  }
  const std::string good[] = {
      claims_with(aud, R"("aud":["x","other"])"), claims(R"("nbf":)" + at(29) + ","),
      claims(R"("iat":)" + at(29) + ".5,"),       claims_with(end(), R"("exp":)" + at(-28)),
      claims_with(end(), R"("exp":1e11)"),
  };
  for (const std::string& text : good) {
    const Judgement judgement = judge(rsa_.token("RS256", text));
    EXPECT_EQ(judgement.outcome, Outcome::accepted) << text << judgement.problem;
  }
  EXPECT_EQ(judge(rsa_.token("RS256", claims_with(end(), R"("exp":)" + at(-31)))).outcome,
            Outcome::expired);
}

TEST_F(TokensTest, HaveALimit) {
  const auto padded = [this](size_t pad) {
    return rsa_.token("RS256", claims(R"("pad":")" + std::string(pad, 'x') + R"(",)"));
  };
  size_t pad = (Tokens::kMaxToken - padded(0).size()) * 3 / 4;
  while (padded(pad).size() > Tokens::kMaxToken) --pad;
  while (padded(pad + 1).size() <= Tokens::kMaxToken) ++pad;
  EXPECT_EQ(judge(padded(pad)).outcome, Outcome::accepted);
  EXPECT_EQ(judge(padded(pad + 1)).problem, "the token is too long");
}

TEST_F(TokensTest, GoodOnesAreKnownAgainUntilTheyExpire) {
  Tokens tokens({config_}, clocks_, services_);
  const std::string token = rsa_.token("RS256", claims());
  const auto judged = [&](std::string_view text) {
    return *tokens.judge(Credential{Credential::Form::bearer, text});
  };
  const Judgement first = judged(token);
  EXPECT_EQ(tokens.judged(), 1U);
  EXPECT_EQ(judged(token).identity.principal, first.identity.principal) << "the very same";
  EXPECT_EQ(judged(token + "x").outcome, Outcome::unknown);
  EXPECT_EQ(tokens.judged(), 1U) << "bad ones are not kept";
  tokens.forget_all();
  EXPECT_EQ(tokens.judged(), 0U);
  EXPECT_EQ(judged(token).outcome, Outcome::accepted) << "judged anew";
  EXPECT_EQ(tokens.judged(), 1U);
  clock_.set(first.identity.expires);
  EXPECT_EQ(judged(token).outcome, Outcome::expired);
}

TEST_F(TokensTest, OnlySoManyAreKnownAgain) {
  const TestIssuer issuer(TestIssuer::Kind::ed25519);
  config_.jwks.keys = issuer.jwks();
  Tokens tokens({config_}, clocks_, services_);
  for (size_t i = 0; i <= Tokens::kMaxJudged; ++i) {
    const std::string token =
        issuer.token("EdDSA", claims(R"("jti":")" + std::to_string(i) + R"(",)"));
    ASSERT_EQ(tokens.judge(Credential{Credential::Form::bearer, token})->outcome,
              Outcome::accepted);
  }
  EXPECT_EQ(tokens.judged(), Tokens::kMaxJudged);
}

}  // namespace
}  // namespace stdgate::auth

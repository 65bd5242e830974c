// IssuerKeys: when keys are fetched, and which answers are believed.
#include "transports/auth/issuer_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_fetcher.h"
#include "tests/support/manual_clock.h"
#include "tests/support/recording_log.h"
#include "tests/support/test_issuer.h"

namespace stdgate::auth {

namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using test::TestIssuer;
using testing::ElementsAre;
using testing::HasSubstr;

struct CountingObserver final : Observer {
  void on_keys_fetched(FetchOutcome outcome) override { outcomes.push_back(outcome); }
  std::vector<FetchOutcome> outcomes;
};

class IssuerKeysTest : public testing::Test {
 protected:
  IssuerKeysTest() { config_.issuer = "https://id.example/tenant"; }
  IssuerKeys& make(const std::string& url = "https://id.example/jwks") {
    config_.jwks.url = url;
    keys_ = std::make_unique<IssuerKeys>(config_,
                                         KeyServices{fetcher_, clock_, timers_, log_, observer_});
    keys_->on_change([this] { ++changes_; });
    timers_.run_due(clock_.now());
    return *keys_;
  }
  void pass(Duration time) {
    clock_.set(clock_.now() + time);
    timers_.run_due(clock_.now());
  }
  [[nodiscard]] std::string description(const std::string& uri = "https://id.example/jwks") const {
    return R"({"issuer":")" + config_.issuer + R"(","jwks_uri":")" + uri + "\"}";
  }
  [[nodiscard]] bool is_down_with(FetchOutcome outcome) const {
    return !observer_.outcomes.empty() && observer_.outcomes.back() == outcome &&
           !keys_->facts().problem.empty();
  }
  [[nodiscard]] bool knows(const std::string& kid) const {
    return keys_->keys() != nullptr &&
           keys_->keys()->find(kid, *find_algorithm("ES256")) != nullptr;
  }

  test::ManualClock clock_;
  TimerQueue timers_;
  test::FakeFetcher fetcher_;
  test::RecordingLog log_;
  CountingObserver observer_;
  config::JwtConfig config_;
  int changes_ = 0;
  const TestIssuer old_{TestIssuer::Kind::p256, "old"};
  const TestIssuer new_{TestIssuer::Kind::p256, "new"};
  std::unique_ptr<IssuerKeys> keys_;
};

TEST_F(IssuerKeysTest, AreFetchedAtStartAndBeforeTheyAreStale) {
  make();
  EXPECT_THAT(fetcher_.urls, ElementsAre("https://id.example/jwks"));
  EXPECT_EQ(keys_->keys(), nullptr);
  fetcher_.finish_json(old_.jwks(), "public, max-age=4000");
  EXPECT_TRUE(knows("old"));
  EXPECT_EQ(keys_->facts().age, Duration::zero());
  EXPECT_EQ(fetcher_.under_way, 0);
  pass(seconds(2999));
  EXPECT_EQ(fetcher_.urls.size(), 1U);
  pass(seconds(1));
  EXPECT_EQ(fetcher_.urls.size(), 2U);
  fetcher_.finish_json(old_.jwks());
  EXPECT_EQ(changes_, 1) << "the same ones";
  pass(minutes(45));
  fetcher_.finish_json(new_.jwks());
  EXPECT_EQ(changes_, 2);
  EXPECT_FALSE(knows("old"));
  EXPECT_TRUE(knows("new"));
}

TEST_F(IssuerKeysTest, LifetimesHaveBounds) {
  const std::pair<const char*, Duration> cases[] = {
      {"", hours(1)},
      {"max-age=0", minutes(5)},
      {"max-age=299", minutes(5)},
      {"MAX-AGE=301", seconds(301)},
      {"private, max-age=\"600\"", minutes(10)},
      {"no-store", minutes(5)},
      {"no-cache, max-age=7200", minutes(5)},
      {"max-age=86401", hours(24)},
      {"max-age=99999999999999999999999", hours(24)},
      {"max-age=-1", hours(1)},
      {"max-age=1h", hours(1)},
      {"max-age", hours(1)},
      {"s-maxage=600", hours(1)},
  };
  for (const auto& [cache_control, lifetime] : cases) {
    fetcher_.urls.clear();
    make();
    fetcher_.finish_json(old_.jwks(), cache_control);
    pass(lifetime - lifetime / 4 - seconds(1));
    EXPECT_EQ(fetcher_.urls.size(), 1U) << cache_control;
    pass(seconds(1));
    EXPECT_EQ(fetcher_.urls.size(), 2U) << cache_control;
  }
}

TEST_F(IssuerKeysTest, AMissingKeyIsLookedForAtOnceAndThenSeldom) {
  make();
  fetcher_.finish_json(old_.jwks());
  pass(seconds(1));
  keys_->look_for("new");
  keys_->look_for("new");
  pass(seconds(0));
  EXPECT_EQ(fetcher_.urls.size(), 2U);
  keys_->look_for("new");
  fetcher_.finish_json(old_.jwks());
  for (int i = 0; i < 29; ++i) {
    keys_->look_for("new");
    pass(seconds(1));
  }
  EXPECT_EQ(fetcher_.urls.size(), 2U);
  pass(seconds(1));
  EXPECT_EQ(fetcher_.urls.size(), 3U);
  fetcher_.finish_json(new_.jwks());
  EXPECT_TRUE(knows("new"));
}

TEST_F(IssuerKeysTest, NothingIsSaidOfAMissingKeyBeforeTheyHaveBeenFetchedOnceMore) {
  make();
  EXPECT_TRUE(keys_->look_for("early")) << "the first ones are on their way";
  fetcher_.finish_json(old_.jwks());
  EXPECT_TRUE(keys_->look_for("early")) << "they may have been written before it was asked for";
  pass(seconds(0));
  EXPECT_TRUE(keys_->look_for("early"));
  EXPECT_TRUE(keys_->look_for("late")) << "while a fetch is under way";
  fetcher_.finish_json(old_.jwks());
  EXPECT_FALSE(keys_->look_for("early"));
  EXPECT_TRUE(keys_->look_for("late"));
  pass(seconds(30));
  fetcher_.finish({.outcome = FetchOutcome::unreachable});
  EXPECT_TRUE(keys_->look_for("late")) << "that one has brought nothing";
  pass(minutes(1));
  fetcher_.finish_json(old_.jwks());
  EXPECT_FALSE(keys_->look_for("late"));
}

TEST_F(IssuerKeysTest, InventedKeysPushOutNoMoreThanTheOldest) {
  make();
  fetcher_.finish_json(old_.jwks());
  for (size_t i = 0; i < IssuerKeys::kMaxMissing; ++i) {
    EXPECT_TRUE(keys_->look_for("k" + std::to_string(i)));
  }
  pass(seconds(0));
  fetcher_.finish_json(old_.jwks());
  EXPECT_FALSE(keys_->look_for("k0"));
  EXPECT_TRUE(keys_->look_for("one more"));
  EXPECT_FALSE(keys_->look_for("k1"));
  EXPECT_TRUE(keys_->look_for("k0")) << "it has been forgotten";
}

TEST_F(IssuerKeysTest, StayInUseWhileTheIssuerIsDown) {
  make();
  fetcher_.finish_json(old_.jwks());
  pass(minutes(45));
  for (const Duration wait : {seconds(1), seconds(2), seconds(4), seconds(8), seconds(16),
                              seconds(32), seconds(60), seconds(60)}) {
    const size_t asked = fetcher_.urls.size();
    fetcher_.finish({.outcome = FetchOutcome::unreachable, .detail = "refused"});
    EXPECT_TRUE(is_down_with(FetchOutcome::unreachable));
    EXPECT_TRUE(knows("old"));
    pass(wait - std::chrono::milliseconds(1));
    EXPECT_EQ(fetcher_.urls.size(), asked);
    pass(std::chrono::milliseconds(1));
    EXPECT_EQ(fetcher_.urls.size(), asked + 1);
  }
  EXPECT_GT(*keys_->facts().age, minutes(45));
  EXPECT_THAT(log_.lines.back(), HasSubstr("detail=refused"));
  fetcher_.finish_json(old_.jwks());
  EXPECT_EQ(keys_->facts().problem, "");
  EXPECT_EQ(changes_, 1);
}

TEST_F(IssuerKeysTest, AreFoundByTheDescriptionOfOpenid) {
  make("");
  EXPECT_THAT(fetcher_.urls,
              ElementsAre("https://id.example/tenant/.well-known/openid-configuration"));
  fetcher_.finish_json(description());
  EXPECT_EQ(fetcher_.urls.back(), "https://id.example/jwks");
  fetcher_.finish_json(old_.jwks());
  EXPECT_TRUE(knows("old"));
  EXPECT_EQ(keys_->facts().source, "discovery");
}

TEST_F(IssuerKeysTest, AreFoundByTheDescriptionOfOauth) {
  for (const std::string issuer : {"https://id.example/tenant", "https://id.example/tenant/"}) {
    config_.issuer = issuer;
    make("");
    EXPECT_EQ(fetcher_.urls.back(), "https://id.example/tenant/.well-known/openid-configuration");
    fetcher_.finish({.outcome = FetchOutcome::bad_status, .detail = "status 404"});
    EXPECT_EQ(fetcher_.urls.back(),
              "https://id.example/.well-known/oauth-authorization-server/tenant");
    fetcher_.finish_json(description());
    fetcher_.finish_json(old_.jwks());
    EXPECT_TRUE(knows("old"));
  }
  config_.issuer = "https://id.example";
  make("");
  EXPECT_EQ(fetcher_.urls.back(), "https://id.example/.well-known/openid-configuration");
  fetcher_.finish({.body = "<html>", .content_type = "text/html"});
  EXPECT_EQ(fetcher_.urls.back(), "https://id.example/.well-known/oauth-authorization-server");
  fetcher_.finish({.outcome = FetchOutcome::bad_status, .detail = "status 404"});
  EXPECT_TRUE(is_down_with(FetchOutcome::bad_status));
}

TEST_F(IssuerKeysTest, LiesAreNotBelieved) {
  const std::pair<std::string, FetchOutcome> cases[] = {
      {R"({"issuer":"https://evil.example","jwks_uri":"https://id.example/jwks"})",
       FetchOutcome::wrong_issuer},
      {R"({"issuer":"https://id.example/tenant/","jwks_uri":"https://id.example/jwks"})",
       FetchOutcome::wrong_issuer},
      {R"({"issuer":"https://id.example/tenant"})", FetchOutcome::bad_content},
      {R"({"jwks_uri":"https://id.example/jwks"})", FetchOutcome::bad_content},
      {"[]", FetchOutcome::bad_content},
      {"", FetchOutcome::bad_content},
      {description("http://id.example/jwks"), FetchOutcome::bad_content},
      {description("http://127.0.0.1/jwks"), FetchOutcome::bad_content},
      {description("file:///etc/passwd"), FetchOutcome::bad_content},
      {description("/jwks"), FetchOutcome::bad_content},
  };
  for (const auto& [text, outcome] : cases) {
    make("");
    const size_t asked = fetcher_.urls.size();
    fetcher_.finish_json(text);
    EXPECT_TRUE(is_down_with(outcome)) << text;
    EXPECT_EQ(fetcher_.urls.size(), asked) << text;
  }
  for (const std::string& keys :
       {std::string("{}"), std::string("x"), std::string(), std::string(R"({"keys":[]})"),
        R"({"keys":[)" + old_.jwk(R"(,"d":"x")") + "]}"}) {
    make();
    fetcher_.finish_json(keys);
    EXPECT_TRUE(is_down_with(FetchOutcome::bad_content)) << keys;
    EXPECT_EQ(keys_->keys(), nullptr);
  }
  for (const std::string type : {"text/html", "", "application/jsonx", "text/plain"}) {
    make();
    fetcher_.finish({.body = old_.jwks(), .content_type = type});
    EXPECT_TRUE(is_down_with(FetchOutcome::bad_content)) << type;
  }
  make();
  fetcher_.finish({.body = old_.jwks(), .content_type = "Application/JWK-Set+JSON"});
  EXPECT_TRUE(knows("old"));
}

TEST_F(IssuerKeysTest, OfAFileAreNotFetched) {
  config_.jwks.file = "jwks.json";
  config_.jwks.keys = old_.jwks();
  make("");
  EXPECT_FALSE(keys_->look_for("new"));
  pass(hours(48));
  EXPECT_TRUE(knows("old"));
  EXPECT_TRUE(fetcher_.urls.empty());
  EXPECT_EQ(keys_->facts().source, "file");
  EXPECT_EQ(keys_->facts().age, std::nullopt);
}

TEST_F(IssuerKeysTest, GiveUpWhatIsUnderWayWhenTheyGo) {
  make();
  EXPECT_EQ(fetcher_.under_way, 1);
  keys_.reset();
  EXPECT_EQ(fetcher_.under_way, 0);
}

}  // namespace

// Sets of public keys: which keys are read, and which key a token refers to.

namespace {

using test::TestIssuer;
using testing::HasSubstr;

std::string set_of(const std::vector<std::string>& jwks) {
  std::string text;
  for (const std::string& jwk : jwks) text += (text.empty() ? "" : ",") + jwk;
  return R"({"keys":[)" + text + "]}";
}

TEST(Jwks, KeysByIdAndAlgorithm) {
  const TestIssuer rsa(TestIssuer::Kind::rsa, "r");
  const TestIssuer p256(TestIssuer::Kind::p256, "e");
  const TestIssuer p384(TestIssuer::Kind::p384, "f");
  const TestIssuer ed25519(TestIssuer::Kind::ed25519, "d");
  const auto jwks = Jwks::parse(
      set_of({rsa.jwk(R"(,"alg":"RS256","use":"sig")"), p256.jwk(), p384.jwk(), ed25519.jwk()}));
  ASSERT_TRUE(jwks) << jwks.error();
  struct Case {
    const char* id;
    const char* algorithm;
    bool found;
  };
  const Case cases[] = {
      {"r", "RS256", true},  {"r", "RS384", false}, {"r", "PS256", false}, {"r", "ES256", false},
      {"e", "ES256", true},  {"e", "ES384", false}, {"e", "EdDSA", false}, {"f", "ES384", true},
      {"f", "ES256", false}, {"d", "EdDSA", true},  {"x", "RS256", false}, {"", "RS256", true},
      {"", "ES256", true},   {"", "EdDSA", true},   {"R", "RS256", false},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(jwks->find(c.id, *find_algorithm(c.algorithm)) != nullptr, c.found)
        << c.id << " " << c.algorithm;
  }
}

TEST(Jwks, WhichKeyIsMeantHasToBeSaid) {
  const TestIssuer one(TestIssuer::Kind::p256, "1");
  const TestIssuer two(TestIssuer::Kind::p256, "2");
  const auto jwks = Jwks::parse(set_of({one.jwk(), two.jwk()}));
  ASSERT_TRUE(jwks);
  EXPECT_EQ(jwks->find("", *find_algorithm("ES256")), nullptr);
  EXPECT_NE(jwks->find("1", *find_algorithm("ES256")), jwks->find("2", *find_algorithm("ES256")));
}

TEST(Jwks, WhatCannotBeUsedIsLeftOut) {
  const TestIssuer good(TestIssuer::Kind::p256);
  const std::string a(43, 'A');
  const std::string off_curve = R"({"kty":"EC","crv":"P-256","x":")" + a + R"(","y":")" + a + "\"}";
  const auto jwks = Jwks::parse(
      set_of({R"({"kty":"EC","crv":"secp256k1","x":"AA","y":"AA"})", R"({"kty":"RSA"})", "1", "{}",
              R"({"kty":"oct"})", R"({"kty":"OKP","crv":"X25519","x":"AA"})", off_curve,
              good.jwk(R"(,"use":"enc")"), good.jwk(R"(,"alg":"HS256")"), good.jwk()}));
  ASSERT_TRUE(jwks) << jwks.error();
  EXPECT_NE(jwks->find("k1", *find_algorithm("ES256")), nullptr);
}

TEST(Jwks, WhatIsNoSet) {
  const TestIssuer good(TestIssuer::Kind::p256);
  std::vector<std::string> many(Jwks::kMaxKeys, good.jwk());
  EXPECT_TRUE(Jwks::parse(set_of(many)));
  many.push_back(good.jwk());
  const std::pair<std::string, std::string> cases[] = {
      {"", "expected a JSON Web Key Set"},
      {"{}", "expected a JSON Web Key Set"},
      {"[]", "expected a JSON Web Key Set"},
      {good.jwk(), "expected a JSON Web Key Set"},
      {R"({"keys":[]})", "no key that can be used"},
      {set_of({good.jwk(R"(,"d":"AA")")}), "holds a private key"},
      {set_of({R"({"kty":"oct","k":"AA"})"}), "holds a private key"},
      {set_of(many), "at most 100 keys"},
  };
  for (const auto& [text, error] : cases) {
    const auto jwks = Jwks::parse(text);
    ASSERT_FALSE(jwks) << text;
    EXPECT_THAT(jwks.error(), HasSubstr(error));
  }
}

}  // namespace

}  // namespace stdgate::auth

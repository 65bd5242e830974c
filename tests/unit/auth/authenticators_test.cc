#include "transports/auth/authenticators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/policy/rules.h"
#include "tests/support/manual_clock.h"

namespace stdgate::auth {

// API keys: which principal a key stands for, and until when.

namespace {

using Outcome = Judgement::Outcome;
using testing::ElementsAre;

const std::string kKey = "a-key-of-somebody";
const std::string kOther = "another-key-of-his";

class ApiKeysTest : public testing::Test {
 protected:
  static config::ApiKeyConfig key(const std::string& name, const std::string& text) {
    config::ApiKeyConfig key;
    key.name = name;
    key.hash = key_hash(Sha256().of(text));
    return key;
  }
  [[nodiscard]] std::chrono::sys_seconds today() const {
    return std::chrono::time_point_cast<std::chrono::seconds>(
        std::chrono::time_point_cast<std::chrono::system_clock::duration>(clocks_.now()));
  }
  Judgement judge(const config::AuthConfig& config, std::string_view text) {
    return ApiKeys(config, clocks_).judge(Credential{Credential::Form::bearer, text}).value();
  }

  test::ManualClock clock_;
  test::Calendar calendar_;
  const Clocks clocks_{clock_, calendar_};
};

TEST_F(ApiKeysTest, AreKnownByTheirHashes) {
  config::AuthConfig config;
  config.api_keys = {key("ada", kKey), key("bob", kOther)};
  config.api_keys[0].roles = {"ci"};
  const Judgement judgement = judge(config, kKey);
  ASSERT_EQ(judgement.outcome, Outcome::accepted);
  const policy::Principal& ada = *judgement.identity.principal;
  EXPECT_EQ(ada.kind, policy::Principal::Kind::api_key);
  EXPECT_EQ(ada.name, "ada");
  EXPECT_THAT(ada.roles, ElementsAre("ci"));
  EXPECT_EQ(judgement.identity.expires, TimePoint::max());
  EXPECT_EQ(judge(config, kOther).identity.principal->name, "bob");
  for (const std::string& wrong :
       {std::string(), kKey + "x", kKey.substr(1), std::string("A-KEY-OF-SOMEBODY"),
        config.api_keys[0].hash, kKey + std::string(1, '\0')}) {
    EXPECT_EQ(judge(config, wrong).outcome, Outcome::unknown) << wrong;
  }
}

TEST_F(ApiKeysTest, OfFiles) {
  config::AuthConfig config;
  config.api_key_file = "f";
  config.keys = {kKey, key_hash(Sha256().of(kOther))};
  config.api_keys = {key("ada", "a-key-of-ada-only")};
  config.api_keys[0].hash.clear();
  config.api_keys[0].keys = {"a-key-of-ada-only"};
  EXPECT_EQ(judge(config, kKey).identity.principal->name, ApiKeys::kFileName);
  EXPECT_EQ(judge(config, kOther).identity.principal->name, ApiKeys::kFileName);
  EXPECT_EQ(judge(config, "a-key-of-ada-only").identity.principal->name, "ada");
}

TEST_F(ApiKeysTest, ExpireAtTheirTime) {
  config::AuthConfig config;
  config.api_keys = {key("ada", kKey)};
  config.api_keys[0].expires_at = today() + std::chrono::seconds(10);
  ApiKeys keys(config, clocks_);
  const auto judged = [&] { return *keys.judge(Credential{Credential::Form::api_key, kKey}); };
  const TimePoint begin = clock_.now();
  const TimePoint end = judged().identity.expires;
  EXPECT_GT(end, begin + std::chrono::seconds(8));
  EXPECT_LE(end, begin + std::chrono::seconds(10));
  clock_.set(end - std::chrono::milliseconds(1));
  EXPECT_EQ(judged().outcome, Outcome::accepted);
  clock_.set(end);
  EXPECT_EQ(judged().outcome, Outcome::expired);
  EXPECT_EQ(judged().identity.principal, nullptr);
}

TEST_F(ApiKeysTest, FarAwayIsNever) {
  config::AuthConfig config;
  config.api_keys = {key("ada", kKey)};
  config.api_keys[0].expires_at = std::chrono::sys_days(std::chrono::year(9999) / 12 / 31);
  EXPECT_EQ(judge(config, kKey).identity.expires, TimePoint::max());
  config.api_keys[0].expires_at = std::chrono::sys_days(std::chrono::year(1) / 1 / 1);
  EXPECT_EQ(judge(config, kKey).outcome, Outcome::expired);
}

}  // namespace

// Client certificates: which name counts, and which roles it has.

namespace {

using testing::UnorderedElementsAre;

TEST(Certificates, NamesAndRoles) {
  const test::ManualClock clock;
  const test::Calendar calendar;
  const Clocks clocks{clock, calendar};
  config::MtlsConfig config;
  config.roles = {{"spiffe://c/ns/ci/*", {"ci"}}, {"*", {"all"}}, {"CN=build", {"ci", "all"}}};
  Certificates certificates(config, clocks);
  net::PeerCertificate shown;
  shown.expires = std::chrono::time_point_cast<std::chrono::system_clock::duration>(clocks.now()) +
                  std::chrono::hours(1);
  EXPECT_EQ(certificates.judge_certificate(shown)->outcome, Judgement::Outcome::unknown)
      << "no name at all";
  shown.common_name = "build";
  shown.subject = "CN=build,O=x";
  auto identity = certificates.judge_certificate(shown)->identity;
  EXPECT_EQ(identity.principal->kind, policy::Principal::Kind::certificate);
  EXPECT_EQ(identity.principal->name, "CN=build");
  EXPECT_EQ(identity.principal->subject, "CN=build,O=x");
  EXPECT_THAT(identity.principal->roles, UnorderedElementsAre("ci", "all"));
  EXPECT_LE(identity.expires, clock.now() + std::chrono::hours(1));
  EXPECT_GT(identity.expires, clock.now() + std::chrono::minutes(59));
  shown.dns = "build";
  identity = certificates.judge_certificate(shown)->identity;
  EXPECT_EQ(identity.principal->name, "build");
  EXPECT_THAT(identity.principal->roles, UnorderedElementsAre("all"));
  shown.uri = "spiffe://c/ns/ci/x";
  identity = certificates.judge_certificate(shown)->identity;
  EXPECT_EQ(identity.principal->name, "spiffe://c/ns/ci/x");
  EXPECT_THAT(identity.principal->roles, UnorderedElementsAre("ci", "all"));
}

TEST(Certificates, Patterns) {
  struct Case {
    std::string_view pattern;
    std::string_view text;
    bool fits;
  };
  const Case cases[] = {
      {"", "", true},
      {"", "a", false},
      {"a", "a", true},
      {"a", "A", false},
      {"*", "", true},
      {"*", "abc", true},
      {"a*", "a", true},
      {"a*", "ba", false},
      {"*c", "abc", true},
      {"*c", "abcd", false},
      {"a*c", "ac", true},
      {"a*c", "abcbc", true},
      {"a*b*c", "axxbyyc", true},
      {"a*b*c", "axxyyc", false},
      {"**", "", true},
      {"a.c", "abc", false},
      {"*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
  };
  for (const Case& c : cases)
    EXPECT_EQ(policy::matches(c.pattern, c.text), c.fits) << c.pattern << c.text;
}

}  // namespace

}  // namespace stdgate::auth

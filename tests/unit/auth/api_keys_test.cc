// API keys: who is known by which, and until when.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/calendar.h"
#include "tests/support/manual_clock.h"
#include "transports/auth/authenticators.h"

namespace stdgate::auth {
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
}  // namespace stdgate::auth

// Who has to go when `auth` changes.
#include <gtest/gtest.h>

#include "gateway/app/clients.h"

namespace stdgate::app {
namespace {

using policy::Principal;

Principal principal(Principal::Kind kind, std::string name, std::string issuer = "") {
  Principal made;
  made.kind = kind;
  made.name = std::move(name);
  made.issuer = std::move(issuer);
  return made;
}

config::ApiKeyConfig key(std::string name, std::string hash, std::vector<std::string> roles = {}) {
  config::ApiKeyConfig made;
  made.name = std::move(name);
  made.hash = std::move(hash);
  made.roles = std::move(roles);
  return made;
}

TEST(KnownPrincipals, ByTheirKeys) {
  config::AuthConfig before;
  before.api_keys = {key("ada", "1"), key("ada", "2"), key("bob", "3", {"r"})};
  before.keys = {"k1"};
  const auto is_known = [&](const std::string& name, const config::AuthConfig& after) {
    return is_still_known(principal(Principal::Kind::api_key, name), before, after);
  };
  config::AuthConfig after = before;
  EXPECT_TRUE(is_known("ada", after));
  after.api_keys.push_back(key("eve", "4"));
  after.keys.emplace_back("k2");
  EXPECT_TRUE(is_known("ada", after));
  EXPECT_TRUE(is_known("api-key", after));
  after.api_keys[1].hash = "5";
  EXPECT_FALSE(is_known("ada", after)) << "which of the two he has shown is not known";
  EXPECT_TRUE(is_known("bob", after));
  after.api_keys[2].roles = {"s"};
  EXPECT_FALSE(is_known("bob", after));
  after.keys = {"k2"};
  EXPECT_FALSE(is_known("api-key", after));
  EXPECT_FALSE(is_known("ada", {}));
}

// Clients of a key go on when others of its name come, wherever it stands.
TEST(KnownPrincipals, KeysOfAFileMayGetCompany) {
  config::AuthConfig before;
  before.api_keys = {key("team", "")};
  before.api_keys[0].keys = {"k1", "k2"};
  before.api_keys[0].expires_at = std::chrono::sys_seconds(std::chrono::seconds(100));
  const auto is_known = [&](const config::AuthConfig& after) {
    return is_still_known(principal(Principal::Kind::api_key, "team"), before, after);
  };
  config::AuthConfig after = before;
  after.api_keys[0].keys = {"k3", "k2", "k1"};
  EXPECT_TRUE(is_known(after));
  after.api_keys[0].expires_at = std::chrono::sys_seconds(std::chrono::seconds(200));
  EXPECT_TRUE(is_known(after));
  after.api_keys[0].expires_at = std::chrono::sys_seconds(std::chrono::seconds(99));
  EXPECT_FALSE(is_known(after));
  after.api_keys[0].expires_at.reset();
  EXPECT_TRUE(is_known(after));
  after.api_keys[0].keys = {"k1"};
  after.api_keys.push_back(key("team", "k2"));
  EXPECT_TRUE(is_known(after));
  after.api_keys.pop_back();
  EXPECT_FALSE(is_known(after)) << "k2 has gone, and may be the one that was shown";
}

TEST(KnownPrincipals, ByIssuersCertificatesAndSignatures) {
  config::AuthConfig before;
  before.jwt.resize(2);
  before.jwt[0].issuer = "https://a";
  before.jwt[1].issuer = "https://b";
  before.mtls.used = true;
  before.signatures.resize(1);
  before.signatures[0].key_id = "robot";
  const Principal of_a = principal(Principal::Kind::token, "x", "https://a");
  const Principal of_b = principal(Principal::Kind::token, "x", "https://b");
  const Principal machine = principal(Principal::Kind::certificate, "x");
  const Principal robot = principal(Principal::Kind::signature, "robot");
  config::AuthConfig after = before;
  for (const Principal& one : {of_a, of_b, machine, robot}) {
    EXPECT_TRUE(is_still_known(one, before, after));
  }
  after.jwt[1].audience = {"other"};
  EXPECT_TRUE(is_still_known(of_a, before, after));
  EXPECT_FALSE(is_still_known(of_b, before, after));
  after.mtls.roles["CN=x"] = {"r"};
  EXPECT_FALSE(is_still_known(machine, before, after));
  EXPECT_TRUE(is_still_known(robot, before, after));
  after.signatures[0].public_key = "other";
  EXPECT_FALSE(is_still_known(robot, before, after));
}

}  // namespace
}  // namespace stdgate::app

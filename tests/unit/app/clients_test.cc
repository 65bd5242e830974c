#include "gateway/app/clients.h"

#include <gtest/gtest.h>

namespace stdgate {

// Places of callers: how many there may be, and the refusal when all places are taken.

namespace {

class NoSink final : public session::ReplySink {
 public:
  void on_reply(session::Tag, const session::Reply&) override {}
  void on_event(session::Tag, std::string_view) override {}
  void on_cancelled(session::Tag) override {}
};

TEST(ClientPlaces, AreEnoughForAllConnectionsAndSessions) {
  config::Config config;
  config.limits.connections = 100;
  EXPECT_EQ(app::client_places(config), 116U);
  config::BackendConfig& backend = config.backends.emplace_back();
  backend.pool.sessions = 5;
  backend.protocol = config::Protocol::lsp;
  EXPECT_EQ(app::client_places(config), 116U) << "each of its sessions is a connection";
  backend.protocol = config::Protocol::mcp;
  EXPECT_EQ(app::client_places(config), 116U + 4 * 5);
}

TEST(ClientPlaces, OnlyWhenNoneIsFreeIsNobodyServed) {
  session::Callers callers(2);
  NoSink sink;
  session::CallerSlot first;
  ASSERT_TRUE(first.take(callers, sink));
  EXPECT_EQ(app::why_no_client(callers), "");
  session::CallerSlot second;
  ASSERT_TRUE(second.take(callers, sink));
  EXPECT_EQ(app::why_no_client(callers),
            "all 2 places of clients are taken; raise limits.connections");
  first.release();
  EXPECT_EQ(app::why_no_client(callers), "");
}

TEST(ClientPlaces, ASlotGivesItsPlaceBackOnce) {
  session::Callers callers(1);
  NoSink sink;
  {
    session::CallerSlot slot;
    EXPECT_TRUE(slot.is_none());
    ASSERT_TRUE(slot.take(callers, sink));
    EXPECT_EQ(callers.find(slot.caller()), &sink);
    session::CallerSlot other;
    EXPECT_FALSE(other.take(callers, sink)) << "the table is full";
    EXPECT_TRUE(other.is_none());
    other.release();
    EXPECT_EQ(callers.size(), 1U);
  }
  EXPECT_EQ(callers.size(), 0U);
  session::CallerSlot slot;
  ASSERT_TRUE(slot.take(callers, sink));
  slot.release();
  slot.release();
  EXPECT_EQ(callers.size(), 0U);
}

// The gateway's own calls have a caller that is no client.
TEST(ClientPlaces, TheGatewayNeedsNone) {
  session::Callers callers(1);
  EXPECT_FALSE(session::Callers::kGateway.is_none());
  EXPECT_EQ(callers.find(session::Callers::kGateway), nullptr);
}

}  // namespace

}  // namespace stdgate

namespace stdgate::app {

// Which clients must leave when `auth` changes.

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

// Clients of a key continue when other keys of the same name are added, at any position.
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

// Which changes a reload applies, and which changes it only names.
#include "gateway/config/config_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/config/config_parser.h"

namespace stdgate::config {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Config parsed(const std::string& yaml) {
  const FileReader reads = [](const std::string& file, size_t /*limit*/) {
    return file + "-content";
  };
  auto config = parse_config(yaml, {}, {}, reads);
  EXPECT_TRUE(config) << config.error().front().to_string("");
  return config.value_or(Config());
}

constexpr const char* kOne = "backends: { a: { command: [x] } }\n";
constexpr const char* kKeyHash =
    "\"sha256:c5174bdf96d3b1617fae25d280f798252a83b1bb8149ffe0ec6c723edbebc50d\"";

std::string keys_of(const std::string& name) {
  return "auth: { api_keys: [ { name: " + name + ", hash: " + kKeyHash + " } ] }\n";
}

TEST(ConfigChanges, NoneBetweenEquals) {
  const Config config = parsed(kOne);
  const ConfigChanges changes = changes_between(config, config);
  EXPECT_THAT(changes.taken, IsEmpty());
  EXPECT_THAT(changes.restart, IsEmpty());
  EXPECT_EQ(changes.config, config);
}

struct Change {
  std::string before;
  std::string after;
  std::vector<std::string> taken;
  std::vector<std::string> restart;
};

class ConfigChangesOf : public testing::TestWithParam<Change> {};

TEST_P(ConfigChangesOf, AreTakenOrNamed) {
  const Config before = parsed(GetParam().before);
  const Config after = parsed(GetParam().after);
  const ConfigChanges changes = changes_between(before, after);
  EXPECT_EQ(changes.taken, GetParam().taken);
  EXPECT_EQ(changes.restart, GetParam().restart);
  EXPECT_EQ(changes.config == before, GetParam().taken.empty());
  EXPECT_EQ(changes.config == after, GetParam().restart.empty());
  // Changes that have been applied are no longer reported.
  EXPECT_THAT(changes_between(changes.config, after).taken, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Keys, ConfigChangesOf,
    testing::Values(
        Change{keys_of("ada") + kOne, keys_of("bob") + kOne, {"auth"}, {}},
        Change{kOne, keys_of("bob") + kOne, {"auth"}, {}},
        Change{keys_of("ada") + kOne, kOne, {"auth"}, {}},
        Change{std::string("allowed_origins: [\"https://a\"]\n") + kOne,
               kOne,
               {"allowed_origins"},
               {}},
        Change{kOne,
               std::string("allowed_hosts: [a]\nrpc_stream: true\n") + kOne,
               {"allowed_hosts", "rpc_stream"},
               {}},
        Change{kOne, std::string("roles: { a: { includes: [b] } }\n") + kOne, {"roles"}, {}},
        Change{kOne,
               std::string("admin: { address: \"127.0.0.1:9464\", roles: [ops] }\n") + kOne,
               {"admin.roles"},
               {}},
        Change{kOne,
               "backends: { a: { command: [x], methods: [m], rules: [ { allow: [b] } ] } }\n",
               {"backends.a.rules", "backends.a.methods"},
               {}},
        Change{kOne, "backends: { a: { command: [y], methods: [m] } }\n", {"backends.a"}, {}},
        Change{kOne, "backends: { b: { command: [x] } }\n", {"backends.b", "backends.a"}, {}},
        Change{kOne,
               "backends: { a: { command: [x] }, b: { command: [x] } }\n",
               {"backends.a.default", "backends.a.required", "backends.b"},
               {}},
        Change{kOne,
               std::string("listen: [\"127.0.0.1:1\"]\nadmin: \"off\"\n") + kOne,
               {"listen"},
               {"admin"}},
        Change{kOne,
               std::string("anonymous: true\nreplica: r\nwatch: true\n") + kOne,
               {"anonymous", "watch"},
               {"replica"}},
        Change{kOne,
               std::string("tls: { certificate: c, key: k }\ntrusted_proxies: [\"10.0.0.0/8\"]\n") +
                   kOne,
               {"tls", "trusted_proxies"},
               {}},
        Change{kOne,
               std::string("limits: { batch: 1 }\ntimeouts: { idle: 1s }\nlog: { level: warn }\n"
                           "metrics: { methods: 7 }\nsessions: { ttl: 1h }\naudit: { file: a }\n"
                           "traces: { endpoint: \"http://a\" }\n") +
                   kOne,
               {"limits", "timeouts", "log"},
               {"sessions", "audit", "metrics", "traces"}},
        Change{kOne,
               std::string("limits: { unlimited_addresses: [\"10.0.0.0/8\"] }\n"
                           "log: { format: json }\n") +
                   kOne,
               {"limits"},
               {"log.format"}}));

TEST(ConfigChanges, TheOrderOfBackendsIsNone) {
  const ConfigChanges changes =
      changes_between(parsed("backends: { a: { command: [x] }, b: { command: [y] } }\n"),
                      parsed("backends: { b: { command: [y] }, a: { command: [x] } }\n"));
  EXPECT_THAT(changes.taken, IsEmpty());
  EXPECT_THAT(changes.restart, IsEmpty());
}

TEST(ConfigChanges, AreTold) {
  const ConfigChanges changes = changes_between(
      parsed(kOne), parsed(std::string("replica: r\nroles: { a: { includes: [b] } }\n") +
                           "backends: { a: { command: [y] } }\n"));
  EXPECT_EQ(changes_text(changes),
            "a reload takes over:\n  roles\n  backends.a\na restart is needed for:\n  replica\n");
  EXPECT_EQ(changes_text({}), "a reload takes over: nothing\na restart is needed for: nothing\n");
}

}  // namespace
}  // namespace stdgate::config

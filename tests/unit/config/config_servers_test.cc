// servers: what is read, the errors for invalid ones, and which changes a reload applies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/config/config_changes.h"
#include "gateway/config/config_parser.h"

namespace stdgate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

tl::expected<config::Config, std::vector<config::ConfigError>> parse_servers(
    const std::string& servers, const std::string& more = "") {
  return config::parse_config(
      "backends:\n  a: { command: [x] }\n  b: { command: [x] }\n"
      "  plain: { command: [x], protocol: jsonrpc }\n" +
          more + "servers:\n" + servers,
      {});
}

std::vector<std::string> servers_errors(const std::string& servers) {
  std::vector<std::string> texts;
  const auto config = parse_servers(servers);
  if (config) return texts;
  for (const config::ConfigError& error : config.error()) texts.push_back(error.to_string(""));
  return texts;
}

TEST(ConfigServers, AreRead) {
  const auto config = parse_servers(R"(
  team:
    default: true
    instructions: "Both."
    members:
      - a
      - backend: b
        prefix: ""
        required: true
        wait: 100ms
        tools:
          include: ["read_*"]
          exclude: ["*_all"]
          rename: { read_text: read }
          describe: { read: "Reads." }
          fix: { write: { mode: "create", deep: { list: [1, "2", true, null, 1.5e3, 01] } } }
          defaults: { search: { limit: 20 } }
        prompts: { exclude: [p] }
        resources: { include: ["file://*"] }
    expose: { search: { pin: [a_x] } }
    rules: [{ allow: ["*"], tools: [read] }]
)");
  ASSERT_TRUE(config) << config.error().front().to_string("");
  ASSERT_EQ(config->servers.size(), 1U);
  const config::ServerConfig& team = config->servers[0];
  ASSERT_EQ(team.members.size(), 2U);
  EXPECT_EQ(team.members[0].backend, "a");
  EXPECT_EQ(team.members[0].prefix, "a_");
  const config::MemberConfig& b = team.members[1];
  EXPECT_EQ(b.prefix, "");
  EXPECT_TRUE(b.is_required);
  EXPECT_EQ(b.tools.rename.at("read_text"), "read");
  EXPECT_EQ(b.tools.fix.at("write").at("mode"), R"("create")");
  EXPECT_EQ(b.tools.fix.at("write").at("deep"), R"({"list":[1,"2",true,null,1.5e3,"01"]})");
  EXPECT_EQ(b.tools.defaults.at("search").at("limit"), "20");
  EXPECT_TRUE(team.expose.is_search);
  EXPECT_THAT(team.expose.search.pin, ElementsAre("a_x"));
  const auto again = config::parse_config(config::print_config(*config), {});
  EXPECT_TRUE(again && *again == *config) << config::print_config(*config);
}

TEST(ConfigServers, AnOnlyBackendIsNotTheDefaultBesideAServerThatIs) {
  const auto config = config::parse_config(
      "backends: { a: { command: [x] } }\nservers: { s: { default: true, members: [a] } }", {});
  ASSERT_TRUE(config);
  EXPECT_FALSE(config->backends[0].is_default);
}

TEST(ConfigServers, MistakesAreNamedAllAtOnceWithTheirPlace) {
  const auto errors = servers_errors(R"(
  a: { members: [b] }
  one:
    members: [a, nobody, plain, two, a]
  two:
    default: true
    members:
      - { backend: a, prefix: "bad prefix" }
      - { backend: b, prefix: "", tools: { rename: { x: y, z: y, long: "a b" } } }
    expose: { search: { pin: [other] } }
  three: { default: true, members: [] }
  four: { members: [a], expose: search }
  five: { members: [a], expose: { search: true } }
)");
  const std::vector<std::pair<const char*, const char*>> expected = {
      {"servers.a", "there is a backend 'a'"},
      {"servers.one.members", "'nobody': there is no such backend"},
      {"servers.one.members", "'plain': only backends of protocol mcp"},
      {"servers.one.members", "'two': is a server itself"},
      {"servers.one.members", "'a': is a member already"},
      {"servers.two.members", "'a': its prefix 'bad prefix'"},
      {"servers.two.members", "'b': 'y' would be b's x and b's z"},
      {"servers.two.members", "'a b' (long, renamed) is no name for a tool"},
      {"servers.three.members", "expected 1 to 256 items"},
      {"servers.three.default", "'two' is"},
      {"servers.four.expose", "found 'search'; write expose: { search: {} }"},
      {"servers.five.expose.search", "as in search: {}, found 'true'"},
  };
  for (const auto& [place, what] : expected) {
    EXPECT_THAT(errors, testing::Contains(testing::AllOf(HasSubstr(place), HasSubstr(what))))
        << what;
  }
}

TEST(ConfigServers, ShownNamesOfTwoMembersMayNotClash) {
  EXPECT_THAT(servers_errors(R"(
  s:
    members:
      - { backend: a, prefix: "", tools: { rename: { x: read } } }
      - { backend: b, prefix: "", tools: { rename: { y: read } } }
)"),
              ElementsAre(HasSubstr("'read' would be a's x and b's y")));
}

TEST(ConfigServers, ANameMayHave64Characters) {
  const auto with = [](size_t length) {
    return servers_errors("  s: { members: [{ backend: a, prefix: p_, tools: { rename: { x: " +
                          std::string(length, 'y') + " } } }] }\n");
  };
  EXPECT_THAT(with(62), SizeIs(0));
  EXPECT_THAT(with(63), SizeIs(1));
}

TEST(ConfigServers, AReloadTakesThemOver) {
  const auto before = parse_servers("  s: { members: [a] }\n  t: { members: [a] }\n");
  const auto after = parse_servers("  s: { members: [a, b] }\n  u: { members: [a] }\n");
  ASSERT_TRUE(before && after);
  const config::ConfigChanges changes = config::changes_between(*before, *after);
  EXPECT_THAT(changes.taken, ElementsAre("servers.s", "servers.u", "servers.t"));
  EXPECT_THAT(changes.restart, SizeIs(0));
  EXPECT_TRUE(config::serves_as(before->servers[0], after->servers[0]));
  config::ServerConfig slower = before->servers[0];
  slower.timeout = std::chrono::hours(1);
  EXPECT_FALSE(config::serves_as(before->servers[0], slower));
  config::ServerConfig ruled = before->servers[0];
  ruled.rules.push_back({.allow = {"*"}});
  EXPECT_TRUE(config::serves_as(before->servers[0], ruled));
}

}  // namespace
}  // namespace stdgate

// Virtual servers whose members fail in various ways while other members are called.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <string>

#include "tests/integration/harness/eventually.h"
#include "tests/integration/harness/mcp_requests.h"
#include "tests/integration/harness/setups.h"
#include "tests/integration/member_server.h"

namespace stdgate::harness::servers_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> names_of(const std::string& answer) {
  std::vector<std::string> names;
  const JsonValue list(answer);
  for (size_t i = 0; i < list.size("/result/tools"); ++i) {
    names.push_back(list.text("/result/tools/" + std::to_string(i) + "/name"));
  }
  return names;
}

std::string servers(const std::string& members, const std::string& more = "") {
  return "servers: { team: { default: true, members: [" + members + "]" + more + " } }\n";
}

std::string list_of(HttpClient& client) { return call(client, "tools/list").body; }

std::string use(HttpClient& client, const std::string& tool, const std::string& arguments = "{}") {
  return call(client, "tools/call", R"({"name":")" + tool + R"(","arguments":)" + arguments + "}")
      .body;
}

// A fault of a member, and whether the lists have the member's tools nevertheless.
struct Fault {
  const char* mode;
  bool is_listed;
};

class ServersFaults : public testing::TestWithParam<Fault> {};

TEST_P(ServersFaults, AreOfTheMemberAlone) {
  const Fault fault = GetParam();
  // The wait is short for a member that never answers, and longer than any machine needs for a
  // member that does.
  const std::string wait = fault.is_listed ? "5m" : "10ms";
  GatewayProcess gateway(serve({backend("good", member_server(), kMember),
                                backend("bad", member_server(fault.mode), kMember),
                                backend("fine", member_server(), kMember)},
                               servers("good, { backend: bad, wait: " + wait + " }, fine")));
  HttpClient client = gateway.connect();
  const std::string list = list_of(client);
  EXPECT_THAT(names_of(list), Contains("good_echo")) << list;
  EXPECT_THAT(names_of(list), Contains("fine_echo")) << list;
  if (fault.is_listed) {
    EXPECT_THAT(names_of(list), Contains("bad_echo")) << list;
  } else {
    EXPECT_THAT(list, HasSubstr(R"("_meta":{"stdgate/missing":["bad"]})"));
    EXPECT_THAT(names_of(list), Not(Contains("bad_echo"))) << list;
  }
  for (int i = 0; i < 20; ++i) {
    const std::string word = "w" + std::to_string(i);
    const std::string arguments = R"({"word":")" + word + "\"}";
    EXPECT_THAT(use(client, "good_echo", arguments), HasSubstr(word));
    EXPECT_THAT(use(client, "fine_echo", arguments), HasSubstr(word));
    EXPECT_THAT(names_of(list_of(client)), Contains("good_echo"));
  }
}

INSTANTIATE_TEST_SUITE_P(All, ServersFaults,
                         testing::Values(Fault{"exits", false}, Fault{"hangs", false},
                                         Fault{"garbage", true}, Fault{"slow", false},
                                         Fault{"lies", true}, Fault{"changes", true},
                                         Fault{"errors", false}),
                         [](const auto& row) {
                           std::string name = row.param.mode;
                           std::erase(name, '-');
                           return name;
                         });

TEST(Servers, AMemberThatIsKilledLosesItsCallsAlone) {
  GatewayProcess gateway(
      serve({backend("good", member_server(), kMember), backend("bad", member_server(), kMember)},
            servers("good, bad")));
  HttpClient client = gateway.connect();
  EXPECT_THAT(names_of(list_of(client)), Contains("bad_die"));
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(use(client, "bad_die"), HasSubstr("error"));
    EXPECT_THAT(use(client, "good_echo", R"({"word":"here"})"), HasSubstr("here"));
    eventually("the member is back", [&] {
      return use(client, "bad_echo", R"({"word":"back"})").find("back") != std::string::npos;
    });
  }
  // The member has listed its tools again since then, so nothing is missing.
  EXPECT_THAT(list_of(client), Not(HasSubstr("missing")));
}

TEST(Servers, ALateMemberIsShownWhenItIsThere) {
  GatewayProcess gateway(serve(
      {backend("good", member_server(), kMember), backend("late", member_server("slow"), kMember)},
      servers("good, { backend: late, wait: 10ms }")));
  HttpClient client = gateway.connect();
  EXPECT_THAT(list_of(client), HasSubstr(R"("stdgate/missing":["late"])"));
  std::ofstream(gateway.folder() / "go").put('\n');
  eventually("the member is there",
             [&] { return list_of(client).find("late_echo") != std::string::npos; });
  EXPECT_THAT(use(client, "late_echo", R"({"word":"now"})"), HasSubstr("now"));
}

TEST(Servers, WhatIsRequiredHasToBeThere) {
  GatewayProcess gateway(serve(
      {backend("good", member_server(), kMember), backend("bad", member_server("exits"), kMember)},
      servers("good, { backend: bad, required: true }")));
  HttpClient client = gateway.connect();
  EXPECT_THAT(list_of(client), HasSubstr("'bad' is required here, and is down"));
  EXPECT_THAT(use(client, "good_echo", R"({"word":"here"})"), HasSubstr("here"));
}

TEST(Servers, AToolThatIsCalledBeforeTheListIsFound) {
  GatewayProcess gateway(serve({backend("good", member_server(), kMember)}, servers("good")));
  HttpClient client = gateway.connect();
  EXPECT_THAT(use(client, "good_echo", R"({"word":"first"})"), HasSubstr("first"));
  EXPECT_THAT(use(client, "echo"), HasSubstr("Unknown tool: echo"));
}

TEST(Servers, PagesOfAListFollowACursorOfTheGateway) {
  GatewayProcess gateway(serve({backend("many", member_server("many"), kMember)}, servers("many")));
  HttpClient client = gateway.connect();
  const std::string first = list_of(client);
  EXPECT_EQ(names_of(first).size(), 1000U);
  const std::string cursor = JsonValue(first).text("/result/nextCursor");
  const std::string rest = call(client, "tools/list", R"({"cursor":")" + cursor + "\"}").body;
  EXPECT_EQ(names_of(rest).size(), 500U);
  EXPECT_THAT(rest, Not(HasSubstr("nextCursor")));
  EXPECT_EQ(names_of(call(client, "tools/list", R"({"cursor":null})").body).size(), 1000U);
  for (const std::string bad : {"x", "1000", "1000.0", "99999999999999999999.1", "-1.0"}) {
    EXPECT_THAT(call(client, "tools/list", R"({"cursor":")" + bad + "\"}").body,
                HasSubstr("begin it anew"))
        << bad;
  }
}

TEST(Servers, AReloadGivesAMemberItsSuccessor) {
  const auto file = [](const std::string& mode, const std::string& members) {
    return serve(
        {backend("a", member_server(mode), kMember), backend("b", member_server(), kMember)},
        servers(members));
  };
  GatewayProcess gateway(file("good", "a"));
  HttpClient client = gateway.connect();
  EXPECT_THAT(names_of(list_of(client)), Contains("a_echo"));
  ASSERT_TRUE(reload(gateway, file("renamed", "a").config));
  EXPECT_THAT(names_of(list_of(client)), Contains("a_other"));
  EXPECT_THAT(use(client, "a_other", R"({"word":"new"})"), HasSubstr("new"));
  ASSERT_TRUE(reload(gateway, file("renamed", "b, a").config));
  EXPECT_THAT(names_of(list_of(client)), Contains("b_echo"));
  EXPECT_THAT(use(client, "b_echo", R"({"word":"both"})"), HasSubstr("both"));
}

// Calls the tool in this MCP session.
std::string use_in(HttpClient& client, const std::string& session, const std::string& tool) {
  return client
      .post("/mcp",
            request("tools/call", R"({"name":")" + tool + R"(","arguments":{"word":"here"}})"),
            in_mcp_session(session))
      .body;
}

TEST(Servers, ASessionGoesOnOverAReloadOfItsMember) {
  const auto file = [](const std::string& mode) {
    return serve({backend("a", member_server(mode), "protocol: mcp")}, servers("a"));
  };
  GatewayProcess gateway(file("good"));
  HttpClient client = gateway.connect();
  const std::string id = open_mcp_session(client);
  const auto post = [&](const std::string& tool) { return use_in(client, id, tool); };
  EXPECT_THAT(post("a_echo"), HasSubstr("here"));
  ASSERT_TRUE(reload(gateway, file("renamed").config));
  EXPECT_THAT(post("a_other"), HasSubstr("here"));
}

TEST(Servers, AReloadThatAddsAMemberLeavesTheOthersAlone) {
  const auto file = [](const std::string& members) {
    return serve({backend("a", member_server(), "protocol: mcp"),
                  backend("b", member_server(), "protocol: mcp")},
                 servers(members));
  };
  GatewayProcess gateway(file("a"));
  HttpClient client = gateway.connect();
  const std::string id = open_mcp_session(client);
  const auto post = [&](const std::string& tool) { return use_in(client, id, tool); };
  const auto started = [&] {
    return gateway.metrics().sum("stdgate_child_starts_total", {{"backend", "a"}});
  };
  EXPECT_THAT(post("a_echo"), HasSubstr("here"));
  const auto before = started();
  EXPECT_GE(before, 1);
  for (const char* const members : {"b, a", "a", "a, b"}) {
    ASSERT_TRUE(reload(gateway, file(members).config));
    EXPECT_THAT(post("a_echo"), HasSubstr("here"));
    EXPECT_THAT(post("b_echo"), HasSubstr(members == std::string("a") ? "Unknown tool" : "here"));
  }
  EXPECT_EQ(started(), before) << "its process has served all along";
}

// A legacy server with a process per session: here each call gets its own process.
TEST(Servers, AModernClientNeedsNoSessionForALegacyMember) {
  const auto file = [](const std::string& more) {
    return serve({backend("own", member_server(), "protocol: mcp, revision: legacy" + more)},
                 servers("own"));
  };
  const auto ask = [](const GatewayProcess& gateway, const std::string& path,
                      const std::string& name) {
    HttpClient client = gateway.connect();
    return client
        .post(
            path,
            modern_request("tools/call", R"("name":")" + name + R"(","arguments":{"word":"here"})"),
            modern_headers("tools/call", name))
        .body;
  };
  GatewayProcess gateway(file(""));
  EXPECT_THAT(ask(gateway, "/mcp", "own_echo"), HasSubstr("here"));
  EXPECT_THAT(ask(gateway, "/own/mcp", "echo"), HasSubstr("-32022"));
  EXPECT_THAT(ask(gateway, "/mcp", "own_echo"), HasSubstr("here"));
  GatewayProcess closed(file(", bridge: false"));
  EXPECT_THAT(ask(closed, "/mcp", "own_echo"), Not(HasSubstr("here")));
}

TEST(Servers, MembersAreSeenFromOutside) {
  GatewayProcess gateway(serve(
      {backend("good", member_server(), kMember), backend("bad", member_server("exits"), kMember)},
      servers("good, bad")));
  HttpClient client = gateway.connect();
  static_cast<void>(list_of(client));
  static_cast<void>(use(client, "good_echo"));
  HttpClient admin(gateway.admin_url());
  const std::string metrics = admin.get("/metrics").body;
  EXPECT_THAT(metrics, HasSubstr("stdgate_member_up{backend=\"good\",server=\"team\"} 1"));
  EXPECT_THAT(metrics, HasSubstr("stdgate_member_up{backend=\"bad\",server=\"team\"} 0"));
  EXPECT_THAT(metrics, HasSubstr("tool=\"good_echo\""));
  EXPECT_THAT(
      metrics,
      HasSubstr(R"(stdgate_member_calls_total{backend="good",outcome="result",server="team"} 1)"));
  const JsonValue state = state_of(gateway);
  const std::string members = "/backends/2/members/";
  EXPECT_EQ(state.text(members + "0/tools/0"), "good_echo");
  EXPECT_TRUE(state.flag(members + "0/up"));
  EXPECT_FALSE(state.flag(members + "1/up"));
  EXPECT_THAT(gateway.log(), HasSubstr("member is down"));
}

TEST(Servers, QuotasAreThoseOfTheServerAndOfTheMember) {
  const auto count_of = [](const std::string& of_backend, const std::string& of_server) {
    GatewayProcess gateway(
        serve({backend("good", member_server(), std::string(kMember) + of_backend)},
              servers("good", of_server)));
    HttpClient client = gateway.connect();
    int count = 0;
    for (int i = 0; i < 5; ++i) {
      count += use(client, "good_echo").find("REACHED") != std::string::npos ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(count_of("", ", calls: { rate: 3/h }"), 3);
  EXPECT_EQ(count_of(", calls: { rate: 2/h }", ""), 2);
}

TEST(Servers, FiftyMembersWithTwentyToolsEach) {
  std::vector<std::string> backends;
  std::string members;
  for (int i = 0; i < 50; ++i) {
    const std::string name = "m" + std::to_string(i);
    backends.push_back(backend(name, member_server("twenty"), kMember));
    members += (i == 0 ? "{ backend: " : ", { backend: ") + name + ", wait: 60s }";
  }
  GatewayProcess gateway(serve(backends, servers(members)));
  HttpClient client = gateway.connect();
  EXPECT_EQ(names_of(list_of(client)).size(), 1000U);
  const auto begin = std::chrono::steady_clock::now();
  constexpr int kTimes = 20;
  for (int i = 0; i < kTimes; ++i) static_cast<void>(call(client, "tools/list"));
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - begin;
  RecordProperty("list_ms", std::to_string(spent.count() / kTimes));
  EXPECT_LT(spent.count() / kTimes, 200);
  EXPECT_THAT(use(client, "m49_t19", R"({"word":"last"})"), HasSubstr("last"));
}

}  // namespace
}  // namespace stdgate::harness::servers_test

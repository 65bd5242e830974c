// Records of calls through a virtual server (audit, traces) and lists for operators, with the names
// of the server and the names of the member.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/integration/harness/eventually.h"
#include "tests/integration/harness/mcp_requests.h"
#include "tests/integration/harness/program_run.h"
#include "tests/integration/harness/setups.h"
#include "tests/integration/harness/web_server.h"
#include "tests/integration/member_server.h"
#include "tests/support/otlp_spans.h"

namespace stdgate::harness::servers_records_test {
namespace {

using test::OtlpSpan;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr const char* kServer =
    "servers: { team: { default: true, members: [{ backend: good, tools: { rename: { echo: say } } "
    "}] } }\n";
constexpr const char* kCall = R"({"name":"good_say","arguments":{"word":"x"}})";

GatewaySetup served(const std::string& root) {
  return serve({backend("good", member_server(), kMember)}, kServer + root);
}

// --- Audit ---------------------------------------------------------------------------------------

std::vector<JsonValue> audited(const GatewayProcess& gateway) {
  std::ostringstream text;
  text << std::ifstream(gateway.folder() / "audit.jsonl", std::ios::binary).rdbuf();
  std::istringstream in(text.str());
  std::vector<JsonValue> lines;
  for (std::string line; std::getline(in, line);) {
    JsonValue value(line);
    if (value.text("/event") == "call" && value.text("/method") == "tools/call") {
      lines.push_back(std::move(value));
    }
  }
  return lines;
}

// Calls of a session and calls without a session.
TEST(ServersRecords, TheAuditHasALineOfTheServerAndOneOfTheMember) {
  GatewayProcess gateway(served("audit: { file: \"@DIR@/audit.jsonl\" }\n"));
  HttpClient client = gateway.connect();
  const auto await = [&](size_t count) {
    eventually("the lines are there", [&] { return audited(gateway).size() >= count; });
    std::vector<JsonValue> lines = audited(gateway);
    lines.erase(lines.begin(), lines.end() - 2);
    std::ranges::sort(lines, {}, [](const JsonValue& line) { return line.text("/backend"); });
    return lines;
  };
  EXPECT_THAT(call(client, "tools/call", kCall).body, HasSubstr("REACHED"));
  const auto check = [](const std::vector<JsonValue>& lines) {
    ASSERT_THAT(lines, SizeIs(2));
    EXPECT_EQ(lines[0].text("/backend"), "good");
    EXPECT_EQ(lines[0].text("/tool"), "echo");
    EXPECT_EQ(lines[1].text("/backend"), "team");
    EXPECT_EQ(lines[1].text("/tool"), "good_say");
  };
  check(await(2));
  const std::string id = open_mcp_session(client);
  client.post("/mcp", request("tools/call", kCall, "5"), in_mcp_session(id));
  check(await(4));
}

// A call that the virtual server refuses never reaches a member.
TEST(ServersRecords, TheAuditOfARefusedCallIsTheServersAlone) {
  GatewayProcess gateway(served("audit: { file: \"@DIR@/audit.jsonl\" }\n"));
  HttpClient client = gateway.connect();
  call(client, "tools/call", R"({"name":"good_echo","arguments":{}})");
  call(client, "tools/call", kCall);
  eventually("the lines are there", [&] { return audited(gateway).size() >= 3; });
  const auto lines = audited(gateway);
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_EQ(lines[0].text("/backend"), "team");
  EXPECT_EQ(lines[0].text("/tool"), "good_echo");
}

// --- Traces --------------------------------------------------------------------------------------

TEST(ServersRecords, TheMembersSpanIsBelowTheServersOne) {
  constexpr const char* kPath = "/v1/traces";
  WebServer collector;
  collector.answer(kPath, WebServer::json("{}"));
  GatewayProcess gateway(served("traces: { endpoint: \"" + collector.url() + "\", sample: 1 }\n"));
  const std::string trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  HttpClient client = gateway.connect();
  const HttpResponse response =
      client.post("/rpc", request("tools/call", kCall),
                  {{"traceparent", "00-" + trace + "-00f067aa0ba902b7-01"}});
  const auto spans = [&] {
    std::vector<OtlpSpan> all;
    for (const std::string& body : collector.bodies(kPath)) {
      for (OtlpSpan& span : test::read_otlp_spans(body)) {
        if (span.trace_id == trace) all.push_back(std::move(span));
      }
    }
    return all;
  };
  const auto of = [&](const std::string& backend) {
    const std::vector<OtlpSpan> all = spans();
    const auto found = std::ranges::find_if(all, [&](const OtlpSpan& span) {
      const auto name = span.attributes.find("stdgate.backend");
      return name != span.attributes.end() && name->second == backend && span.kind == 2;
    });
    return found == all.end() ? std::nullopt : std::optional(*found);
  };
  ASSERT_TRUE(eventually("both are there", [&] { return of("team") && of("good"); }));
  const OtlpSpan server = *of("team");
  const OtlpSpan member = *of("good");
  EXPECT_EQ(server.parent_id, "00f067aa0ba902b7");
  EXPECT_EQ(server.attributes.at("gen_ai.tool.name"), "good_say");
  // A span for the time at the member is between the spans of the server's call and the member's
  // call.
  const std::vector<OtlpSpan> all = spans();
  const auto between = std::ranges::find(all, member.parent_id, &OtlpSpan::span_id);
  ASSERT_NE(between, all.end());
  EXPECT_EQ(between->parent_id, server.span_id);
  EXPECT_EQ(member.attributes.at("gen_ai.tool.name"), "echo");
  // The child gets the id of the span of its own call.
  EXPECT_THAT(response.body, AllOf(HasSubstr("00-" + trace), Not(HasSubstr("00f067aa0ba902b7"))));
}

// --- stdgate ls ----------------------------------------------------------------------------------

TEST(ServersRecords, LsAsShowsWhatIsLeftByTheRulesOfServerAndMember) {
  const TemporaryFolder folder;
  const auto key = [&](const std::string& name) {
    folder.write(name, "sg_" + std::string(32, name[0]) + "\n");
    return (folder.path() / name).string();
  };
  GatewaySetup setup = serve(
      {backend("good", member_server(),
               std::string(kMember) +
                   ", rules: [{ allow: [admin] }, { allow: [reader], except: [secret] }]")},
      "servers: { team: { members: [{ backend: good, tools: { rename: { echo: say } } }], "
      "rules: [{ allow: [admin] }, { allow: [reader], except: [good_die] }] } }\n"
      "listen: [\"unix:" +
          (folder.path() / "gate.sock").string() +
          "\"]\nadmin: \"127.0.0.1:0\"\nauth: { api_keys: [{ name: root, roles: [admin], file: \"" +
          key("root") + "\" }, { name: ada, roles: [reader], file: \"" + key("ada") + "\" }] }\n");
  folder.write("gateway.yaml", setup.config);
  GatewayProcess gateway(std::move(setup));
  const auto ls = [&](const std::string& who) {
    return run_stdgate(folder, {"ls", "--as", who, "--api-key-file", "root"}, Millis(30'000)).out;
  };
  const auto of_team = [](const std::string& all) { return all.substr(all.find("team\n")); };
  EXPECT_EQ(of_team(ls("root,admin")),
            "team\n  tool      good_say\n  tool      good_die\n  tool      good_secret\n");
  EXPECT_EQ(of_team(ls("ada,reader")), "team\n  tool      good_say\n");
  // Ada herself gets this list.
  EXPECT_EQ(run_stdgate(folder, {"tools", "team", "--api-key-file", "ada"}, Millis(30'000)).out,
            "team\n  good_say\n");
}

}  // namespace
}  // namespace stdgate::harness::servers_records_test

// The audit of the real program: its lines, their verification, and an audit that cannot be
// written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/integration/harness/program_run.h"
#include "tests/integration/harness/setups.h"
#include "tests/integration/harness/websocket_client.h"

namespace stdgate::harness::audit_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr const char* kKey = "sg_0123456789abcdef0123456789abcdef";

std::string audit(const std::string& more = "") {
  return "audit: { file: \"@DIR@/audit.jsonl\"" + more + " }\n";
}

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream out;
  out << std::ifstream(file, std::ios::binary).rdbuf();
  return out.str();
}

std::filesystem::path audit_of(const GatewayProcess& gateway) {
  return gateway.folder() / "audit.jsonl";
}

// The lines of this event; without `event`, all lines.
std::vector<JsonValue> lines_of(const GatewayProcess& gateway, std::string_view event = "") {
  std::vector<JsonValue> lines;
  std::istringstream in(text_of(audit_of(gateway)));
  for (std::string line; std::getline(in, line);) {
    JsonValue value(line);
    if (event.empty() || value.text("/event") == event) lines.push_back(std::move(value));
  }
  return lines;
}

std::vector<JsonValue> await_lines(const GatewayProcess& gateway, std::string_view event,
                                   size_t count) {
  eventually(std::to_string(count) + " lines of " + std::string(event),
             [&] { return lines_of(gateway, event).size() >= count; });
  return lines_of(gateway, event);
}

ProgramRun verify(const std::vector<std::string>& files) {
  const TemporaryFolder folder;
  std::vector<std::string> arguments = {"audit", "verify"};
  arguments.insert(arguments.end(), files.begin(), files.end());
  return run_stdgate(folder, arguments);
}

// Makes writes fail beyond `bytes`, like a full disk. A larger limit gives room again.
void limit_files(const GatewayProcess& gateway, rlim_t bytes) {
  rlimit limit{};
  ASSERT_EQ(prlimit(gateway.pid(), RLIMIT_FSIZE, nullptr, &limit), 0);
  limit.rlim_cur = bytes;
  ASSERT_EQ(prlimit(gateway.pid(), RLIMIT_FSIZE, &limit, nullptr), 0);
}

TEST(Audit, SaysWhoDidWhat) {
  const TemporaryFolder keys;
  keys.write("key", kKey);
  GatewayProcess gateway(serve_one(
      puppet("mcp-library"),
      "protocol: mcp, isolation: shared, rules: [{ allow: [reader], tools: [\"read_*\"] }]",
      audit() + "auth: { api_keys: [{ name: ada, roles: [reader], file: " +
          (keys.path() / "key").string() + " }] }\n"));
  const Headers ada = {{"authorization", std::string("Bearer ") + kKey}};
  HttpClient client = gateway.connect();
  client.post("/rpc", request("tools/call", R"({"name":"read_file"})"), ada);
  client.post("/rpc", request("tools/call", R"({"name":"delete_file\n"})"), ada);
  client.post("/rpc", request("tools/call", R"({"name":"read_file","name":"delete_file"})"), ada);
  Headers wrong = ada;
  wrong["authorization"] += "x";
  EXPECT_EQ(client.post("/rpc?secret=1", request("ping"), wrong).status, 401);
  Headers foreign = ada;
  foreign["origin"] = "https://evil.example";
  EXPECT_EQ(gateway.connect().post("/rpc", request("ping"), foreign).status, 403);
  {
    Headers both = ada;
    both["accept"] = "application/json, text/event-stream";
    const HttpResponse opened =
        client.post("/mcp",
                    request("initialize", R"({"protocolVersion":"2025-06-18","capabilities":{},)"
                                          R"("clientInfo":{"name":"c","version":"1"}})"),
                    both);
    both["mcp-session-id"] = opened.header("mcp-session-id");
    client.send_request("DELETE", "/mcp", "", both);
    client.read_response();
  }
  const auto calls = await_lines(gateway, "call", 4);
  EXPECT_EQ(calls[0].text("/principal"), "ada");
  EXPECT_EQ(calls[0].text("/principal_kind"), "api_key");
  EXPECT_EQ(calls[0].text("/address"), "127.0.0.1");
  EXPECT_EQ(calls[0].text("/backend"), "main");
  EXPECT_EQ(calls[0].text("/tool"), "read_file");
  EXPECT_EQ(calls[0].text("/outcome"), "tool_error");  // the tool fails: it has no such file
  EXPECT_THAT(calls[0].text("/arguments"), testing::MatchesRegex("sha256:[0-9a-f]{64}"));
  EXPECT_EQ(calls[1].text("/tool"), "delete_file\n");
  EXPECT_EQ(calls[1].text("/outcome"), "denied");
  EXPECT_EQ(calls[2].text("/outcome"), "invalid_request");
  EXPECT_EQ(calls[2].text("/principal"), "ada");
  const auto begun = await_lines(gateway, "session_opened", 1);
  EXPECT_THAT(begun[0].text("/session"), testing::MatchesRegex("[0-9a-f]{8}"));
  // The log writes lines that report no trouble with a short delay.
  ASSERT_TRUE(eventually("the log has the session",
                         [&] { return !log_of(gateway, "session opened").empty(); }));
  EXPECT_EQ(begun[0].text("/session"), log_of(gateway, "session opened").at(0).text("/session"));
  const auto failed = await_lines(gateway, "login_failed", 1);
  EXPECT_EQ(failed[0].text("/path"), "/rpc");
  EXPECT_EQ(failed[0].text("/reason"), "unauthorized");
  EXPECT_EQ(await_lines(gateway, "refused", 1)[0].text("/reason"), "bad_origin");
  EXPECT_EQ(await_lines(gateway, "session_opened", 1)[0].text("/principal"), "ada");
  EXPECT_EQ(await_lines(gateway, "session_ended", 1)[0].text("/principal"), "ada");
  EXPECT_THAT(text_of(audit_of(gateway)), AllOf(Not(HasSubstr(kKey)), Not(HasSubstr("secret"))));
  EXPECT_EQ(gateway.metrics().sum("stdgate_audit_lines_total"), lines_of(gateway).size());
  const ProgramRun run = verify({audit_of(gateway)});
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("ok: "));
}

TEST(Audit, AChangedLineIsFound) {
  GatewayProcess gateway(serve_one(demo_server(), "", audit()));
  HttpClient client = gateway.connect();
  for (int i = 0; i < 3; ++i) call(client, "echo", "[1]");
  await_lines(gateway, "call", 3);
  std::string text = text_of(audit_of(gateway));
  text.replace(text.find("\"ok\""), 4, "\"no\"");
  const TemporaryFolder folder;
  folder.write("changed", text);
  const ProgramRun run = run_stdgate(folder, {"audit", "verify", "changed"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.out, AllOf(HasSubstr("changed:2: changed"), HasSubstr("NOT ok")));
  const ProgramRun missing = run_stdgate(folder, {"audit", "verify", "changed", "missing"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.out, HasSubstr("missing: No such file"));
}

TEST(Audit, GoesOnInANewFileOnHangup) {
  GatewayProcess gateway(serve_one(demo_server(), "", audit()));
  HttpClient client = gateway.connect();
  call(client, "echo", "[1]");
  await_lines(gateway, "call", 1);
  const auto old = gateway.folder() / "audit.jsonl.1";
  std::filesystem::rename(audit_of(gateway), old);
  gateway.signal(SIGHUP);
  eventually("there is a new file", [&] { return std::filesystem::exists(audit_of(gateway)); });
  call(client, "echo", "[2]");
  await_lines(gateway, "call", 1);
  EXPECT_THAT(lines_of(gateway, "continued"), SizeIs(1));
  const ProgramRun run = verify({old, audit_of(gateway)});
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
}

TEST(Audit, SaysThatTheConfigurationWasReadAgain) {
  TemporaryFolder folder;
  const std::string file = (folder.path() / "audit.jsonl").string();
  const auto text = [&](const std::string& more) {
    return serve({backend("main", puppet())},
                 "listen: [\"127.0.0.1:0\"]\nadmin: \"127.0.0.1:0\"\naudit: { file: \"" + file +
                     "\" }\n" + more)
        .config;
  };
  folder.write("key", kKey);
  const std::string auth =
      "auth: { api_keys: [ { name: ada, file: \"" + (folder.path() / "key").string() + "\" } ] }\n";
  GatewaySetup setup;
  setup.config = text("");
  GatewayProcess gateway(setup);
  ASSERT_TRUE(reload(gateway, text(auth + "replica: other\n")));
  ASSERT_FALSE(reload(gateway, "bakends: {}\n"));
  ASSERT_TRUE(reload(gateway, text(auth + "watch: true\n")));
  std::ofstream(gateway.folder() / "gateway.yaml") << text("watch: true\n");
  const auto is_there = [&](const std::string& line) {
    const std::string whole = R"("event":"reloaded",)" + line;
    EXPECT_TRUE(eventually("there is " + whole,
                           [&] { return text_of(file).find(whole) != std::string::npos; }));
  };
  is_there(R"("cause":"signal","outcome":"ok","changed":["auth"],"needs_restart":["replica"]})");
  is_there(R"("cause":"signal","outcome":"failed"})");
  is_there(R"("cause":"watch","outcome":"ok","changed":["auth"]})");
  EXPECT_THAT(text_of(file), Not(HasSubstr(kKey)));
  EXPECT_EQ(verify({file}).exit_code, 0);
}

TEST(Audit, GoesOnAfterAKill) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "audit.jsonl").string();
  const std::string root = "audit: { file: \"" + file + "\" }\n";
  {
    GatewayProcess gateway(serve_one(demo_server(), "", root));
    HttpClient client = gateway.connect();
    call(client, "echo", "[1]");
    eventually("the call is written",
               [&] { return text_of(file).find("\"call\"") != std::string::npos; });
    gateway.signal(SIGKILL);
    gateway.wait_for_exit();
  }
  const std::string torn = R"({"sequence":3,"previous":"0)";
  std::ofstream(file, std::ios::app) << torn;
  {
    GatewayProcess gateway(serve_one(demo_server(), "", root));
    EXPECT_THAT(log_of(gateway, "audit ended within a line"), SizeIs(1));
  }
  const ProgramRun run = verify({file});
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr(":3: torn: " + std::to_string(torn.size()) + " bytes"));
}

TEST(Audit, HasOneGateway) {
  GatewayProcess gateway(serve_one(demo_server(), "", audit()));
  const TemporaryFolder folder;
  folder.write("gateway.yaml",
               "listen: \"127.0.0.1:0\"\nadmin: \"off\"\nlog: { format: text }\naudit: { file: \"" +
                   audit_of(gateway).string() +
                   "\" }\nbackends: { a: { command: [\"true\"], protocol: jsonrpc } }\n");
  const ProgramRun run = run_stdgate(folder, {});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("another process writes this audit"));
}

// Calls that must be recorded are refused on each transport while the disk is full. They are
// accepted again when there is room.
TEST(Audit, WhatCannotBeRecordedIsRefused) {
  for (const char* durable : {"", ", durable: true"}) {
    GatewayProcess gateway(
        serve_one(demo_server(), "", audit(std::string(", calls: [\"math/*\"]") + durable)));
    HttpClient client = gateway.connect();
    WebSocketClient socket(gateway.url());
    EXPECT_EQ(call(client, "math/add", "[1,2]").status, 200);
    await_lines(gateway, "call", 1);
    limit_files(gateway, std::filesystem::file_size(audit_of(gateway)) + 10);
    // This call discovers that the disk is full. Without `durable` it is answered before that.
    call(client, "math/add", "[1,2]");
    HttpClient admin(gateway.admin_url());
    eventually("it is not ready", [&] { return admin.get("/readyz").status == 503; });
    EXPECT_THAT(admin.get("/readyz").body, HasSubstr("the audit cannot be written"));
    const HttpResponse refused = call(client, "math/add", "[1,2]");
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(refused.header("retry-after"), "1");
    EXPECT_THAT(refused.body, HasSubstr("Audit record cannot be written"));
    EXPECT_EQ(call(client, "echo", "[1]").status, 200);  // not recorded, so not refused
    socket.send(request("math/add", "[1,2]"));
    EXPECT_THAT(socket.message(), HasSubstr("Audit record cannot be written"));
    EXPECT_EQ(admin.get("/healthz").status, 200);
    EXPECT_GE(gateway.metrics().sum("stdgate_audit_failures_total"), 1);
    EXPECT_EQ(gateway.metrics().sum("stdgate_audit_failing"), 1);
    limit_files(gateway, RLIM_INFINITY);
    eventually("it is ready again", [&] { return admin.get("/readyz").status == 200; });
    EXPECT_EQ(call(client, "math/add", "[1,2]").status, 200);
    await_lines(gateway, "call", 3);
    EXPECT_GE(await_lines(gateway, "written_again", 1)[0].number("/refused_calls"), 2);
    const ProgramRun run = verify({audit_of(gateway)});
    EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  }
}

// The gateway withholds the answer to a call until the call's line is on the disk.
TEST(Audit, ADurableLineComesBeforeTheAnswer) {
  GatewayProcess gateway(serve_one(demo_server(), "", audit(", durable: true")));
  HttpClient client = gateway.connect();
  for (size_t i = 1; i <= 5; ++i) {
    EXPECT_EQ(call(client, "echo", "[1]").status, 200);
    EXPECT_THAT(lines_of(gateway, "call"), SizeIs(i));  // the line is there at once
  }
  limit_files(gateway, std::filesystem::file_size(audit_of(gateway)) + 10);
  const HttpResponse withheld = call(client, "echo", "[\"done\"]");
  EXPECT_EQ(withheld.status, 503);
  EXPECT_THAT(withheld.body, Not(HasSubstr("done")));
  limit_files(gateway, RLIM_INFINITY);
}

}  // namespace
}  // namespace stdgate::harness::audit_test

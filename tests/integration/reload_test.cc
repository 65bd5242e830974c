// SIGHUP: the gateway takes over who may call what while it serves, and names the settings that
// need a restart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>

#include "tests/integration/harness/eventually.h"
#include "tests/integration/harness/setups.h"
#include "tests/integration/harness/websocket_client.h"
#include "tests/support/test_folder.h"

namespace stdgate::harness::reload_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// The hashes of the keys: printf '%s' the-key-of-ada-1234 | stdgate hash-key
constexpr const char* kAda =
    "{ name: ada, roles: [reader], hash: "
    "\"sha256:c5174bdf96d3b1617fae25d280f798252a83b1bb8149ffe0ec6c723edbebc50d\" }";
constexpr const char* kAdaAsWriter =
    "{ name: ada, roles: [writer], hash: "
    "\"sha256:c5174bdf96d3b1617fae25d280f798252a83b1bb8149ffe0ec6c723edbebc50d\" }";
constexpr const char* kBob =
    "{ name: bob, roles: [reader], hash: "
    "\"sha256:90c3d2a3c8b61f8460f8cca72dc166b09ffc937793e413ce9eaf2629a5942983\" }";
constexpr const char* kForReaders = "rules: [ { allow: [reader] } ]";

std::string text_of(const std::string& keys, const std::string& options = kForReaders,
                    const std::string& root = "") {
  return "listen: [\"127.0.0.1:0\"]\nadmin: \"127.0.0.1:0\"\nlog: { format: json }\n" + root +
         "auth: { api_keys: [ " + keys + " ] }\nbackends: { " + backend("main", puppet(), options) +
         " }\n";
}

GatewaySetup setup_of(const std::string& text) {
  GatewaySetup setup;
  setup.config = text;
  return setup;
}

Headers as(const std::string& name) {
  return {{"authorization", "Bearer the-key-of-" + name + "-1234"}};
}

class Reload : public testing::Test {
 protected:
  void reload(const std::string& text, bool is_good = true) {
    ASSERT_EQ(harness::reload(gateway_, text), is_good) << gateway_.log();
  }
  [[nodiscard]] bool logs(const std::string& text) const {
    return eventually("the log has " + text,
                      [&] { return gateway_.log().find(text) != std::string::npos; });
  }
  [[nodiscard]] int status(const std::string& name) {
    return gateway_.connect().post("/rpc", request("pid"), as(name)).status;
  }
  [[nodiscard]] std::string pid(const std::string& name) {
    return gateway_.connect().post("/rpc", request("pid"), as(name)).body;
  }
  [[nodiscard]] WebSocketClient open_socket(const std::string& name) const {
    WebSocketClient::Options options;
    options.headers = as(name);
    return {gateway_.url() + "/ws", options};
  }

  GatewayProcess gateway_{setup_of(text_of(kAda))};
};

TEST_F(Reload, KeysComeAndGo) {
  const std::string child = pid("ada");
  EXPECT_EQ(status("bob"), 401);
  reload(text_of(std::string(kAda) + ", " + kBob));
  EXPECT_EQ(status("bob"), 200);
  EXPECT_EQ(pid("ada"), child) << "the child goes on";
  reload(text_of(kBob));
  EXPECT_EQ(status("ada"), 401);
  EXPECT_EQ(status("bob"), 200);
  EXPECT_EQ(pid("bob"), child);
  EXPECT_TRUE(logs("\"event\":\"configuration reloaded\",\"changed\":\"auth\""));
  EXPECT_THAT(gateway_.log(), Not(HasSubstr("needs a restart")));
  EXPECT_EQ(state_of(gateway_).number("/configuration/reloads"), 2);
}

TEST_F(Reload, AKeptConnectionIsJudgedAnew) {
  HttpClient client = gateway_.connect();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.post("/rpc", request("pid"), as("ada")).status, 200);
  reload(text_of(kBob));
  EXPECT_EQ(client.post("/rpc", request("pid"), as("ada")).status, 401);
  EXPECT_EQ(client.post("/rpc", request("pid"), as("bob")).status, 200);
}

TEST_F(Reload, WhatLastsEndsWithItsKeyAndWithNoOther) {
  reload(text_of(std::string(kAda) + ", " + kBob));
  WebSocketClient ada = open_socket("ada");
  WebSocketClient bob = open_socket("bob");
  ada.call("pid");
  bob.call("pid");
  reload(text_of(kBob));
  const Closing closing = ada.read_closing();
  EXPECT_EQ(closing.code, 1008);
  EXPECT_EQ(closing.reason, "the credential is not good any more");
  EXPECT_THAT(bob.call("pid"), HasSubstr("result"));
  // Ada returns with another role, which does not affect Bob.
  reload(text_of(std::string(kAdaAsWriter) + ", " + kBob));
  EXPECT_THAT(bob.call("pid"), HasSubstr("result"));
}

TEST_F(Reload, RulesHoldForTheNextCall) {
  WebSocketClient socket = open_socket("ada");
  EXPECT_THAT(socket.call("pid"), HasSubstr("result"));
  reload(text_of(kAda, "rules: [ { allow: [reader], methods: [cwd] } ]"));
  EXPECT_THAT(socket.call("pid"), HasSubstr("-32601"));
  EXPECT_THAT(socket.call("cwd"), HasSubstr("result"));
  EXPECT_EQ(gateway_.connect().post("/rpc", request("pid"), as("ada")).status, 200);
  EXPECT_THAT(pid("ada"), HasSubstr("-32601"));
  reload(text_of(kAda, "rules: [ { allow: [writer] } ]",
                 "roles: { writer: { includes: [editor] } }\n"));
  EXPECT_EQ(socket.read_closing().code, 1008) << "no rule is about its client any more";
  reload(text_of(kAda, "rules: [ { allow: [writer] } ]",
                 "roles: { reader: { includes: [writer] } }\n"));
  WebSocketClient again = open_socket("ada");
  EXPECT_THAT(again.call("cwd"), HasSubstr("result"));
  reload(text_of(kAda, "methods: [cwd]"));
  EXPECT_THAT(again.call("cwd"), HasSubstr("result"));
  EXPECT_THAT(again.call("pid"), HasSubstr("-32601"));
  EXPECT_TRUE(logs("backends.main.methods"));
}

// An MCP session ends as well: a principal that no rule admits must receive nothing.
TEST_F(Reload, SessionsOfWhomNoRuleLetsInEnd) {
  std::string text = text_of(kAda);
  text.insert(text.rfind('}'), ", " + backend("tools", puppet("mcp"),
                                              "protocol: mcp, rules: [ { allow: [reader] } ]"));
  GatewayProcess gateway(setup_of(text));
  const std::string initialize =
      request("initialize", R"({"protocolVersion":"2025-06-18","capabilities":{},)"
                            R"("clientInfo":{"name":"c","version":"1"}})");
  const std::string id =
      gateway.connect().post("/tools/mcp", initialize, as("ada")).header("mcp-session-id");
  Headers headers = as("ada");
  headers["mcp-session-id"] = id;
  EXPECT_EQ(gateway.connect().post("/tools/mcp", request("ping"), headers).status, 200);
  const size_t at = text.rfind("allow: [reader]");
  text.replace(at, std::string_view("allow: [reader]").size(), "allow: [writer]");
  std::ofstream(gateway.folder() / "gateway.yaml") << text;
  gateway.signal(SIGHUP);
  EXPECT_TRUE(eventually("the session is over", [&] {
    return gateway.connect().post("/tools/mcp", request("ping"), headers).status == 404;
  }));
}

TEST_F(Reload, OriginsAndHostsToo) {
  Headers foreign = as("ada");
  foreign["origin"] = "https://app.example";
  EXPECT_EQ(gateway_.connect().post("/rpc", request("pid"), foreign).status, 403);
  reload(text_of(kAda, kForReaders, "allowed_origins: [\"https://app.example\"]\n"));
  EXPECT_EQ(gateway_.connect().post("/rpc", request("pid"), foreign).status, 200);
  reload(text_of(kAda));
  EXPECT_EQ(gateway_.connect().post("/rpc", request("pid"), foreign).status, 403);
}

TEST_F(Reload, ABadFileChangesNothing) {
  reload("backends: { main: { comand: [x] } }\nlimts: {}\n", false);
  EXPECT_EQ(status("ada"), 200);
  EXPECT_EQ(gateway_.metrics().sum("stdgate_config_reloads_total", {{"outcome", "failed"}}), 1);
  EXPECT_THAT(state_of(gateway_).text("/configuration/problem"), HasSubstr("comand"));
  const std::vector<JsonValue> mistakes = log_of(gateway_, "configuration not reloaded");
  ASSERT_EQ(mistakes.size(), 3U) << "a line for each mistake: the command is missing too";
  EXPECT_THAT(mistakes[1].text("/problem"), AllOf(HasSubstr("comand"), Not(HasSubstr("limts"))));
  EXPECT_THAT(mistakes[2].text("/problem"), AllOf(HasSubstr("limts"), Not(HasSubstr("\n"))));
  reload(text_of(kAda));
  EXPECT_TRUE(logs("\"event\":\"configuration reloaded\",\"changed\":\"none\""));
  EXPECT_EQ(status("ada"), 200);
}

TEST_F(Reload, WhatNeedsARestartIsNamed) {
  const std::string child = pid("ada");
  reload(text_of(std::string(kAda) + ", " + kBob, kForReaders,
                 "replica: other\nmetrics: { methods: 7 }\n"));
  EXPECT_EQ(status("bob"), 200) << "what can be taken over is";
  EXPECT_EQ(pid("ada"), child);
  EXPECT_THAT(state_of(gateway_).texts("/configuration/needs_restart"),
              testing::ElementsAre("replica", "metrics"));
  EXPECT_TRUE(logs("configuration needs a restart"));
}

TEST_F(Reload, LimitsHoldForWhatComesThen) {
  const std::string child = pid("ada");
  const std::string two = "[" + request("pid") + "," + request("pid") + "]";
  HttpClient client = gateway_.connect();
  EXPECT_EQ(client.post("/rpc", two, as("ada")).status, 200);
  reload(text_of(kAda, kForReaders, "limits: { batch: 1, message: 1KiB }\n"));
  EXPECT_THAT(client.post("/rpc", two, as("ada")).body, HasSubstr("batch"));
  const std::string large = request("echo", "[\"" + std::string(1100, 'x') + "\"]");
  EXPECT_EQ(gateway_.connect().post("/rpc", large, as("ada")).status, 413);
  reload(text_of(kAda));
  EXPECT_EQ(client.post("/rpc", two, as("ada")).status, 200);
  EXPECT_EQ(gateway_.connect().post("/rpc", large, as("ada")).status, 200);
  EXPECT_EQ(pid("ada"), child);
}

TEST_F(Reload, TimeoutsHoldForConnectionsThatAreOpen) {
  const auto open = [this] { return state_of(gateway_).number("/connections"); };
  HttpClient client = gateway_.connect();
  EXPECT_EQ(client.post("/rpc", request("pid"), as("ada")).status, 200);
  EXPECT_EQ(open(), 1);
  reload(text_of(kAda, kForReaders, "timeouts: { idle: 50ms }\n"));
  EXPECT_EQ(client.post("/rpc", request("pid"), as("ada")).status, 200);
  EXPECT_TRUE(eventually("it has been idle for too long", [&] { return open() == 0; }));
}

TEST_F(Reload, TheLogSaysMoreOrLess) {
  const auto with_log = [](const std::string& keys) {
    std::string text = text_of(kAda);
    return text.replace(text.find("format: json"), 12, "format: json, " + keys);
  };
  const auto count = [this](const std::string& event) { return log_of(gateway_, event).size(); };
  EXPECT_EQ(status("ada"), 200);
  EXPECT_TRUE(eventually("the call is logged", [&] { return count("call") == 1; }));
  reload(with_log("level: error"));
  EXPECT_TRUE(logs("\"event\":\"configuration reloaded\",\"changed\":\"log\""))
      << "it is confirmed";
  EXPECT_EQ(status("ada"), 200);
  reload(with_log("calls: false, payloads: true, redact: [secret]"));
  gateway_.connect().post("/rpc", request("echo", R"([{"secret":"hush"}])"), as("ada"));
  EXPECT_TRUE(logs("\\\"secret\\\":")) << "messages are";
  EXPECT_THAT(gateway_.log(), Not(HasSubstr("hush")));
  reload(with_log("level: debug"));
  EXPECT_EQ(status("ada"), 200);
  EXPECT_TRUE(logs("\"level\":\"debug\""));
  EXPECT_TRUE(eventually("calls are logged again", [&] { return count("call") == 2; }));
  const std::vector<JsonValue> lines = log_of(gateway_, "call");
  EXPECT_EQ(lines.back().text("/backend"), "main") << "its name is known";
}

// Rules of a former configuration do not hold for existing connections.
TEST_F(Reload, WhetherClientsAreAskedIsTakenOver) {
  std::string open = text_of(kAda, "");
  open.erase(open.find("auth:"), open.find("backends:") - open.find("auth:"));
  const std::string child = pid("ada");
  reload(open);
  HttpClient client = gateway_.connect();
  EXPECT_EQ(client.post("/rpc", request("pid")).body, child);
  WebSocketClient socket(gateway_.url() + "/ws", {});
  reload(text_of(kAda, ""));
  EXPECT_EQ(gateway_.connect().post("/rpc", request("pid")).status, 401);
  EXPECT_EQ(pid("ada"), child);
  EXPECT_EQ(socket.read_closing().code, 1001);
  EXPECT_TRUE(eventually("the connection has ended", [&] {
    try {
      return client.post("/rpc", request("pid")).status == 401;
    } catch (const std::runtime_error&) {
      return true;
    }
  }));
}

// All calls of other principals get a result, whatever is added or removed meanwhile.
TEST_F(Reload, LosesNoCall) {
  std::atomic<bool> ends = false;
  std::atomic<int> good = 0;
  std::atomic<int> bad = 0;
  std::thread caller([&] {
    HttpClient client = gateway_.connect();
    while (!ends) ++(client.post("/rpc", request("pid"), as("ada")).status == 200 ? good : bad);
  });
  WebSocketClient socket = open_socket("ada");
  for (int i = 0; i < 20; ++i) {
    reload(text_of(i % 2 == 0 ? std::string(kAda) + ", " + kBob : kAda,
                   i % 3 == 0 ? kForReaders : "rules: [ { allow: [reader, writer] } ]"));
    EXPECT_THAT(socket.call("pid"), HasSubstr("result"));
  }
  ends = true;
  caller.join();
  EXPECT_GT(good, 20);
  EXPECT_EQ(bad, 0);
}

TEST(Hangup, DoesNotEndAGatewayWithoutAFile) {
  GatewaySetup setup;
  setup.arguments = {"--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--log-format",
                     "json",     "--protocol",  "jsonrpc", "--"};
  for (const std::string& word : puppet()) setup.arguments.push_back(word);
  GatewayProcess gateway(setup);
  gateway.signal(SIGHUP);
  EXPECT_TRUE(eventually("it has been read again", [&] {
    return gateway.metrics().sum("stdgate_config_reloads_total", {{"outcome", "ok"}}) == 1;
  }));
  HttpClient client = gateway.connect();
  EXPECT_EQ(call(client, "cwd").status, 200);
}

}  // namespace
}  // namespace stdgate::harness::reload_test

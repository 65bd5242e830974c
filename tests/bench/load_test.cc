// The load generator with a real stdgate, which must cause no errors, and with children that lie,
// whose errors must be found.
#include <gmock/gmock.h>

#include <array>
#include <cstdio>
#include <string>

#include "tests/integration/harness/setups.h"
#include "tests/support/test_folder.h"

namespace stdgate::harness {
namespace {

using testing::HasSubstr;

const std::string kEchoChild = STDGATE_ECHO_CHILD;

struct LoadOutcome {
  int exit_code = -1;
  std::string line;
};

// `arguments`: words of a shell command.
LoadOutcome run_load(const std::string& arguments) {
  const std::string command = std::string(STDGATE_LOAD) + " " + arguments;
  FILE* const output = popen(command.c_str(), "r");
  LoadOutcome outcome;
  std::array<char, 4096> buffer;
  while (const size_t count = fread(buffer.data(), 1, buffer.size(), output)) {
    outcome.line.append(buffer.data(), count);
  }
  outcome.exit_code = WEXITSTATUS(pclose(output));
  return outcome;
}

void expect_no_errors(const std::string& arguments, double least_calls) {
  SCOPED_TRACE(arguments);
  const LoadOutcome outcome = run_load(arguments);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.line;
  const JsonValue report(outcome.line);
  EXPECT_EQ(report.number("/errors"), 0);
  EXPECT_EQ(report.number("/unanswered"), 0);
  EXPECT_GE(report.number("/calls"), least_calls);
}

// The child's output is edited by sed, and the load generator must find the error.
void expect_errors(const std::string& script, const std::string& error) {
  SCOPED_TRACE(script);
  const LoadOutcome outcome =
      run_load("pipe --in-flight 4 --calls 50 --warm-up 0 --deadline 0.5 -- sh -c \"" + kEchoChild +
               " | sed -u '" + script + "'\"");
  EXPECT_EQ(outcome.exit_code, 1);
  const JsonValue report(outcome.line);
  EXPECT_GE(report.number("/errors"), 1);
  EXPECT_THAT(report.text("/first_error"), HasSubstr(error));
}

TEST(Load, EveryTransportIsServedWithoutErrors) {
  GatewayProcess gateway(
      serve({backend("plain", {kEchoChild}, "default: true"),
             backend("tools", {kEchoChild}, "protocol: mcp"),
             backend("shared", {kEchoChild}, "protocol: mcp, isolation: shared"),
             backend("modern", {kEchoChild, "modern"}, "protocol: mcp, revision: modern")}));
  const std::string url = " --url " + gateway.url();
  const std::string few = " --clients 4 --calls 200 --warm-up 0";
  expect_no_errors("http" + url + "/rpc" + few, 200);
  expect_no_errors("post" + url + "/rpc" + few, 200);
  expect_no_errors("http" + url + "/rpc --calls 5 --warm-up 0 --method sleep --sleep-ms 5", 5);
  expect_no_errors("ws --in-flight 16" + url + "/ws" + few, 200);
  expect_no_errors("mcp" + url + "/tools/mcp" + few, 200);
  expect_no_errors("mcp" + url + "/shared/mcp" + few, 200);
  expect_no_errors("modern" + url + "/modern/mcp" + few, 200);
  expect_no_errors("modern" + url + "/shared/mcp" + few, 200);
  expect_no_errors("mcp" + url + "/modern/mcp" + few, 200);
  expect_no_errors("mcp --sessions 3" + url + "/shared/mcp" + few, 200);
  expect_no_errors("idle-ws --seconds 0.05" + url + "/ws --clients 20", 0);
  expect_no_errors("idle-sse --seconds 0.05" + url + "/shared/sse --clients 20", 0);
}

TEST(Load, EveryTransportSendsTheHeadersThatAreWanted) {
  const test::TestFolder folder;
  folder.write("key", "a-key-of-somebody\n");
  GatewayProcess gateway(
      serve({backend("plain", {kEchoChild}, "default: true"),
             backend("shared", {kEchoChild}, "protocol: mcp, isolation: shared")},
            "auth: { api_keys: [{ name: a, file: " + folder.path("key") + " }] }\n"));
  const std::string at =
      " --header 'X-API-Key: a-key-of-somebody' --clients 4 --url " + gateway.url();
  const std::string few = " --calls 20 --warm-up 0";
  expect_no_errors("http" + at + "/rpc" + few, 20);
  expect_no_errors("ws" + at + "/ws" + few, 20);
  expect_no_errors("mcp" + at + "/shared/mcp" + few, 20);
  expect_no_errors("idle-sse --seconds 0.05" + at + "/shared/sse", 0);
}

TEST(Load, ItEndsItsMcpSessions) {
  GatewayProcess gateway(
      serve({backend("tools", {kEchoChild}, "protocol: mcp, pool: { max: 5 }")}));
  for (int run = 0; run < 4; ++run) {
    expect_no_errors("mcp --clients 4 --calls 8 --warm-up 0 --url " + gateway.url() + "/mcp", 8);
    await_children(gateway, 0);
  }
}

TEST(Load, LargeMessagesArriveWhole) {
  GatewayProcess gateway(serve_one({kEchoChild}));
  for (const char* size : {"70000", "3000000", "16000000"}) {
    const std::string rest = " --clients 2 --calls 4 --warm-up 0 --payload " + std::string(size) +
                             " --url " + gateway.url();
    expect_no_errors("http" + rest + "/rpc", 4);
    expect_no_errors("ws" + rest + "/ws", 4);
  }
}

TEST(Load, AWarmUpIsNotCounted) {
  const LoadOutcome outcome =
      run_load("pipe --warm-up 0.3 --seconds 0.1 --method sleep --sleep-ms 1 -- " + kEchoChild);
  EXPECT_EQ(outcome.exit_code, 0);
  const JsonValue report(outcome.line);
  EXPECT_GE(report.number("/calls"), 1);
  EXPECT_LE(report.number("/calls"), 1000 * report.number("/seconds"));
}

TEST(Load, ItReportsWhatItWatchesAndWhatItKills) {
  GatewayProcess gateway(serve_one({kEchoChild}));
  expect_no_errors("http --calls 1 --warm-up 0 --url " + gateway.url() + "/rpc", 1);
  const auto pid = static_cast<int>(state_of(gateway).number("/backends/0/children/0/pid"));
  const LoadOutcome outcome = run_load(
      "http --clients 4 --warm-up 0.05 --seconds 1 --kill-after 0.1 --kill " + std::to_string(pid) +
      " --watch " + std::to_string(gateway.pid()) + " --url " + gateway.url() + "/rpc");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.line;
  const JsonValue report(outcome.line);
  EXPECT_GT(report.number("/watched/resident_bytes"), 0);
  EXPECT_GE(report.number("/descendants/processes"), 1);
  EXPECT_GT(report.number("/kill/first_result_ms"), 0);
  EXPECT_GT(report.number("/calls"), 0);
}

TEST(Load, AWrongPayloadIsAnError) { expect_errors("s/quick/thick/", "not the payload"); }

TEST(Load, AWrongPayloadThroughAGatewayIsAnError) {
  GatewayProcess gateway(serve_one(shell(kEchoChild + " | sed -u s/quick/thick/")));
  for (const std::string& mode : {"http --url " + gateway.url() + "/rpc",
                                  "ws --in-flight 4 --url " + gateway.url() + "/ws"}) {
    const LoadOutcome outcome = run_load(mode + " --clients 2 --calls 20 --warm-up 0");
    EXPECT_EQ(outcome.exit_code, 1);
    const JsonValue report(outcome.line);
    EXPECT_EQ(report.number("/calls"), 0);
    EXPECT_GE(report.number("/errors"), 20);
  }
}

// The modern child differs from the legacy child only in what the modern era demands.
TEST(Load, AModernAnswerHasToBeOne) {
  GatewayProcess gateway(serve(
      {backend("modern", shell(kEchoChild + " modern | sed -u 's/\"resultType\":\"complete\",//'"),
               "protocol: mcp, revision: modern, default: true")}));
  const LoadOutcome outcome =
      run_load("modern --calls 5 --warm-up 0 --url " + gateway.url() + "/mcp");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(JsonValue(outcome.line).text("/first_error"), HasSubstr("not the payload"));
}

TEST(Load, AnotherCallsAnswerIsAnError) {
  // The payload of a call with the id of another call.
  expect_errors("s/call 10000000../call 1000000004/", "not the payload");
}

TEST(Load, AWrongIdIsAnErrorAndItsCallUnanswered) {
  expect_errors("s/:10/:20/", "not the id of a call in flight");
  expect_errors("s/:10/:null,\\\"x\\\":10/", "not the id of a call in flight");
}

TEST(Load, ARepeatedAnswerIsAnError) { expect_errors("p", "not the id of a call in flight"); }

TEST(Load, AMissingAnswerIsAnError) { expect_errors("/call 1000000008/d", "without an answer"); }

TEST(Load, WhatIsNoMessageIsAnError) { expect_errors("s/{/[/", "no JSON-RPC message"); }

TEST(Load, WrongArgumentsSaySo) {
  for (const char* arguments : {"", "fly", "http", "http --url nowhere", "http --url http://x",
                                "pipe", "http --in-flight 2 --url http://127.0.0.1:1/",
                                "http --url http://127.0.0.1:1/ --clients 0",
                                "http --url http://127.0.0.1:1/ --header X"}) {
    EXPECT_EQ(run_load(std::string(arguments) + " 2>&1").exit_code, 2) << arguments;
  }
  EXPECT_THAT(run_load("--help").line, HasSubstr("--in-flight"));
}

TEST(Load, NobodyThereIsAnError) {
  const LoadOutcome outcome = run_load("http --url http://127.0.0.1:1/ 2>&1");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.line, HasSubstr("connect to 127.0.0.1:1"));
}

}  // namespace
}  // namespace stdgate::harness

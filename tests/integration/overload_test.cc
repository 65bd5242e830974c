// Overload of the real program: with less memory than it uses already.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/integration/harness/program_run.h"
#include "tests/integration/harness/setups.h"

namespace stdgate::harness::overload_test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

size_t resident_bytes(const GatewayProcess& gateway) {
  return static_cast<size_t>(gateway.metrics().sum("process_resident_memory_bytes"));
}

TEST(Overload, ShortOfMemoryItRefusesCallsAndNothingElse) {
  GatewayProcess gateway(serve_one(demo_server(), "", "limits: { memory: 8MiB }\n"));
  ASSERT_GT(resident_bytes(gateway), 8U << 20) << "the gateway needs more than that";
  eventually("memory is short", [&] { return !log_of(gateway, "memory is short").empty(); });
  HttpClient client = gateway.connect();
  const HttpResponse refused = call(client, "echo", "[1]");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.header("retry-after"), "1");
  EXPECT_EQ(refused.header("connection"), "close");
  EXPECT_THAT(refused.body, HasSubstr("short of memory"));
  HttpClient admin(gateway.admin_url());
  for (const char* path : {"/healthz", "/metrics", "/debug/state", "/readyz"}) {
    const HttpResponse response = admin.get(path);
    EXPECT_EQ(response.status, 200) << path;
    EXPECT_NE(response.header("connection"), "close") << path;
  }
  EXPECT_GT(gateway.metrics().sum("stdgate_memory_pressure"), 1);
  EXPECT_THAT(log_of(gateway, "memory is short"), SizeIs(1));
}

TEST(Overload, WithMemoryConnectionsStay) {
  GatewayProcess gateway(serve_one(demo_server()));
  HttpClient client = gateway.connect();
  const HttpResponse response = call(client, "echo", "[1]");
  EXPECT_EQ(response.status, 200);
  EXPECT_NE(response.header("connection"), "close");
  eventually("memory is read",
             [&] { return gateway.metrics().sum("stdgate_memory_pressure") > 0; });
  EXPECT_LT(gateway.metrics().sum("stdgate_memory_pressure"), 0.5);
}

TEST(CheckAs, SaysWhatSomebodyMayDo) {
  const TemporaryFolder folder;
  folder.write("gateway.yaml",
               "backends: { files: { command: [x], rules: [{ allow: [reader], tools: [\"read_*\"] "
               "}, { allow: [\"*\"], methods: [ping] }] } }\n");
  const ProgramRun run = run_stdgate(folder, {"check", "--as", "ann,reader"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, "ann, roles reader\nfiles:\n  tools read_*\n  methods ping\n");
  const ProgramRun json =
      run_stdgate(folder, {"check", "--as", "anonymous", "--backend", "files", "--json"});
  EXPECT_EQ(json.exit_code, 0) << json.err;
  EXPECT_TRUE(JsonValue(json.out).has("/backends/files/rules/0/methods"));
  EXPECT_EQ(run_stdgate(folder, {"check", "--as", "x", "--backend", "y"}).exit_code, 2);
  EXPECT_EQ(run_stdgate(folder, {"check", "--json"}).exit_code, 2);
}

}  // namespace
}  // namespace stdgate::harness::overload_test

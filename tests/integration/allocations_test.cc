// The steady state of the whole gateway allocates nothing per call. The sockets and the child are
// real; metrics and the log of calls have their defaults. Only the client runs in this process.
#include <gtest/gtest.h>
#include <unistd.h>
#include <uv.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "gateway/app/process.h"
#include "gateway/config/config_parser.h"
#include "tests/support/counted_new.h"
#include "tests/support/steady_client.h"
#include "tests/support/test_issuer.h"

namespace stdgate::test {
namespace {

// Counts allocations of libuv as well. Replaced before libuv's first use, so that libuv frees no
// memory that another allocator has given.
[[maybe_unused]] const int kUvAllocatorIsCounted = uv_replace_allocator(
    [](size_t size) {
      note_allocation();
      return std::malloc(size);
    },
    [](void* memory, size_t size) {
      note_allocation();
      return std::realloc(memory, size);
    },
    [](size_t count, size_t size) {
      note_allocation();
      return std::calloc(count, size);
    },
    [](void* memory) { std::free(memory); });

// Discards stderr during its lifetime, as the log writes a line for each call.
class QuietStderr {
 public:
  QuietStderr() : kept_(::dup(STDERR_FILENO)) {
    if (std::freopen("/dev/null", "w", stderr) == nullptr) ADD_FAILURE() << "no /dev/null";
  }
  ~QuietStderr() {
    ::dup2(kept_, STDERR_FILENO);
    ::close(kept_);
  }
  QuietStderr(const QuietStderr&) = delete;
  QuietStderr& operator=(const QuietStderr&) = delete;

 private:
  const int kept_;
};

// Too long for the buffer inside a std::string.
constexpr const char* kLongId = R"("4bf92f3577b34da6a3ce")";
constexpr const char* kTrace =
    "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n";

// A field that repeats an argument. The tool has marked no argument to be repeated.
constexpr const char* kRepeated = "Mcp-Param-Region: a-region-with-a-long-name\r\n";

// Backends.
constexpr const char* kDemo = "command: [\"" STDGATE_PROGRAM "\", demo-server], protocol: jsonrpc";
constexpr const char* kTools = "command: [\"" STDGATE_ECHO_CHILD "\"], protocol: mcp";
constexpr const char* kModernTools =
    "command: [\"" STDGATE_ECHO_CHILD "\", modern], protocol: mcp, revision: modern";
// The last of several rules decides about the called tool.
constexpr const char* kJudgedTools =
    "command: [\"" STDGATE_ECHO_CHILD
    "\"], protocol: mcp, rules: [ { allow: [admin] }, { allow: [\"*\"], tools: [\"read_*\"] }, "
    "{ allow: [\"*\"], tools: [\"*\"], except: [\"delete_*\"] } ]";
constexpr const char* kCheckedTools =
    "command: [\"" STDGATE_ECHO_CHILD
    "\"], protocol: mcp, check: { arguments: true, results: true }";

// Credentials of the client.
constexpr const char* kKey = "X-API-Key: a-key-of-somebody\r\n";
constexpr const char* kAuth =
    "auth: { public_url: \"https://a\", api_keys: [{ name: somebody-with-a-long-name, hash: "
    "\"sha256:"
    "94b0ab86a9989df06ceec5ad3c99efad7e3d4f4ad73cfd436ef22227fd096216\" }], "
    "jwt: [{ issuer: i, audience: [a], jwks: { file: keys } }] }\n";

const TestIssuer& issuer() {
  static const TestIssuer kIssuer(TestIssuer::Kind::ed25519);
  return kIssuer;
}

std::string token() {
  return "Authorization: Bearer " +
         issuer().token("EdDSA", R"({"iss":"i","aud":"a","sub":"somebody-with-a-long-name",)"
                                 R"("exp":9999999999})") +
         "\r\n";
}

tl::expected<std::string, std::string> read_keys(const std::string& /*file*/, size_t /*limit*/) {
  return issuer().jwks();
}

struct Steady {
  const char* name;
  const char* backend;
  const char* isolation;
  SteadyCall call;
  size_t at_once = 1;
  const char* root = "";
};

std::ostream& operator<<(std::ostream& out, const Steady& steady) { return out << steady.name; }

class Allocations : public testing::TestWithParam<Steady> {
 protected:
  static constexpr size_t kWarmUpRounds = 500;
  static constexpr size_t kRounds = 500;

  Allocations() {
    std::string path = testing::TempDir() + "stdgate_XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) ADD_FAILURE() << "no folder " << path;
    folder_ = path;
  }
  ~Allocations() override { std::filesystem::remove_all(folder_); }

  // Serves in this thread, and runs the client in another. The guards of children need a parent
  // thread that outlives them.
  void serve_client() {
    const std::string socket = folder_ / "socket";
    const auto config = config::parse_config(
        GetParam().root + std::string("listen: [\"unix:") + socket + "\"]\nadmin: \"off\"\n" +
            "backends: { demo: { " + GetParam().backend + ", isolation: " + GetParam().isolation +
            " } }\n",
        [](const std::string&) { return std::nullopt; }, {}, read_keys);
    ASSERT_TRUE(config) << config.error().front().to_string("");
    std::thread thread([&] {
      converse(socket);
      std::raise(SIGTERM);
    });
    const QuietStderr quiet;
    std::signal(SIGTERM, SIG_IGN);  // in case app::serve() does not handle SIGTERM yet
    EXPECT_EQ(app::serve(*config, {}, {.guard_path = STDGATE_GUARD}), app::kCleanExit);
    thread.join();
  }

  // The minimum of several parts: a cost of each call shows in every part, but occasional growth of
  // a table does not.
  size_t fewest_ = SIZE_MAX;  // allocations of kRounds

 private:
  void converse(const std::string& socket) {
    SteadyClient client(GetParam().call, GetParam().at_once);
    ASSERT_TRUE(client.prepare(socket));
    ASSERT_TRUE(client.run(kWarmUpRounds));
    for (int part = 0; part < 3; ++part) {
      const size_t before = allocation_count();
      ASSERT_TRUE(client.run(kRounds));
      fewest_ = std::min(fewest_, allocation_count() - before);
    }
  }

  std::filesystem::path folder_;
};

TEST_P(Allocations, NonePerCall) {
  serve_client();
  EXPECT_EQ(fewest_, 0U) << "in " << kRounds * GetParam().at_once << " calls";
}

INSTANTIATE_TEST_SUITE_P(
    Calls, Allocations,
    testing::Values(
        Steady{"Http", kDemo, "shared", echo_over_http("/rpc")},
        Steady{"PipelinedHttp", kDemo, "shared", echo_over_http("/rpc"), 16},
        Steady{"WebSocket", kDemo, "shared", echo_over_websocket("/ws")},
        Steady{"BusyWebSocket", kDemo, "shared", echo_over_websocket("/ws"), 16},
        Steady{"LongId", kDemo, "shared", echo_over_http("/rpc", kLongId)},
        Steady{"Traced", kDemo, "shared", echo_over_http("/rpc", "1", kTrace)},
        Steady{"WebSocketLongId", kDemo, "shared", echo_over_websocket("/ws", kLongId)},
        Steady{"ApiKey", kDemo, "shared", echo_over_http("/rpc", "1", kKey), 1, kAuth},
        Steady{"Token", kDemo, "shared", echo_over_http("/rpc", "1", token()), 1, kAuth},
        Steady{"OwnChild", kDemo, "session", echo_over_websocket("/ws")},
        Steady{"Mcp", kTools, "shared", echo_over_mcp("/mcp")},
        Steady{"PipelinedMcp", kTools, "shared", echo_over_mcp("/mcp"), 16},
        Steady{"McpOwnChild", kTools, "session", echo_over_mcp("/mcp")},
        Steady{"McpWithRules", kJudgedTools, "shared", echo_over_mcp("/mcp")},
        Steady{"McpWithChecks", kCheckedTools, "shared", form_over_mcp("/mcp")},
        Steady{"ModernMcp", kModernTools, "shared", echo_over_modern_mcp("/mcp")},
        Steady{"PipelinedModernMcp", kModernTools, "shared", echo_over_modern_mcp("/mcp"), 16},
        Steady{"ModernMcpLongName", kModernTools, "shared",
               echo_over_modern_mcp("/mcp", kRepeated, "a_tool_with_a_long_name")},
        Steady{"ModernMcpAtLegacyChild", kTools, "shared", echo_over_modern_mcp("/mcp")},
        Steady{"PipelinedModernMcpAtLegacyChild", kTools, "shared", echo_over_modern_mcp("/mcp"),
               16},
        Steady{"McpAtModernChild", kModernTools, "shared", echo_over_mcp("/mcp")}),
    [](const testing::TestParamInfo<Steady>& each) { return each.param.name; });

TEST(AllocationCount, HearsOfLibuv) {
  const size_t before = allocation_count();
  uv_loop_t loop;
  ASSERT_EQ(uv_loop_init(&loop), 0);
  uv_loop_close(&loop);
  EXPECT_GT(allocation_count(), before);
}

}  // namespace
}  // namespace stdgate::test

// A call of a tool with a known name allocates no more than another call of the same size.

#include <gtest/gtest.h>

#include <string>

#include "gateway/mcp/mcp_dialect.h"
#include "tests/support/backend_bench.h"
#include "tests/support/counted_new.h"

namespace stdgate::test {
namespace {

// A backend whose observer keeps nothing.
class QuietBackend {
 public:
  QuietBackend() {
    backend_.start();
    FakeChild& child = launcher_.child(0);
    child.start();
    child.answer(child.take_ids().at(0), R"({"protocolVersion":"2025-11-25"})");
    child.take_lines();
  }

  // Sends the request and lets the child answer. Returns the number of allocations.
  size_t allocations(const std::string& request) {
    std::string text = request;
    const rpc::Document document = parser_.parse(text).value();
    call::CallContext context;
    context.caller = client_.caller();
    context.arrived = clock_.now();
    client_.answers.clear();
    FakeChild& child = launcher_.child(0);
    const size_t before = allocation_count();
    backend_.accept(document.messages[0], context);
    child.answer(child.take_ids().at(0), "{}");
    const size_t count = allocation_count() - before;
    EXPECT_EQ(client_.answers.size(), 1U);
    return count;
  }

 private:
  static backend::BackendOptions options() {
    backend::BackendOptions options = plain_options();
    options.config.protocol = config::Protocol::mcp;
    options.config.pool.min = options.config.pool.max = 1;
    return options;
  }

  ManualClock clock_;
  TimerQueue timers_;
  RecordingLog log_;
  Observer observer_;
  FakeLauncher launcher_;
  Random random_{7};
  StoragePool storages_;
  session::Callers callers_{10};
  pool::CoreServices services_{clock_, timers_, log_, observer_, launcher_, random_, storages_};
  backend::Backend backend_{BackendId{0}, options(), std::make_unique<mcp::McpDialect>("1"),
                            callers_, services_};
  FakeClient client_{callers_};
  rpc::EnvelopeParser parser_{rpc::EnvelopeLimits{}};
};

TEST(McpAllocations, AKnownToolCostsNone) {
  const std::string name = "a_tool_whose_name_is_longer_than_any_string_keeps_inside";
  const auto request = [&name](const std::string& method, const std::string& member) {
    return R"({"jsonrpc":"2.0","id":1,"method":")" + method + R"(","params":{")" + member +
           R"(":")" + name + R"("}})";
  };
  const std::string tool = request("tools/call", "name");
  const std::string other = request("tools/list", "nome");
  QuietBackend backend;
  for (int i = 0; i < 100; ++i) {
    backend.allocations(tool);
    backend.allocations(other);
  }
  EXPECT_EQ(backend.allocations(tool), backend.allocations(other));
}

TEST(McpAllocations, AnUnknownToolIsCounted) {
  QuietBackend backend;
  const std::string head = R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":")";
  const std::string name(100, 'x');
  const size_t first = backend.allocations(head + name + R"("}})");
  EXPECT_LT(backend.allocations(head + name + R"("}})"), first) << "the test can fail";
}

}  // namespace
}  // namespace stdgate::test

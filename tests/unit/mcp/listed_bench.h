// ListedCalls: clients that call tools at children of MCP's modern era. A filter judges each call
// by the lists of the server.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/mcp/trip_bench.h"

namespace stdgate::test {

inline const std::string kToolsChanged =
    R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}})";
inline const std::string kPassed = R"({"content":[]})";  // result of a call
inline std::string list_of(const std::string& tools, const std::string& more = "") {
  return R"({"tools":[)" + tools + "]" + more + "}";
}

// Each child works on one call at a time.
inline backend::BackendOptions one_call_each(uint32_t children) {
  backend::BackendOptions options =
      ModernBench::options_of(config::Revision::modern, config::Isolation::shared);
  options.config.pool.max = children;
  options.config.pool.max_in_flight = 1;
  options.config.cache = false;
  return options;
}

class ListedCalls : public testing::Test {
 public:
  explicit ListedCalls(const backend::BackendOptions& options) : bench(options) {}

  // `params`: the members of the call's params.
  void call_tool(const std::string& id, const std::string& params) {
    bench.send_modern(client, request(id, "tools/call", params));
    bench.settle();
  }
  // Checks that the child's next request is `method`, and answers it.
  void answer(FakeChild& child, const std::string& method, const std::string& result) {
    const Asked asked = next_of(child);
    ASSERT_EQ(asked.method, method);
    child.answer(asked.id, result);
    bench.settle();
  }
  void expect_nothing(FakeChild& child) { EXPECT_EQ(child.take_line(), ""); }
  [[nodiscard]] std::string last() const {
    return client.answers.empty() ? "" : client.answers.back().text;
  }

  TripBench bench;
  FakeClient client{bench.callers};
};

}  // namespace stdgate::test

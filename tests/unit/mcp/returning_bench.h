// Returns: two modern children, and clients that bring back what the children gave out.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/support/rpc_texts.h"
#include "tests/unit/mcp/modern_bench.h"

namespace stdgate::test {

inline const std::string kTasks = R"({"extensions":{"io.modelcontextprotocol/tasks":{}}})";
inline constexpr std::string_view kTaskDiscovery =
    R"({"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},)"
    R"("extensions":{"io.modelcontextprotocol/tasks":{}}}})";

inline backend::BackendOptions returning_options(uint32_t min) {
  backend::BackendOptions options =
      ModernBench::options_of(config::Revision::modern, config::Isolation::shared);
  options.config.pool.min = min;
  options.config.pool.max = 2;
  options.config.pool.max_in_flight = 2;
  options.config.pool.idle_timeout = std::chrono::minutes(1);
  options.input_timeout = std::chrono::minutes(5);
  return options;
}

inline std::string member_of(const std::string& text, const std::string& key) {
  const ParsedText parsed(text);
  return std::string(rpc::member_or_empty(parsed.envelope.payload, key));
}

inline std::string failed(const std::string& id, const std::string& message) {
  return R"({"jsonrpc":"2.0","id":)" + id + R"(,"error":{"code":-32602,"message":")" + message +
         "\"}}";
}

class Returns : public testing::Test {
 public:
  explicit Returns(const backend::BackendOptions& options = returning_options(2)) : bench(options) {
    for (size_t i = 0; i < bench.launcher.launched(); ++i) bench.begin(i, kTaskDiscovery);
    ada.name = "ada";
    bob.name = "bob";
  }
  void send(const std::string& method, const std::string& params, const std::string& id = "1") {
    bench.send_modern(client, request(id, method, params, meta(kTasks)), who);
  }
  // The child answers the only request that it has received.
  void answer(size_t child, const std::string& result) {
    bench.child(child).answer(parse_asked(bench.child(child).take_line()).id, result);
  }
  // Makes a call. Returns the raw value of the member `key` in the result, as the client receives
  // it.
  std::string give(size_t child, const std::string& result, const std::string& key,
                   const std::string& method = "tools/call") {
    // The first child is kept busy, so that the second child gets the next call.
    if (child == 1) bench.send_modern(other, request("0", "hold"), who);
    send(method, R"("name":"t")");
    answer(child, result);
    if (child == 1) answer(0, "{}");
    return member_of(client.texts().back(), key);
  }
  std::string give_state(size_t child, const std::string& state = R"("s\u00e9\"1")") {
    return give(child, R"({"resultType":"input_required","requestState":)" + state + "}",
                "requestState");
  }
  std::string give_task(size_t child, const std::string& more = R"(,"ttlMs":600000)") {
    return give(child, R"({"resultType":"task","taskId":"t1","status":"working")" + more + "}",
                "taskId");
  }
  void come_back(const std::string& state) {
    send("tools/call", R"("name":"t","requestState":)" + state);
  }
  void get(const std::string& task, const std::string& method = "tasks/get") {
    send(method, R"("taskId":)" + task);
  }
  std::string last() { return client.texts().empty() ? std::string() : client.texts().back(); }

  ModernBench bench;
  FakeClient client{bench.callers};
  FakeClient other{bench.callers};
  policy::Principal ada;
  policy::Principal bob;
  const policy::Principal* who = nullptr;
};

}  // namespace stdgate::test

// SharedBench: a backend of MCP children that sessions share, over fake children.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "gateway/mcp/mcp_dialect.h"
#include "gateway/rpc/json_reader.h"
#include "tests/support/backend_bench.h"

namespace stdgate::test {

inline backend::BackendOptions shared_mcp_options(uint32_t children) {
  backend::BackendOptions options = plain_options();
  options.config.protocol = config::Protocol::mcp;
  options.config.isolation = config::Isolation::shared;
  options.config.pool.min = children;
  options.config.pool.max = children;
  return options;
}

class SharedBench : public BackendBench {
 public:
  // Starts and greets all children of the minimum.
  explicit SharedBench(const backend::BackendOptions& options)
      : BackendBench(options, std::make_unique<mcp::McpDialect>("1")) {
    for (size_t i = 0; i < launcher.launched(); ++i) greet(i);
  }
  explicit SharedBench(uint32_t children) : SharedBench(shared_mcp_options(children)) {}

  // Starts the child, and lets it answer its greeting.
  FakeChild& greet(size_t index) {
    FakeChild& process = child(index);
    process.start();
    process.answer(process.take_ids().at(0), R"({"protocolVersion":"2025-11-25"})");
    EXPECT_EQ(process.take_line(), R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
    return process;
  }
};

// The client of an open session.
class SharedClient {
 public:
  explicit SharedClient(BackendBench& bench) : bench_(bench), session_(bench.callers) {
    EXPECT_FALSE(bench.open(session_).has_value());
  }
  backend::Admission send(const std::string& text) { return bench_.send(session_, text); }
  void call(const std::string& id = "1") { bench_.call(session_, id); }
  void request(const std::string& method, const std::string& params, const std::string& id = "1") {
    send(R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":")" + method + R"(","params":)" + params +
         "}");
  }
  void subscribe(const std::string& uri, const std::string& id = "1") {
    request("resources/subscribe", R"({"uri":")" + uri + R"("})", id);
  }
  void unsubscribe(const std::string& uri, const std::string& id = "1") {
    request("resources/unsubscribe", R"({"uri":")" + uri + R"("})", id);
  }
  void close() { bench_.close(session_); }

  // See FakeSession.
  std::vector<std::string> take() { return session_.take(); }
  [[nodiscard]] const std::vector<session::Tag>& cancelled() const { return session_.cancelled; }
  [[nodiscard]] const FakeSession& session() const { return session_; }

 private:
  BackendBench& bench_;
  FakeSession session_;
};

inline std::string updated(const std::string& uri) {
  return R"({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":")" + uri +
         R"("}})";
}

inline std::string empty_result(const std::string& id = "1") {
  return R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":{}})";
}

// A request as a child sees it.
struct Asked {
  std::string id;
  std::string method;
  std::string uri;
};

inline Asked parse_asked(std::string line) {
  rpc::EnvelopeParser parser{rpc::EnvelopeLimits{}};
  const rpc::Envelope envelope = parser.parse(line).value().messages[0].envelope;
  const auto uri = rpc::find_member(envelope.params, "uri").value_or(R"("")");
  return {std::string(envelope.id), std::string(envelope.method),
          std::string(uri.substr(1, uri.size() - 2))};
}

// The next request at a child; all members are empty if there is none.
inline Asked next_of(FakeChild& child) {
  const std::string line = child.take_line();
  return line.empty() ? Asked() : parse_asked(line);
}

// Takes the only line that the child has received, which must be this request. Returns its id.
inline std::string take_asked(FakeChild& child, const std::string& method, const std::string& uri) {
  const auto lines = child.take_lines();
  if (lines.size() != 1) {
    ADD_FAILURE() << lines.size() << " lines instead of " << method << " " << uri;
    return {};
  }
  const Asked asked = parse_asked(lines[0]);
  EXPECT_EQ(asked.method, method);
  EXPECT_EQ(asked.uri, uri);
  return asked.id;
}

inline std::string take_subscribe(FakeChild& child, const std::string& uri) {
  return take_asked(child, "resources/subscribe", uri);
}
inline std::string take_unsubscribe(FakeChild& child, const std::string& uri) {
  return take_asked(child, "resources/unsubscribe", uri);
}

}  // namespace stdgate::test

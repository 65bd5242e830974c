// ModernBench: a backend of MCP children, with clients of the modern era.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/mcp/shared_bench.h"

namespace stdgate::test {

using Texts = std::vector<std::string>;

inline constexpr std::string_view kDiscovery =
    R"({"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},)"
    R"("_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"3"}}})";
inline constexpr std::string_view kGreeting =
    R"({"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},)"
    R"("prompts":{},"resources":{"subscribe":true,"listChanged":true},"tasks":{}},)"
    R"("serverInfo":{"name":"old","version":"1"},"instructions":"do"})";

inline std::string meta(const std::string& capabilities = "{}", const std::string& more = "") {
  return R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
         R"("io.modelcontextprotocol/clientCapabilities":)" +
         capabilities + more + "}";
}

inline std::string request(const std::string& id, const std::string& method,
                           const std::string& params = "", const std::string& with = meta()) {
  return R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":")" + method + R"(","params":{)" + params +
         (params.empty() ? "" : ",") + with + "}}";
}

inline std::string note(const std::string& method, const std::string& params) {
  return R"({"jsonrpc":"2.0","method":"notifications/)" + method + R"(","params":)" + params + "}";
}

inline Texts events_of(const FakeClient& client) {
  Texts texts;
  for (const auto& [tag, text] : client.events) texts.push_back(text);
  return texts;
}

class ModernBench : public BackendBench {
 public:
  ModernBench(config::Revision revision, config::Isolation isolation)
      : ModernBench(options_of(revision, isolation)) {}
  explicit ModernBench(backend::BackendOptions options)
      : BackendBench(std::move(options), std::make_unique<mcp::McpDialect>("1")) {}

  // Starts a child, and lets it answer its first request.
  FakeChild& begin(size_t index, std::string_view answer) {
    FakeChild& process = child(index);
    process.start();
    process.answer(process.take_ids().at(0), std::string(answer));
    process.take_lines();
    return process;
  }
  // The facts that a transport adds to the text of a message.
  struct Beside {
    const policy::Principal* principal = nullptr;
    const ClientAddress* address = nullptr;
    std::optional<std::string_view> mirrored{};
    std::optional<Duration> timeout{};
  };
  void send_modern(FakeClient& client, std::string text, const policy::Principal* principal,
                   const ClientAddress* address = nullptr) {
    send_modern(client, std::move(text), Beside{principal, address});
  }
  void send_modern(FakeClient& client, std::string text) {
    send_modern(client, std::move(text), Beside{});
  }
  void send_modern(FakeClient& client, std::string text, const Beside& beside) {
    rpc::EnvelopeParser parser(backend.envelope_limits());
    call::CallContext context;
    context.caller = client.caller();
    context.transport = Transport::mcp;
    context.peer_kind = PeerKind::stateless;
    context.arrived = clock.now();
    context.wants_events = true;
    context.principal = beside.principal;
    context.client = beside.address;
    context.account = account.get();
    context.mirrored = beside.mirrored;
    context.timeout = beside.timeout;
    const auto document = parser.parse(text);
    ASSERT_TRUE(document.has_value()) << text;
    backend.accept(document->messages[0], context);
  }

  static backend::BackendOptions options_of(config::Revision revision,
                                            config::Isolation isolation) {
    backend::BackendOptions options = shared_mcp_options(1);
    options.config.revision = revision;
    options.config.isolation = isolation;
    options.config.pool.max = isolation == config::Isolation::session ? 2 : 1;
    return options;
  }
};

}  // namespace stdgate::test

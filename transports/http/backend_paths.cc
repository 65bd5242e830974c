#include "transports/http/backend_paths.h"

#include <array>

namespace stdgate::http {

namespace {

constexpr ServedPath kMcp{"mcp", "POST", "/mcp", "MCP Streamable HTTP", false};
constexpr ServedPath kSse{"sse", "GET", "/sse", "MCP over HTTP and SSE (2024-11-05)", false};
constexpr ServedPath kRpc{"rpc", "POST", "/rpc", "JSON-RPC 2.0", false};
constexpr ServedPath kStream{"stream", "GET", "/rpc/stream", "a call, answered as an event stream",
                             false};
constexpr ServedPath kWebSocket{"websocket", "GET", "/ws", "JSON-RPC 2.0 over WebSocket", true};

constexpr std::array kOfMcp{kMcp, kSse, kRpc, kStream, kWebSocket};
constexpr std::array kOfJsonRpc{kRpc, kStream, kWebSocket};
constexpr ServedPath kAcp{"acp", "GET", "/acp", "Agent Client Protocol", true};
constexpr ServedPath kAcpHttp{"acp_http", "POST", "/acp",
                              "Agent Client Protocol over Streamable HTTP", false};

constexpr std::array kOfAcp{kAcp, kAcpHttp, kWebSocket};
constexpr std::array kOfOthers{kWebSocket};

}  // namespace

std::span<const ServedPath> served_paths(config::Protocol protocol) {
  switch (protocol) {
    case config::Protocol::mcp:
      return kOfMcp;
    case config::Protocol::jsonrpc:
      return kOfJsonRpc;
    case config::Protocol::acp:
      return kOfAcp;
    default:
      return kOfOthers;
  }
}

std::string_view scheme_of(bool is_secure, bool is_websocket) {
  if (is_websocket) return is_secure ? "wss://" : "ws://";
  return is_secure ? "https://" : "http://";
}

std::string prefix_of(const backend::Upstream& backend) {
  return backend.is_default() ? std::string() : "/" + backend.name();
}

}  // namespace stdgate::http

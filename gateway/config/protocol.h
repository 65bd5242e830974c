// The protocols that children speak, a row each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gateway/rpc/framer.h"

namespace stdgate::config {

enum class Protocol : uint8_t { jsonrpc, mcp, lsp, acp };

// The clients that share a child: all, none (each session has a child of its own), or the sessions
// and calls of one principal.
enum class Isolation : uint8_t { shared, session, principal };

// A protocol: its names, and the defaults of its backends.
struct ProtocolRow {
  std::string_view word;   // in the configuration
  std::string_view title;  // for people
  // Defaults of a backend.
  rpc::Framing framing = rpc::Framing::newline;
  Isolation isolation = Isolation::session;
  // A child serves one client, which greets it.
  bool serves_sessions_alone = false;
  bool has_meta = false;  // params may have `_meta`, for traces too
};

// In the order of the enum.
inline constexpr std::array kProtocolRows{
    ProtocolRow{"jsonrpc", "JSON-RPC", rpc::Framing::newline, Isolation::shared},
    ProtocolRow{"mcp", "MCP", rpc::Framing::newline, Isolation::session, false, true},
    ProtocolRow{"lsp", "LSP", rpc::Framing::content_length, Isolation::session, true},
    ProtocolRow{"acp", "ACP", rpc::Framing::newline, Isolation::session, true, true}};

constexpr const ProtocolRow& row_of(Protocol protocol) {
  return kProtocolRows[static_cast<size_t>(protocol)];
}

}  // namespace stdgate::config

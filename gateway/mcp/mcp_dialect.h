// McpDialect: what the Model Context Protocol adds, for children of the revisions 2024-11-05 to
// 2025-11-25 (with a handshake) that are shared by callers who do none.
//
// The gateway is the MCP client of the child: it sends initialize and notifications/initialized
// itself, answers the child's ping, and has no capabilities (no roots, sampling or elicitation,
// which need a session with a client behind it).
#pragma once

#include <string>

#include "gateway/pool/dialect.h"

namespace stdgate {

class McpDialect final : public Dialect {
 public:
  // `version`: the gateway's own, for clientInfo.
  explicit McpDialect(std::string version) : version_(std::move(version)) {}

  [[nodiscard]] CodeSet codes() const override { return CodeSet::mcp; }
  [[nodiscard]] std::span<const std::string_view> known_methods() const override;
  [[nodiscard]] std::string handshake(WireId id) const override;
  [[nodiscard]] tl::expected<std::string, std::string> finish_handshake(
      const Envelope& answer) const override;
  [[nodiscard]] tl::expected<ClientIntent, const char*> read_client(
      const Envelope& message, std::string_view method) const override;
  [[nodiscard]] std::string cancel(WireId id, CancelReason reason) const override;
  [[nodiscard]] std::string_view progress_token(const Envelope& notification,
                                                std::string_view method) const override;
  [[nodiscard]] std::string_view answer_child(std::string_view method) const override;
  [[nodiscard]] Outcome outcome(const Envelope& answer, std::string_view method) const override;

 private:
  const std::string version_;
};

}  // namespace stdgate

// McpDialect: what the Model Context Protocol adds, for children of the revisions 2024-11-05 to
// 2025-11-25 (with a handshake).
//
// Of a shared child the gateway is the MCP client: it sends initialize and
// notifications/initialized itself, answers the child's ping, and has no capabilities. A child that
// belongs to a session has that session's client, whose messages pass as they are.
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
      const Envelope& message, std::string_view method, Isolation isolation) const override;
  [[nodiscard]] std::string cancel(WireId id, CancelReason reason) const override;
  // "should not" be answered: MCP 2025-11-25, utilities/cancellation.
  [[nodiscard]] bool cancel_ends_call() const override { return true; }
  [[nodiscard]] std::string_view cancelled_by_child(const Envelope& notification,
                                                    std::string_view method) const override;
  [[nodiscard]] std::string_view progress_token(const Envelope& notification,
                                                std::string_view method) const override;
  [[nodiscard]] Audience audience(const Envelope& notification,
                                  std::string_view method) const override;
  [[nodiscard]] std::string subscribe(WireId id, std::string_view key) const override;
  [[nodiscard]] std::string unsubscribe(WireId id, std::string_view key) const override;
  // An update may name "a sub-resource of the one that the client actually subscribed to" (MCP
  // 2025-11-25, schema, ResourceUpdatedNotificationParams).
  [[nodiscard]] std::string_view enclosing(std::string_view uri) const override;
  [[nodiscard]] std::string_view answer_child(std::string_view method) const override;
  [[nodiscard]] Outcome outcome(const Envelope& answer, std::string_view method) const override;

 private:
  const std::string version_;
};

}  // namespace stdgate

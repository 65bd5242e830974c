// McpDialect: what the Model Context Protocol adds to JSON-RPC, for children of both eras
// (mcp_revision.h).
//
// The gateway is the MCP client of a shared child: it sends initialize and
// notifications/initialized itself, answers the child's ping, and declares no capabilities. A child
// that belongs to a session has that session's client; its messages pass unchanged.
#pragma once

#include <span>
#include <string>

#include "gateway/mcp/era_bridge.h"
#include "gateway/mcp/mcp_input.h"
#include "gateway/mcp/mcp_params.h"
#include "gateway/mcp/mcp_revision.h"
#include "gateway/pool/dialect.h"

namespace stdgate::mcp {

class McpDialect final : public pool::Dialect {
 public:
  // `version` and `name`: the gateway's own, for clientInfo.
  explicit McpDialect(std::string version, std::string name = "stdgate");

  [[nodiscard]] rpc::CodeSet codes() const override { return rpc::CodeSet::mcp; }
  [[nodiscard]] std::string greet(rpc::WireId id,
                                  std::optional<std::string_view> client) const override;
  [[nodiscard]] std::string_view refusal_hint(const rpc::Envelope& answer) const override;
  [[nodiscard]] tl::expected<std::string, std::string> finish_handshake(
      const rpc::Envelope& answer) const override;
  [[nodiscard]] std::string probe(rpc::WireId id) const override;
  [[nodiscard]] std::optional<pool::ChildFacts> facts(const rpc::Envelope& answer,
                                                      std::string_view method) const override;
  [[nodiscard]] std::string ping(rpc::WireId id) const override { return kInput.ping(id); }
  [[nodiscard]] std::shared_ptr<pool::Bridge> make_bridge(
      const backend::BridgeParts& parts) const override;
  [[nodiscard]] std::string_view agreed_revision(const rpc::Envelope& answer,
                                                 std::string_view greeting) const override;
  [[nodiscard]] std::optional<pool::GreetingTerms> terms(
      const rpc::Envelope& answer) const override;
  [[nodiscard]] std::vector<std::string_view> change_notices(uint8_t lists) const override;
  [[nodiscard]] std::string client_label(std::string_view params) const override;
  [[nodiscard]] tl::expected<call::ClientIntent, const char*> read_client(
      const rpc::Envelope& message, std::string_view method,
      const call::Reading& reading) const override;
  [[nodiscard]] bool is_lifecycle(std::string_view method) const override;
  [[nodiscard]] tl::expected<call::UsedElement, const char*> used_element(
      const rpc::Envelope& message, std::string_view method) const override;
  [[nodiscard]] const call::ListShape* list_shape(std::string_view method) const override;
  [[nodiscard]] call::Absence absence(std::string_view method, policy::ElementKind kind,
                                      std::string_view name, PeerKind of_client) const override;
  [[nodiscard]] std::string cancel(rpc::WireId id, pool::CancelReason reason) const override;
  [[nodiscard]] std::string_view cancelled_by_child(const rpc::Envelope& notification,
                                                    std::string_view method) const override;
  [[nodiscard]] std::string_view progress_token(const rpc::Envelope& notification,
                                                std::string_view method) const override;
  [[nodiscard]] pool::Audience audience(const rpc::Envelope& notification,
                                        std::string_view method) const override;
  [[nodiscard]] std::string subscribe(rpc::WireId id, std::string_view key,
                                      bool begins) const override;
  [[nodiscard]] std::string set_severity(rpc::WireId id, session::Severity severity) const override;
  // An update may name "a sub-resource of the one that the client actually subscribed to" (MCP
  // 2025-11-25, schema, ResourceUpdatedNotificationParams).
  [[nodiscard]] std::string_view enclosing(std::string_view uri) const override;
  [[nodiscard]] std::string_view answer_child(std::string_view method) const override;
  [[nodiscard]] Outcome outcome(const rpc::Envelope& answer,
                                std::string_view method) const override;

  // --- For the filters and the bridge of this room
  // The members of _meta for requests of the gateway, and of clients that have not said more.
  [[nodiscard]] const std::string& stamp() const { return stamp_; }
  // The members of a modern request that a legacy child must not get.
  [[nodiscard]] call::PeerChanges omissions(const rpc::Envelope& request) const {
    return modern_members(request, memory_);
  }
  // The facts in an answer to server/discover; nothing: the child is not modern.
  [[nodiscard]] static std::optional<pool::ChildFacts> discovery(const rpc::Envelope& answer);
  // The keys, decoded, that this request listens for and whose updates such a child reports.
  [[nodiscard]] static std::vector<std::string> listened_keys(const rpc::Envelope& request,
                                                              const pool::ChildFacts& facts);

 private:
  // These note what a message is about; not null: why it is refused.
  static const char* note_notification(const rpc::Envelope& message, std::string_view method,
                                       config::Isolation isolation, call::ClientIntent& intent);
  static const char* note_legacy(const rpc::Envelope& request, std::string_view method,
                                 config::Isolation isolation, const McpParams& params,
                                 call::ClientIntent& intent);
  static const char* note_modern(const rpc::Envelope& request, std::string_view method,
                                 const McpParams& params, call::ClientIntent& intent);

  const std::string version_;
  const std::string name_;
  const std::string stamp_;    // members of _meta that a modern child demands
  mutable MetaMemory memory_;  // saves work, and changes no answer
};

}  // namespace stdgate::mcp

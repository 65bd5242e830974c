// AcpDialect: what the Agent Client Protocol (version 1) adds to JSON-RPC, for sessions alone: an
// agent serves one client, so each client has a child of its own and greets it itself.
//
// All messages pass as they are, in both directions. A session of the gateway is a connection of
// ACP, on which its client may open many sessions of ACP.
#pragma once

#include <string>
#include <string_view>

#include "gateway/pool/dialect.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::acp {

class AcpDialect final : public pool::Dialect {
 public:
  AcpDialect();

  [[nodiscard]] rpc::CodeSet codes() const override { return rpc::CodeSet::plain; }
  // An answer to a prompt says why the agent has stopped.
  [[nodiscard]] Outcome outcome(const rpc::Envelope& answer,
                                std::string_view method) const override;
  [[nodiscard]] call::Particulars particulars(const rpc::Envelope& message,
                                              std::string_view method) const override;
  [[nodiscard]] bool is_lifecycle(std::string_view method) const override;
  [[nodiscard]] std::optional<pool::ChildFacts> facts(const rpc::Envelope& answer,
                                                      std::string_view method) const override;
  [[nodiscard]] tl::expected<call::ClientIntent, const char*> read_client(
      const rpc::Envelope& message, std::string_view method,
      const call::Reading& reading) const override;
  // A request that is cancelled is still to be answered, so
  // DialectTraits::cancel_ends_call stays false.
  [[nodiscard]] std::string cancel(rpc::WireId id, pool::CancelReason reason) const override;
  [[nodiscard]] std::string_view cancelled_by_child(const rpc::Envelope& notification,
                                                    std::string_view method) const override;
};

// --- Members of ACP's messages that AcpConnection reads and writes
// The session that these params, or this result, name, decoded; empty: they name none.
std::string session_in(std::string_view params);
bool is_method(const rpc::Envelope& message, std::string_view method);
// Whether its head has to name the session of its params.
bool needs_session(const rpc::Envelope& message);
// `answer`: to `initialize`; `result`: its member. The RFD has the id in the body, too.
std::string with_connection_id(std::string_view answer, std::string_view result,
                               const std::string& id);

}  // namespace stdgate::acp

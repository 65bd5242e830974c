// LspDialect: what the Language Server Protocol 3.17 adds to JSON-RPC, for sessions alone: a
// language server serves one client, so each client has a child of its own and greets it itself.
//
// Changed on the way is the client's process id, which means nothing where the child runs: it
// becomes null ("initialize": no process has started the server). Servers watch the process that it
// names by signal 0 and exit when that fails, and a child may not signal processes outside of its
// own. Work-done and partial-result tokens, and $/progress, pass as they are: with one client to a
// child they cannot clash.
#pragma once

#include <string>

#include "gateway/pool/dialect.h"

namespace stdgate::lsp {

class LspDialect final : public pool::Dialect {
 public:
  LspDialect();

  [[nodiscard]] rpc::CodeSet codes() const override { return rpc::CodeSet::plain; }
  [[nodiscard]] bool is_lifecycle(std::string_view method) const override;
  [[nodiscard]] std::optional<pool::ChildFacts> facts(const rpc::Envelope& answer,
                                                      std::string_view method) const override;
  [[nodiscard]] tl::expected<call::ClientIntent, const char*> read_client(
      const rpc::Envelope& message, std::string_view method,
      const call::Reading& reading) const override;
  // A cancelled request is still to be answered ("Cancellation Support"), so
  // DialectTraits::cancel_ends_call stays false.
  [[nodiscard]] std::string cancel(rpc::WireId id, pool::CancelReason reason) const override;
  [[nodiscard]] std::string_view cancelled_by_child(const rpc::Envelope& notification,
                                                    std::string_view method) const override;
  // shutdown, then exit ("Server lifecycle").
  [[nodiscard]] std::string shutdown_request(rpc::WireId id) const override;
};

}  // namespace stdgate::lsp

// LspDialect: what the Language Server Protocol 3.17 adds to JSON-RPC, for sessions alone: a
// language server serves one client, so each client has a child of its own and greets it itself.
//
// Changed on the way is the client's process id, which means nothing where the child runs.
// Work-done and partial-result tokens, and $/progress, pass as they are: with one client to a child
// they cannot clash.
#pragma once

#include <string>

#include "gateway/pool/dialect.h"

namespace stdgate {

class LspDialect final : public Dialect {
 public:
  // `own_pid`: the gateway's, in decimal. A child watches the process that initialize names, and
  // exits when it finds none.
  explicit LspDialect(std::string own_pid) : own_pid_(std::move(own_pid)) {}

  [[nodiscard]] CodeSet codes() const override { return CodeSet::plain; }
  [[nodiscard]] std::span<const std::string_view> known_methods() const override;
  [[nodiscard]] tl::expected<ClientIntent, const char*> read_client(
      const Envelope& message, std::string_view method, Isolation isolation) const override;
  // A cancelled request is still to be answered ("Cancellation Support"), so cancel_ends_call()
  // stays false.
  [[nodiscard]] std::string cancel(WireId id, CancelReason reason) const override;
  [[nodiscard]] std::string_view cancelled_by_child(const Envelope& notification,
                                                    std::string_view method) const override;
  // shutdown, then exit ("Server lifecycle").
  [[nodiscard]] std::string farewell(WireId id) const override;
  [[nodiscard]] std::string last_word() const override;

 private:
  const std::string own_pid_;
};

}  // namespace stdgate

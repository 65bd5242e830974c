// JsonRpcDialect: plain JSON-RPC 2.0, with a configurable cancel notification.
#pragma once

#include <string>

#include "gateway/pool/dialect.h"

namespace stdgate::pool {

class JsonRpcDialect final : public Dialect {
 public:
  // `cancel_method`: a notification with params {"id": …}, "$/cancelRequest" by convention; empty:
  // calls are not cancelled at the child.
  explicit JsonRpcDialect(std::string cancel_method) : cancel_method_(std::move(cancel_method)) {}

  [[nodiscard]] rpc::CodeSet codes() const override { return rpc::CodeSet::plain; }
  [[nodiscard]] tl::expected<call::ClientIntent, const char*> read_client(
      const rpc::Envelope& message, std::string_view method,
      const call::Reading& reading) const override;
  [[nodiscard]] bool is_lifecycle(std::string_view method) const override {
    return !cancel_method_.empty() && method == cancel_method_;
  }
  [[nodiscard]] std::string cancel(rpc::WireId id, CancelReason reason) const override;
  [[nodiscard]] std::string_view cancelled_by_child(const rpc::Envelope& notification,
                                                    std::string_view method) const override;

 private:
  const std::string cancel_method_;
};

}  // namespace stdgate::pool

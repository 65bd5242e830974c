#include "gateway/pool/dialect.h"

namespace stdgate::pool {

std::string_view cancel_reason_text(CancelReason reason) {
  switch (reason) {
    case CancelReason::client_cancelled:
      return "cancelled by the client";
    case CancelReason::client_left:
      return "the client has left";
    case CancelReason::deadline:
      return "deadline exceeded";
  }
  return "";
}

std::optional<Audience> change_told_by(const call::ChildMessage& message, const Dialect& dialect) {
  const bool is_told_all =
      message.call() == nullptr ? message.child().is_shared : message.call()->listens;
  if (!is_told_all) return std::nullopt;
  const Audience audience = dialect.audience(message.message(), message.method());
  const bool is_change = audience.list != 0 || audience.kind == Audience::Kind::subscribers;
  return is_change ? std::optional(audience) : std::nullopt;
}

}  // namespace stdgate::pool

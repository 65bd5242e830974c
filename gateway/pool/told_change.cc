#include "gateway/pool/told_change.h"

namespace stdgate::pool {

std::optional<Audience> change_told_by(const call::ChildMessage& message, const Dialect& dialect) {
  const bool is_told_all =
      message.call() == nullptr ? message.child().is_shared : message.call()->listens;
  if (!is_told_all) return std::nullopt;
  const Audience audience = dialect.audience(message.message(), message.method());
  const bool is_change = audience.list != 0 || audience.kind == Audience::Kind::subscribers;
  return is_change ? std::optional(audience) : std::nullopt;
}

}  // namespace stdgate::pool

// Changes of what a server offers, as its children tell of them.
#pragma once

#include <optional>

#include "gateway/call/filter.h"
#include "gateway/pool/dialect.h"

namespace stdgate::mcp {

// What is not as it was, by this message: a list (Audience::list), or something that clients have
// subscribed to. A modern child tells only those who listen. Nothing: no change for all clients.
inline std::optional<pool::Audience> change_told_by(const call::ChildMessage& message,
                                                    const pool::Dialect& dialect) {
  const bool is_told_all =
      message.call() == nullptr ? message.child().is_shared : message.call()->listens;
  if (!is_told_all) return std::nullopt;
  const pool::Audience audience = dialect.audience(message.message(), message.method());
  const bool is_change = audience.list != 0 || audience.kind == pool::Audience::Kind::subscribers;
  return is_change ? std::optional(audience) : std::nullopt;
}

}  // namespace stdgate::mcp

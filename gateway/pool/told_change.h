// Changes of what a server offers, as its children tell of them.
#pragma once

#include <optional>

#include "gateway/call/filter.h"
#include "gateway/pool/dialect.h"

namespace stdgate::pool {

// What is not as it was, by this message: a list (Audience::list), or something that clients have
// subscribed to. A modern child tells only those who listen. Nothing: no change for all clients.
std::optional<Audience> change_told_by(const call::ChildMessage& message, const Dialect& dialect);

}  // namespace stdgate::pool

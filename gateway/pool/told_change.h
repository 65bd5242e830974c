// Changes of a server's lists and subscribed items, as its children report them.
#pragma once

#include <optional>

#include "gateway/call/filter.h"
#include "gateway/pool/dialect.h"

namespace stdgate::pool {

// The change that this message reports: of a list (Audience::list), or of an item that clients have
// subscribed to. A child that knows no sessions reports changes only to clients that listen.
// Nothing: no change for all clients.
std::optional<Audience> change_told_by(const call::ChildMessage& message, const Dialect& dialect);

}  // namespace stdgate::pool

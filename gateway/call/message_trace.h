// Log lines, at level debug, about the way of a message that no child is part of; see also
// pool/call_trace.h. Never a payload: ids, names and sizes only.
#pragma once

#include <cstddef>
#include <string_view>

#include "gateway/base/log.h"
#include "gateway/call/call.h"
#include "gateway/observer.h"

namespace stdgate::call {

// Limit: an id or a method name is shown up to kMaxTraced bytes.
inline constexpr size_t kMaxTraced = 128;
LogValue traced(std::string_view text);

void trace_arrived(Log& log, std::string_view backend, const Call& call, std::string_view method);
void trace_dropped(Log& log, std::string_view backend, DropReason reason);

}  // namespace stdgate::call

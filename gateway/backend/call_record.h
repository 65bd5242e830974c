// Who has made a call and how, as it begins; what it says of itself in its record, as it ends.
#pragma once

#include "gateway/call/call.h"
#include "gateway/call/call_context.h"
#include "gateway/observer.h"

namespace stdgate::backend {

void note_context(const call::CallContext& context, call::Call& call);

// Without backend, names, outcome and answer. Views into the call.
CallRecord record_of(const call::Call& call, TimePoint now);

}  // namespace stdgate::backend

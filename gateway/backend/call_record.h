// Who has made a call and how, as it begins; what it says of itself in its record, as it ends.
#pragma once

#include "gateway/backend/call_context.h"
#include "gateway/observer.h"
#include "gateway/pool/call.h"

namespace stdgate::backend {

void note_context(const CallContext& context, pool::Call& call);

// Without backend, names, outcome and answer. Views into the call.
CallRecord record_of(const pool::Call& call, TimePoint now);

}  // namespace stdgate::backend

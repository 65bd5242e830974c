// What a call says of itself in its record.
#pragma once

#include "gateway/observer.h"
#include "gateway/pool/call.h"

namespace stdgate::backend {

// Without backend, names, outcome and answer. Views into the call.
CallRecord record_of(const pool::Call& call, TimePoint now);

}  // namespace stdgate::backend

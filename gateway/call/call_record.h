// What a call says of itself in its record, as it ends.
#pragma once

#include "gateway/call/call.h"
#include "gateway/observer.h"

namespace stdgate::call {

// Without backend, outcome and answer, and without what filters know. Views into the call.
CallRecord record_of(const Call& call, TimePoint now);

}  // namespace stdgate::call

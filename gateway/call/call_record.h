// The part of a call's record that the call itself knows at its end.
#pragma once

#include "gateway/call/call.h"
#include "gateway/observer.h"

namespace stdgate::call {

// Without backend, outcome and answer, and without what filters know. The record views into the
// call.
CallRecord record_of(const Call& call, TimePoint now);

}  // namespace stdgate::call

// The clock of a call: when the call is given up, and what its client is told then.
//
// A call is due Call::timeout after its last sign of life, and BackendConfig::max_time after its
// arrival at the latest. Signs of life are kept where they are seen (Call::heard, Child::heard());
// nothing is moved for them. When a call's deadline passes, it is looked at, and gets a later one
// if something has been heard since (CallExpiry). So a sign of life costs one store, and a call
// that reports all the time is looked at once in its timeout.
#pragma once

#include <algorithm>

#include "gateway/call/call.h"
#include "gateway/config/config.h"
#include "gateway/rpc/fault.h"

namespace stdgate::call {

// The end of a call, whatever happens.
inline TimePoint latest_end(const Call& call, const config::BackendConfig& config) {
  return call.arrived + config.max_time;
}
// The time when a call is due whose last sign of life was at `heard`.
inline TimePoint due_after(const Call& call, TimePoint heard, const config::BackendConfig& config) {
  return std::min(heard + call.timeout, latest_end(call, config));
}

// The clock begins with the call's arrival, which has to be set. Without effect on Call::heard.
inline void start_clock(Call& call, Duration timeout, const config::BackendConfig& config) {
  call.timeout = timeout;
  call.deadline = due_after(call, call.arrived, config);
}

// The fault of a call that is due. `heard`: its last sign of life. `place`: where it has waited.
rpc::FaultReport gave_up(const Call& call, CallPlace place, TimePoint heard,
                         const config::BackendConfig& config);
// The fault of a question to a client, after `input_timeout`.
rpc::FaultReport gave_up_question(Duration input_timeout);

}  // namespace stdgate::call

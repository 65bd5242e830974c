// The clock of a call: when the call is given up, and what its client is told.
//
// A call is due Call::timeout after its last sign of life, and at the latest
// BackendConfig::max_time after its arrival. Signs of life are stored where they are noticed
// (Call::heard, SignsOfLife::heard()); no timer moves. When the deadline of a call passes,
// CallExpiry checks for later signs of life, and moves the deadline if there were any. So a sign of
// life costs one store, and a call that reports all the time is checked once in each timeout.
#pragma once

#include <algorithm>

#include "gateway/call/call.h"
#include "gateway/config/config.h"
#include "gateway/rpc/fault.h"

namespace stdgate::call {

// The end of a call even with signs of life.
inline TimePoint latest_end(const Call& call, const config::BackendConfig& config) {
  return call.arrived + config.max_time;
}
// When a call with its last sign of life at `heard` is due.
inline TimePoint due_after(const Call& call, TimePoint heard, const config::BackendConfig& config) {
  return std::min(heard + call.timeout, latest_end(call, config));
}

// The clock starts at the call's arrival, which has to be set. Call::heard stays as it is.
inline void start_clock(Call& call, Duration timeout, const config::BackendConfig& config) {
  call.timeout = timeout;
  call.deadline = due_after(call, call.arrived, config);
}

// The fault of a call that is due. `heard`: its last sign of life. `place`: where the call waited.
rpc::FaultReport gave_up(const Call& call, CallPlace place, TimePoint heard,
                         const config::BackendConfig& config);
// How long a question waits for its client. One that may be away for longer finds it again.
inline Duration question_time(const config::BackendConfig& config, Duration input_timeout) {
  return std::max(input_timeout, config.linger);
}
// The fault of a question to a client that was not answered within question_time().
rpc::FaultReport gave_up_question(const config::BackendConfig& config, Duration input_timeout);

}  // namespace stdgate::call

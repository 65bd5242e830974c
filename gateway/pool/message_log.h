// Message log: lines at level debug that show the way of each message: its backend, child and
// wire id, whether it was queued or sent, and when its answer came. Never a payload: ids, names and
// sizes only.
//
// Callers check PoolServices::logs_messages first, so a message costs one branch while the level is
// higher.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "gateway/call/call.h"
#include "gateway/call/chain.h"
#include "gateway/pool/child_link.h"
#include "gateway/pool/pool_services.h"
#include "gateway/rpc/correlator.h"

namespace stdgate::pool {

// `waiting`: messages in the queue, this one included.
void log_queued(const PoolServices& services, const call::Call& call, size_t waiting);
void log_sent(const PoolServices& services, const call::Call& call, const ChildName& child,
              rpc::WireId wire_id);
// `event`: "call answered", or another reason why the call has ended at the child. `bytes`: size of
// the answer.
void log_ended(const PoolServices& services, const call::Call& call, const ChildName& child,
               rpc::WireId wire_id, std::string_view event, size_t bytes);
// A message that is no call of a client. `event`: what became of it.
void log_message(const PoolServices& services, const ChildName& child, std::string_view event,
                 std::string_view method, size_t bytes);

}  // namespace stdgate::pool

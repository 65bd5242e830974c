// CallTracing: which trace a call belongs to, and what its child is told of it.
//
// Job: find the caller's trace, in a header or in `_meta`, or begin one; decide then whether spans
// are recorded of a trace that begins here (`traces.sample`), as the caller's decision holds for
// its own; and pass the trace on to children that speak MCP, in `params._meta`, with the span of
// the call's time at the child as parent. Owner: the backend, or the stack of whoever sends a call.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "gateway/pool/pool_services.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::backend {

class CallTracing {
 public:
  explicit CallTracing(const pool::PoolServices& services) : services_(services) {}
  CallTracing(const CallTracing&) = delete;
  CallTracing& operator=(const CallTracing&) = delete;

  // The others may be called only then.
  [[nodiscard]] bool is_on() const { return services_.core.traces != nullptr; }

  // A call has come, with the trace of its header, if that names one. `params` may be empty.
  void begin(std::string_view params, call::Call& call);

  // `message` carries `request`, and may have insertions: one stamp, or omissions. What is added is
  // valid until the next call of this.
  void tell_child(const rpc::Envelope& request, const call::Call& call, call::Outgoing& message);

 private:
  [[nodiscard]] bool is_mcp() const { return services_.config.protocol == config::Protocol::mcp; }
  void read_meta(std::string_view params, TraceContext& trace);
  void begin_trace(TraceContext& trace) const;
  [[nodiscard]] bool is_sampled(const TraceContext& trace) const;

  const pool::PoolServices& services_;
  std::array<call::Insertion, call::Outgoing::kMaxInsertions> insertions_;
  std::string members_;  // of the first one
  std::string stamped_;  // the same, and those of the stamp
  std::string scratch_;
};

}  // namespace stdgate::backend

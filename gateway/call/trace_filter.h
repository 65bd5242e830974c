// TraceFilter: which trace a call belongs to, and what its child is told of it.
//
// Finds the caller's trace, in a header or in `_meta`, or begins one; decides then whether spans
// are recorded of a trace that begins here (`traces.sample`), as the caller's decision holds for
// its own; and passes the trace on to children that speak MCP, in `params._meta`, with the span of
// the call's time at the child as parent. Where no spans are recorded, it keeps the trace of the
// header for the record of the call. Owner: the backend.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "gateway/base/random.h"
#include "gateway/base/trace_context.h"
#include "gateway/call/filter.h"
#include "gateway/config/config.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::call {

class TraceFilter final : public Filter {
 public:
  // `traces`: of which calls spans are recorded; null: of none. It may become another one.
  TraceFilter(const config::TracesConfig* const& traces, Random& random,
              const config::BackendConfig& config, CallStore& calls)
      : traces_(traces), random_(random), config_(config), states_(calls.reserve<State>()) {}

  void on_begin(Call& call, const Arrival& arrival) override {
    const TraceContext* const header = arrival.context.trace;
    if (is_on() || (header != nullptr && !header->is_none())) begin(call, arrival);
  }
  void on_end(const Call& call, End& end) override;

  // `message` carries `request`, and may have insertions: one stamp, or omissions. What is added is
  // valid until the next call of this.
  void tell_child(const rpc::Envelope& request, const Call& call, Outgoing& message) {
    if (is_on() && is_mcp()) stamp(request, call, message);
  }

 private:
  struct State {
    TraceContext trace;  // the caller's, or begun for it
    SpanId span = 0;     // of its time at a child, as that is told; 0: calls are not traced
    void clear();
  };

  void begin(Call& call, const Arrival& arrival);
  void stamp(const rpc::Envelope& request, const Call& call, Outgoing& message);
  [[nodiscard]] bool is_on() const { return traces_ != nullptr; }
  [[nodiscard]] bool is_mcp() const { return config_.protocol == config::Protocol::mcp; }
  void read_meta(std::string_view params, TraceContext& trace);
  void begin_trace(TraceContext& trace) const;
  [[nodiscard]] bool is_sampled(const TraceContext& trace) const;

  const config::TracesConfig* const& traces_;
  Random& random_;
  const config::BackendConfig& config_;
  const Slot<State> states_;
  std::array<Insertion, Outgoing::kMaxInsertions> insertions_;
  std::string members_;  // of the first one
  std::string stamped_;  // the same, and those of the stamp
  std::string scratch_;
};

}  // namespace stdgate::call

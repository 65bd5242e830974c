// TraceFilter: finds the trace of a call, and passes it on to the child.
//
// Takes the caller's trace from a header or from `_meta`, or begins a trace. Decides whether spans
// of a trace that begins here are recorded (`traces.sample`); the caller decides about its own
// traces. Passes the trace on to children, where the protocol has `params._meta`; the parent is
// the span of the call's time at the child. Where no spans are recorded, the filter only keeps the
// header's trace for the record of the call. Owner: the backend.
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
  // `traces`: which calls get spans; null: none. The pointer may change.
  TraceFilter(const config::TracesConfig* const& traces, Random& random,
              const config::BackendConfig& config, CallStore& calls)
      : traces_(traces), random_(random), config_(config), states_(calls.reserve<State>()) {}

  void on_begin(Call& call, const Arrival& arrival) override {
    const TraceContext* const header = arrival.context.trace;
    if (is_on() || (header != nullptr && !header->is_none())) begin(call, arrival);
  }
  void on_end(const Call& call, End& end) override;

  // `message` carries `request`, and may have insertions: one stamp, or omissions. The added
  // insertions are valid until the next call.
  void tell_child(const rpc::Envelope& request, const Call& call, Outgoing& message) {
    if (is_on() && has_meta()) stamp(request, call, message);
  }

 private:
  struct State {
    TraceContext trace;  // the caller's, or begun here
    SpanId span = 0;     // of the time at a child, as the child is told; 0: not traced
    void clear();
  };

  void begin(Call& call, const Arrival& arrival);
  void stamp(const rpc::Envelope& request, const Call& call, Outgoing& message);
  [[nodiscard]] bool is_on() const { return traces_ != nullptr; }
  // Whether requests of the protocol carry a trace in `params._meta`.
  [[nodiscard]] bool has_meta() const { return config::row_of(config_.protocol).has_meta; }
  void read_meta(std::string_view params, TraceContext& trace);
  void begin_trace(TraceContext& trace) const;
  [[nodiscard]] bool is_sampled(const TraceContext& trace) const;

  const config::TracesConfig* const& traces_;
  Random& random_;
  const config::BackendConfig& config_;
  const Slot<State> states_;
  std::array<Insertion, Outgoing::kMaxInsertions> insertions_;
  std::string members_;  // of the first insertion
  std::string stamped_;  // members_, and the members of the stamp
  std::string scratch_;
};

}  // namespace stdgate::call

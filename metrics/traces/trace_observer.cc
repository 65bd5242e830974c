#include "metrics/traces/trace_observer.h"

#include "metrics/traces/span_text.h"

namespace stdgate::traces {

void TraceObserver::on_call_finished(const CallRecord& call) {
  if (call.span == 0 || call.trace == nullptr || !call.trace->is_sampled()) return;
  std::string* const text = exporter_.add(span_count(call));
  if (text == nullptr) return;
  append_spans(*text, call, {names_.of(call.backend), call.is_mcp, new_span(), new_span()});
}

SpanId TraceObserver::new_span() {
  SpanId span = 0;
  while (span == 0) span = random_();
  return span;
}

}  // namespace stdgate::traces

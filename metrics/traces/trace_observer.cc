#include "metrics/traces/trace_observer.h"

#include "metrics/traces/span_text.h"

namespace stdgate::traces {

TraceObserver::TraceObserver(const std::vector<config::BackendConfig>& backends,
                             pool::Random& random, TraceExporter& exporter)
    : random_(random), exporter_(exporter) {
  for (const config::BackendConfig& backend : backends) {
    speak_mcp_.push_back(backend.protocol == config::Protocol::mcp);
  }
}

void TraceObserver::on_call_finished(const CallRecord& call) {
  if (call.span == 0 || call.trace == nullptr || !call.trace->is_sampled()) return;
  std::string* const text = exporter_.add(span_count(call));
  if (text == nullptr) return;
  const bool is_mcp = call.backend < speak_mcp_.size() && speak_mcp_[call.backend];
  append_spans(*text, call, {names_.of(call.backend), is_mcp, new_span(), new_span()});
}

SpanId TraceObserver::new_span() {
  SpanId span = 0;
  while (span == 0) span = random_();
  return span;
}

}  // namespace stdgate::traces

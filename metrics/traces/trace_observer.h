// TraceObserver: writes the spans of each finished call that is recorded.
//
// Which calls are, has been decided at their arrival (CallTracing). Owner: the worker. Draws the
// ids of spans that only it names.
#pragma once

#include <string_view>
#include <vector>

#include "gateway/config/config.h"
#include "gateway/observer.h"
#include "gateway/pool/breaker.h"
#include "metrics/backend_names.h"
#include "metrics/traces/trace_exporter.h"

namespace stdgate::traces {

class TraceObserver final : public Observer {
 public:
  TraceObserver(const std::vector<config::BackendConfig>& backends, pool::Random& random,
                TraceExporter& exporter);

  void on_backend(BackendId backend, std::string_view name) override { names_.add(backend, name); }
  void on_call_finished(const CallRecord& call) override;

 private:
  SpanId new_span();

  std::vector<bool> speak_mcp_;  // by BackendId
  BackendNames names_;
  pool::Random& random_;
  TraceExporter& exporter_;
};

}  // namespace stdgate::traces

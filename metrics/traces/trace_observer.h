// TraceObserver: writes the spans of each finished call that is recorded.
//
// Which calls are, has been decided at their arrival (TraceFilter). Owner: the worker. Draws the
// ids of spans that only it names.
#pragma once

#include <string_view>
#include <vector>

#include "gateway/base/random.h"
#include "gateway/config/config.h"
#include "gateway/observer.h"
#include "metrics/backend_names.h"
#include "metrics/traces/trace_exporter.h"

namespace stdgate::traces {

class TraceObserver final : public Observer {
 public:
  TraceObserver(Random& random, TraceExporter& exporter) : random_(random), exporter_(exporter) {}

  void on_backend(BackendId backend, std::string_view name) override { names_.add(backend, name); }
  void on_call_finished(const CallRecord& call) override;

 private:
  SpanId new_span();

  BackendNames names_;
  Random& random_;
  TraceExporter& exporter_;
};

}  // namespace stdgate::traces

// Exemplar: a sampled call that fell into a bucket of a histogram, so that one gets from a slow
// bucket to the trace of a call in it (OpenMetrics 1.0, Exemplars).
//
// Owner: the Histogram, which keeps the last one of each bucket.
#pragma once

#include <array>
#include <cstdint>

#include "gateway/base/time.h"
#include "gateway/base/trace_context.h"
#include "gateway/base/wall_clock.h"

namespace stdgate::metrics {

struct Exemplar {
  std::array<uint8_t, 16> trace_id = TraceContext::kNoTrace;  // kNoTrace: there is none
  Duration duration{0};
  WallTime at{};  // when the call ended

  [[nodiscard]] bool is_none() const { return trace_id == TraceContext::kNoTrace; }
};

}  // namespace stdgate::metrics

// The spans of a finished call as OTLP writes them in JSON (opentelemetry-proto, trace.proto with
// the JSON mapping of the OTLP specification: ids in hex, 64-bit numbers as texts).
//
// Pure functions. Attributes follow OpenTelemetry's conventions for MCP and RPC; what they have no
// word for begins with "stdgate.". Limits: kMaxText bytes of what clients write.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "gateway/observer.h"

namespace stdgate::traces {

inline constexpr size_t kMaxText = 128;    // of a name or an id
inline constexpr size_t kMaxDetail = 256;  // of what went wrong

// The attributes that all spans of a process share.
struct SpanSource {
  std::string service_name;
  std::string version;
  std::string instance;  // tells processes of one service apart
};

// A document up to its first span.
std::string document_head(const SpanSource& source);

// Facts of a span that its record lacks.
struct SpanFacts {
  std::string_view backend;
  bool is_mcp = false;
  SpanId call = 0;   // of the whole call
  SpanId queue = 0;  // of its wait for a child
};

// How many spans append_spans() appends.
inline size_t span_count(const CallRecord& call) { return call.reached_child ? 3 : 2; }

// Of a call with a trace and a span: the call as a whole, below it its wait for a child and its
// time there, if it had one.
void append_spans(std::string& out, const CallRecord& call, const SpanFacts& facts);

}  // namespace stdgate::traces

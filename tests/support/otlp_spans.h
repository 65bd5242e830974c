// Spans of a document that OTLP sends in JSON, held against its schema (opentelemetry-proto,
// trace.proto, and the JSON mapping of the OTLP specification).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace stdgate::test {

struct OtlpSpan {
  std::string trace_id;
  std::string span_id;
  std::string parent_id;  // empty: none
  std::string trace_state;
  std::string name;
  uint64_t flags = 0;
  int64_t kind = 0;  // 1: internal, 2: server, 3: client
  int64_t begin = 0;
  int64_t end = 0;
  int64_t status = 0;  // 0: unset, 2: error
  std::string status_message;
  std::map<std::string, std::string> attributes;
  std::map<std::string, std::string> resource;  // its attributes
};

// Throws std::runtime_error, which says what offends the schema: a member that it has not, or
// lacks, a value of another type, an id that is none.
std::vector<OtlpSpan> read_otlp_spans(std::string_view document);

}  // namespace stdgate::test

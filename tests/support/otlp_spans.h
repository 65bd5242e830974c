// Reads the spans of an OTLP document in JSON, and checks the document against its schema. See
// opentelemetry-proto, trace.proto, and the JSON mapping of the OTLP specification.
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
  std::string parent_id;  // empty: no parent
  std::string trace_state;
  std::string name;
  uint64_t flags = 0;
  int64_t kind = 0;  // 1: internal, 2: server, 3: client
  int64_t begin = 0;
  int64_t end = 0;
  int64_t status = 0;  // 0: unset, 2: error
  std::string status_message;
  std::map<std::string, std::string> attributes;
  std::map<std::string, std::string> resource;  // attributes of the resource
};

// Throws std::runtime_error with the offence against the schema: an unknown or missing member, a
// value of a wrong type, or an invalid id.
std::vector<OtlpSpan> read_otlp_spans(std::string_view document);

}  // namespace stdgate::test

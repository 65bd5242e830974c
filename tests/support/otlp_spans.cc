#include "tests/support/otlp_spans.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace stdgate::test {

namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

[[noreturn]] void fail(std::string_view what, std::string_view key) {
  throw std::runtime_error(std::string(what) + ": " + std::string(key));
}

template <class T>
T as(element value, std::string_view key) {
  T out{};
  if (value.get(out) != simdjson::SUCCESS) fail("of another type", key);
  return out;
}

template <class T>
T member(object from, std::string_view key) {
  element value;
  if (from[key].get(value) != simdjson::SUCCESS) fail("missing", key);
  return as<T>(value, key);
}

// OTLP's JSON mapping writes 64-bit numbers as strings.
int64_t number_text(element value, std::string_view key) {
  const auto text = as<std::string_view>(value, key);
  int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) {
    fail("no number as text", key);
  }
  return number;
}

std::string id_text(element value, std::string_view key, size_t digits) {
  const auto text = as<std::string_view>(value, key);
  const bool is_hex = std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  const bool is_zero = std::ranges::all_of(text, [](char c) { return c == '0'; });
  if (text.size() != digits || !is_hex || is_zero) fail("no id", key);
  return std::string(text);
}

// Reads a KeyValue list. The gateway uses string values only.
std::map<std::string, std::string> attributes_of(element list) {
  std::map<std::string, std::string> out;
  for (const element item : as<array>(list, "attributes")) {
    const auto pair = as<object>(item, "attribute");
    const auto value = member<object>(pair, "value");
    if (pair.size() != 2 || value.size() != 1) fail("more than key and value", "attribute");
    const std::string key(member<std::string_view>(pair, "key"));
    if (!out.emplace(key, member<std::string_view>(value, "stringValue")).second)
      fail("twice", key);
  }
  return out;
}

void read_status(element value, OtlpSpan& span) {
  for (const auto& [key, part] : as<object>(value, "status")) {
    if (key == "code") {
      span.status = as<int64_t>(part, key);
    } else if (key == "message") {
      span.status_message = as<std::string_view>(part, key);
    } else {
      fail("unknown", key);
    }
  }
}

void read_member(std::string_view key, element value, OtlpSpan& span) {
  if (key == "traceId") {
    span.trace_id = id_text(value, key, 32);
  } else if (key == "spanId") {
    span.span_id = id_text(value, key, 16);
  } else if (key == "parentSpanId") {
    span.parent_id = id_text(value, key, 16);
  } else if (key == "traceState") {
    span.trace_state = as<std::string_view>(value, key);
  } else if (key == "flags") {
    span.flags = as<uint64_t>(value, key);
  } else if (key == "name") {
    span.name = as<std::string_view>(value, key);
  } else if (key == "kind") {
    span.kind = as<int64_t>(value, key);
  } else if (key == "startTimeUnixNano") {
    span.begin = number_text(value, key);
  } else if (key == "endTimeUnixNano") {
    span.end = number_text(value, key);
  } else if (key == "attributes") {
    span.attributes = attributes_of(value);
  } else if (key == "status") {
    read_status(value, span);
  } else {
    fail("unknown", key);
  }
}

OtlpSpan read_span(element value) {
  OtlpSpan span;
  for (const auto& [key, part] : as<object>(value, "span")) read_member(key, part, span);
  if (span.trace_id.empty() || span.span_id.empty()) fail("missing", "id");
  if (span.name.empty()) fail("missing", "name");
  if (span.kind < 1 || span.kind > 5) fail("no SpanKind", "kind");
  if (span.begin == 0 || span.end < span.begin) fail("ends before it begins", span.name);
  if (span.flags > UINT32_MAX) fail("more than 32 bits", "flags");
  return span;
}

}  // namespace

std::vector<OtlpSpan> read_otlp_spans(std::string_view document) {
  simdjson::dom::parser parser;
  element root;
  if (parser.parse(document.data(), document.size()).get(root) != simdjson::SUCCESS) {
    fail("no JSON", document);
  }
  std::vector<OtlpSpan> spans;
  for (const element resource : member<array>(as<object>(root, "document"), "resourceSpans")) {
    const auto about = as<object>(resource, "resourceSpans");
    const auto attributes = attributes_of(member<object>(about, "resource")["attributes"].value());
    for (const element scope : member<array>(about, "scopeSpans")) {
      const auto of_scope = as<object>(scope, "scopeSpans");
      member<std::string_view>(member<object>(of_scope, "scope"), "name");
      for (const element span : member<array>(of_scope, "spans")) {
        spans.push_back(read_span(span));
        spans.back().resource = attributes;
      }
    }
  }
  return spans;
}

}  // namespace stdgate::test

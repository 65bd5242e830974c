// TraceContext: the trace that a call belongs to and the caller's span in it (W3C Trace Context),
// and what the caller passes on beside it (W3C Baggage).
//
// Job: parse the caller's traceparent and tracestate once; afterwards it is a value. What is
// malformed means "no trace" and is no error (section 3.2.2.5: the receiver starts a new one).
// Storage is used again by the next read. Limits: kMaxState bytes of tracestate; entries beyond
// are left out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "gateway/base/baggage.h"

namespace stdgate {

// Of a span, as a number whose bytes are in the order of their digits; 0: none.
using SpanId = uint64_t;

struct TraceContext {
  static constexpr size_t kMaxState = 512;  // "at least" that is to be propagated (section 3.3.1.5)
  static constexpr std::array<uint8_t, 16> kNoTrace{};
  static constexpr std::array<uint8_t, 8> kNoSpan{};
  static constexpr uint8_t kSampled = 1;  // in `flags`: this trace is recorded

  std::array<uint8_t, 16> trace_id{};  // kNoTrace: none
  std::array<uint8_t, 8> parent_id{};  // of the caller's span; kNoSpan: the gateway began the trace
  uint8_t flags = 0;                   // those that are defined: kSampled, and 2: a random trace id
  std::string state;                   // entries as received, joined by commas
  Baggage baggage;                     // needs no trace

  // Takes over a traceparent. False: it is malformed, and there is no trace.
  bool read(std::string_view traceparent);
  // Appends the entries of a tracestate field; there may be several fields. Without effect if there
  // is no trace, or if the field holds what no entry may.
  void add_state(std::string_view tracestate);
  void clear();

  [[nodiscard]] bool is_none() const { return trace_id == kNoTrace; }
  [[nodiscard]] bool has_parent() const { return parent_id != kNoSpan; }
  [[nodiscard]] bool is_sampled() const { return (flags & kSampled) != 0; }
  [[nodiscard]] SpanId parent() const;

  friend bool operator==(const TraceContext&, const TraceContext&) = default;
};

// The id as text: 32 lower-case hex digits.
struct TraceIdText {
  explicit TraceIdText(const TraceContext& trace);
  [[nodiscard]] std::string_view view() const { return {digits.data(), digits.size()}; }
  std::array<char, 32> digits{};
};

// The same of a span: 16 digits.
struct SpanIdText {
  explicit SpanIdText(SpanId span);
  [[nodiscard]] std::string_view view() const { return {digits.data(), digits.size()}; }
  std::array<char, 16> digits{};
};

// A traceparent that names `span` as the parent, in the trace and with the flags of `trace`.
struct TraceParentText {
  TraceParentText(const TraceContext& trace, SpanId span);
  [[nodiscard]] std::string_view view() const { return {digits.data(), digits.size()}; }
  std::array<char, 55> digits{};
};

}  // namespace stdgate

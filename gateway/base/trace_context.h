// TraceContext: the trace of a call and the caller's span in it (W3C Trace Context), and the
// baggage of the caller (W3C Baggage).
//
// Job: parse the caller's traceparent and tracestate once; after that it is a value. A malformed
// header means "no trace" and is no error (section 3.2.2.5: the receiver starts a new one). The
// next read reuses the storage. Limits: kMaxState bytes of tracestate; further entries are left
// out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace stdgate {

// Baggage: values that a caller wants passed on to every service that works on its call (W3C
// Baggage).
//
// Job: validate the header once. It is passed on unchanged or not at all: malformed or too long
// baggage counts as none. All calls of a request share one copy. Limits: kMaxBytes and kMaxMembers,
// the sizes that section 3.3.2 demands to propagate.
class Baggage {
 public:
  static constexpr size_t kMaxBytes = 8192;
  static constexpr size_t kMaxMembers = 64;

  Baggage() = default;
  // `text`: the values of all fields of this name, joined by commas.
  explicit Baggage(std::string text);

  [[nodiscard]] bool is_none() const { return text_ == nullptr; }
  [[nodiscard]] std::string_view text() const {
    return is_none() ? std::string_view() : std::string_view(*text_);
  }

  friend bool operator==(const Baggage& a, const Baggage& b) { return a.text() == b.text(); }

 private:
  std::shared_ptr<const std::string> text_;  // null: none
};

// The id of a span, as a number whose bytes are in the order of its digits; 0: none.
using SpanId = uint64_t;

struct TraceContext {
  static constexpr size_t kMaxState = 512;  // section 3.3.1.5 demands at least so much
  static constexpr std::array<uint8_t, 16> kNoTrace{};
  static constexpr std::array<uint8_t, 8> kNoSpan{};
  static constexpr uint8_t kSampled = 1;  // in `flags`: the trace is recorded

  std::array<uint8_t, 16> trace_id{};  // kNoTrace: none
  std::array<uint8_t, 8> parent_id{};  // of the caller's span; kNoSpan: the gateway began the trace
  uint8_t flags = 0;                   // the defined bits: kSampled, and 2: a random trace id
  std::string state;                   // entries as received, joined by commas
  Baggage baggage;                     // may exist without a trace

  // Replaces the trace by a traceparent. False: it is malformed, and there is no trace.
  bool read(std::string_view traceparent);
  // Appends the entries of a tracestate field; there may be several fields. Without effect if there
  // is no trace, or if the field has characters that no entry may have.
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

// The id of a span as text: 16 lower-case hex digits.
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

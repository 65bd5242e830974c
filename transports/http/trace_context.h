// The caller's trace, for the log: the trace-id of a traceparent header (W3C Trace Context, 3.2).
#pragma once

#include <algorithm>
#include <string_view>

namespace stdgate {

// 32 lower-case hex digits, a view into `traceparent`; empty when it is malformed, which means
// "no trace" and is no error (section 3.2.2).
inline std::string_view trace_id_of(std::string_view traceparent) {
  constexpr size_t kVersionEnd = 3;  // "00-"
  constexpr size_t kIdEnd = kVersionEnd + 32;
  constexpr size_t kSize = kIdEnd + 1 + 16 + 3;  // "-" parent-id "-" flags
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (traceparent.size() < kSize || traceparent[kVersionEnd - 1] != '-' ||
      traceparent[kIdEnd] != '-' || traceparent.starts_with("ff")) {
    return {};
  }
  const std::string_view id = traceparent.substr(kVersionEnd, kIdEnd - kVersionEnd);
  const bool is_zero = id.find_first_not_of('0') == std::string_view::npos;
  return is_zero || !std::all_of(id.begin(), id.end(), is_hex) ? std::string_view() : id;
}

}  // namespace stdgate

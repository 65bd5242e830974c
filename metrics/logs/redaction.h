// Redaction: makes a message fit for the log: cuts it and hides the values of some members.
//
// Limits: JSON within a string is searched kMaxNesting levels deep (a level at least doubles the
// backslashes); what is deeper and may hold a member is hidden whole.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace stdgate::logs {

inline constexpr size_t kMaxNesting = 8;

// At most the first `limit` bytes of `json` (one valid JSON text). The value of each member whose
// name is in `hidden` (ASCII letters of either case) becomes "***", at any depth. This also holds
// for JSON inside a string, alone or behind other text, as results of tools have it. A text that
// was cut ends in "…".
std::string redact(std::string_view json, std::span<const std::string> hidden, size_t limit);

}  // namespace stdgate::logs

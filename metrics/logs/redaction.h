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

// The first `limit` bytes, at most, of `json` (one valid JSON text), where the value of each member
// whose name is in `hidden` (ASCII letters of either case), at any depth, is "***". So are those in
// JSON that a string holds, alone or behind other text, as results of tools have it. "…" stands at
// the end of a text that was cut.
std::string redact(std::string_view json, std::span<const std::string> hidden, size_t limit);

}  // namespace stdgate::logs

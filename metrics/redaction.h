// Redaction: a message as it may stand in the log: cut, and with the values of some members hidden.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace stdgate {

// The first `limit` bytes, at most, of `json` (one valid JSON text), where the value of each member
// whose name is in `hidden`, at any depth, is "***". "…" stands at the end of a text that was cut.
std::string redact(std::string_view json, std::span<const std::string> hidden, size_t limit);

}  // namespace stdgate

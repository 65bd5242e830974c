// A second opinion on what is JSON, for tests: simdjson's DOM parser, with its known differences
// from RFC 8259 taken out by rules of their own.
#pragma once

#include <cstddef>
#include <string_view>

namespace stdgate::test {

// Whether `text` is one JSON value. simdjson computes numbers and refuses those beyond its types,
// and it refuses escaped lone surrogates; the grammar allows both. So numbers are judged by a
// regular expression here and shown to simdjson as 0, and escaped surrogates are shown as \u0041.
bool oracle_accepts(std::string_view text);

// The most arrays and objects open at once anywhere in `text`, which need not be JSON.
size_t deepest_nesting(std::string_view text);

}  // namespace stdgate::test

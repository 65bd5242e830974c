// An independent parser of JSON for tests: simdjson's DOM parser. Its known differences from RFC
// 8259 are covered by additional rules.
#pragma once

#include <cstddef>
#include <string_view>

namespace stdgate::test {

// Whether `text` is one JSON value. The grammar allows numbers beyond simdjson's types, and escaped
// lone surrogates, which simdjson refuses. So a regular expression checks numbers, and simdjson
// sees 0 instead. Escaped surrogates are replaced by \u0041.
bool oracle_accepts(std::string_view text);

// The largest number of arrays and objects that are open at once in `text`, which need not be JSON.
size_t deepest_nesting(std::string_view text);

}  // namespace stdgate::test

// The arithmetic of the demo server: sums, differences and products, exact as long as all numbers
// are integers and the result fits 64 bits, else in doubles (IEEE 754).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace stdgate::demo {

enum class Arithmetic : uint8_t { add, subtract, multiply };

// The result as JSON. `params` is raw, validated JSON, or empty when the call had none:
//   [a, b]              add and multiply take more than two as well
//   {"a": …, "b": …}    subtract takes {"minuend": …, "subtrahend": …} as well
// Otherwise a sentence that says what the params should be.
tl::expected<std::string, const char*> calculate(Arithmetic operation, std::string_view params);

inline constexpr size_t kMaxSummands = 1000;

// The sum of the first number, of the first two, and so on, as JSON; the last one is what adding
// them gives. `params` as above, or {"numbers": [a, b, …]}, of at most kMaxSummands.
tl::expected<std::vector<std::string>, const char*> partial_sums(std::string_view params);

}  // namespace stdgate::demo

// The arithmetic of the demo server: sums, differences and products, exact as long as all numbers
// are integers and the result fits 64 bits, else in doubles (IEEE 754).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace stdgate {

enum class Arithmetic : uint8_t { add, subtract, multiply };

// The result as JSON. `params` is raw, validated JSON, or empty when the call had none:
//   [a, b]              add and multiply take more than two as well
//   {"a": …, "b": …}    subtract takes {"minuend": …, "subtrahend": …} as well
// Otherwise a sentence that says what the params should be.
tl::expected<std::string, const char*> calculate(Arithmetic operation, std::string_view params);

}  // namespace stdgate

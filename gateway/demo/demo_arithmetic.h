// The arithmetic of the demo server, and the params of its methods.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace stdgate::demo {

// --- Numbers in the params of a call to the demo server, by position or by name
//
// `params` is always raw, validated JSON, or empty when the call had none.

// A JSON number: an exact integer where it is written as one and fits, else a double.
struct Number {
  bool exact = false;
  int64_t integer = 0;
  double real = 0;  // set in both cases
};

// Nothing when `raw` is no number, or one that no double comes near (1e400).
std::optional<Number> read_number(std::string_view raw);

// The elements of an array of numbers, one after the other.
class NumberArray {
 public:
  // `params` that are no array are taken as an array that failed.
  explicit NumberArray(std::string_view params);
  // Nothing at the end, and as soon as an element is no number: failed() tells which.
  std::optional<Number> next();
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  std::string_view rest_;  // behind the last comma, up to the closing bracket
  bool at_end_ = false;
  bool failed_ = false;
};

// The raw progress token of a call: a string or number, "progressToken" of the params or of their
// "_meta"; empty when there is none, or a sentence that says what is wrong.
tl::expected<std::string, const char*> read_progress_token(std::string_view params);

// A whole number among the params of a method, and its range.
struct IntegerParam {
  const char* name;
  int64_t low;
  int64_t high;
  std::optional<int64_t> fallback;  // none: the param is required
};

// Up to two integers, {"count": 3, "interval_ms": 100} or [3, 100], or the sentence that says what
// is wrong.
tl::expected<int64_t, std::string> read_integer(std::string_view params, const IntegerParam& spec);
tl::expected<std::array<int64_t, 2>, std::string> read_integers(
    std::string_view params, const std::array<IntegerParam, 2>& specs);

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

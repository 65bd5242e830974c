#include "gateway/demo/demo_arithmetic.h"

#include <charconv>
#include <cmath>
#include <optional>

#include "gateway/demo/demo_params.h"
#include "gateway/rpc/json_member.h"

namespace stdgate::demo {
namespace {

bool overflows(Arithmetic operation, int64_t a, int64_t b, int64_t* result) {
  switch (operation) {
    case Arithmetic::add:
      return __builtin_add_overflow(a, b, result);
    case Arithmetic::subtract:
      return __builtin_sub_overflow(a, b, result);
    case Arithmetic::multiply:
      break;
  }
  return __builtin_mul_overflow(a, b, result);
}

double in_doubles(Arithmetic operation, double a, double b) {
  switch (operation) {
    case Arithmetic::add:
      return a + b;
    case Arithmetic::subtract:
      return a - b;
    case Arithmetic::multiply:
      break;
  }
  return a * b;
}

Number apply(Arithmetic operation, const Number& a, const Number& b) {
  Number result;
  if (a.exact && b.exact && !overflows(operation, a.integer, b.integer, &result.integer)) {
    result.exact = true;
    result.real = static_cast<double>(result.integer);
  } else {
    result.real = in_doubles(operation, a.real, b.real);
  }
  return result;
}

std::optional<Number> fold_array(Arithmetic operation, std::string_view params) {
  NumberArray operands(params);
  std::optional<Number> result = operands.next();
  size_t count = 1;
  while (const auto operand = operands.next()) {
    result = apply(operation, *result, *operand);
    ++count;
  }
  const bool count_fits = operation == Arithmetic::subtract ? count == 2 : count >= 2;
  return operands.failed() || !count_fits ? std::nullopt : result;
}

std::optional<Number> number_member(std::string_view params, std::string_view name) {
  const auto member = rpc::find_member(params, name);
  return member ? read_number(*member) : std::nullopt;
}

std::optional<Number> apply_members(Arithmetic operation, std::string_view params,
                                    std::string_view first, std::string_view second) {
  const auto a = number_member(params, first);
  const auto b = number_member(params, second);
  if (!a || !b) return std::nullopt;
  return apply(operation, *a, *b);
}

constexpr const char* kTooLarge = "the result is too large for a number";

const char* usage(Arithmetic operation) {
  return operation == Arithmetic::subtract
             ? R"(params must be two numbers: [a, b], {"a": a, "b": b} or )"
               R"({"minuend": a, "subtrahend": b})"
             : R"(params must be two or more numbers: [a, b] or {"a": a, "b": b})";
}

std::string to_json(const Number& number) {
  char text[32];
  const auto end = number.exact ? std::to_chars(text, text + sizeof(text), number.integer).ptr
                                : std::to_chars(text, text + sizeof(text), number.real).ptr;
  return {text, end};
}

constexpr const char* kSumUsage =
    R"(params must be two or more numbers: [a, b], {"a": a, "b": b} or {"numbers": [a, b]})";

}  // namespace

tl::expected<std::string, const char*> calculate(Arithmetic operation, std::string_view params) {
  std::optional<Number> result;
  if (params.starts_with('[')) {
    result = fold_array(operation, params);
  } else if (!params.empty()) {
    result = apply_members(operation, params, "a", "b");
    if (!result && operation == Arithmetic::subtract) {
      result = apply_members(operation, params, "minuend", "subtrahend");
    }
  }
  if (!result) return tl::unexpected(usage(operation));
  if (!std::isfinite(result->real)) return tl::unexpected(kTooLarge);
  return to_json(*result);
}

tl::expected<std::vector<std::string>, const char*> partial_sums(std::string_view params) {
  std::string_view list = params;
  std::string pair;
  if (!params.starts_with('[')) {
    const auto numbers = rpc::find_member(params, "numbers");
    const auto a = rpc::find_member(params, "a");
    const auto b = rpc::find_member(params, "b");
    if (a && b) pair = "[" + std::string(*a) + "," + std::string(*b) + "]";
    list = numbers ? *numbers : std::string_view(pair);
  }
  std::vector<std::string> sums;
  std::optional<Number> sum;
  NumberArray operands(list);
  while (const auto operand = operands.next()) {
    if (sums.size() == kMaxSummands) return tl::unexpected<const char*>("too many numbers");
    sum = sum ? apply(Arithmetic::add, *sum, *operand) : *operand;
    if (!std::isfinite(sum->real)) return tl::unexpected(kTooLarge);
    sums.push_back(to_json(*sum));
  }
  if (operands.failed() || sums.size() < 2) return tl::unexpected(kSumUsage);
  return sums;
}

}  // namespace stdgate::demo

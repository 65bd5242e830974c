#include "gateway/demo/demo_arithmetic.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <span>

#include "gateway/base/text.h"
#include "gateway/rpc/json_reader.h"

namespace stdgate::demo {

namespace {

constexpr std::string_view kBlanks = " \t\r\n";

std::string explain(const IntegerParam& spec) {
  return std::string(spec.name) + " must be an integer from " + std::to_string(spec.low) + " to " +
         std::to_string(spec.high);
}

std::optional<int64_t> in_range(const std::optional<Number>& number, const IntegerParam& spec) {
  if (!number || !number->exact) return std::nullopt;
  if (number->integer < spec.low || number->integer > spec.high) return std::nullopt;
  return number->integer;
}

// Reads numbers by position. `values` holds the fallbacks, where there are fallbacks.
std::optional<std::string> read_array(std::string_view params, std::span<const IntegerParam> specs,
                                      std::span<std::optional<int64_t>> values) {
  NumberArray elements(params);
  for (size_t i = 0; i < specs.size(); ++i) {
    const auto element = elements.next();
    if (!element && !elements.failed()) return std::nullopt;
    values[i] = in_range(element, specs[i]);
    if (!values[i]) return explain(specs[i]);
  }
  if (elements.next() || elements.failed()) return "params has too many elements";
  return std::nullopt;
}

std::optional<std::string> read_object(std::string_view params, std::span<const IntegerParam> specs,
                                       std::span<std::optional<int64_t>> values) {
  for (size_t i = 0; i < specs.size(); ++i) {
    const auto member = rpc::find_member(params, specs[i].name);
    if (!member && member.error() == rpc::MemberError::absent) continue;
    values[i] = member ? in_range(read_number(*member), specs[i]) : std::nullopt;
    if (!values[i]) return explain(specs[i]);
  }
  return std::nullopt;
}

// An error text; nothing: all `values` are set.
std::optional<std::string> read(std::string_view params, std::span<const IntegerParam> specs,
                                std::span<std::optional<int64_t>> values) {
  for (size_t i = 0; i < specs.size(); ++i) values[i] = specs[i].fallback;
  if (!params.empty()) {
    auto problem = params.front() == '[' ? read_array(params, specs, values)
                                         : read_object(params, specs, values);
    if (problem) return problem;
  }
  for (size_t i = 0; i < specs.size(); ++i) {
    if (!values[i]) return explain(specs[i]);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Number> read_number(std::string_view raw) {
  Number number;
  const char* const end = raw.data() + raw.size();
  const auto whole = std::from_chars(raw.data(), end, number.integer);
  if (whole.ec == std::errc() && whole.ptr == end && raw != "-0") {
    number.exact = true;
    number.real = static_cast<double>(number.integer);
    return number;
  }
  // Also reads "inf" and "nan", which valid JSON never holds.
  const auto real = std::from_chars(raw.data(), end, number.real);
  if (real.ec != std::errc() || real.ptr != end) return std::nullopt;
  return number;
}

NumberArray::NumberArray(std::string_view params) {
  if (!params.starts_with('[')) {
    failed_ = true;
    return;
  }
  rest_ = trim(params.substr(1, params.size() - 2), kBlanks);
  at_end_ = rest_.empty();
}

// A comma inside of a string or an array within is found too, but the text before it is no number
// then, so reading ends there.
std::optional<Number> NumberArray::next() {
  if (at_end_ || failed_) return std::nullopt;
  const size_t comma = rest_.find(',');
  const auto number = read_number(trim(rest_.substr(0, comma), kBlanks));
  failed_ = !number;
  at_end_ = comma == std::string_view::npos;
  if (!at_end_) rest_.remove_prefix(comma + 1);
  return number;
}

tl::expected<std::string, const char*> read_progress_token(std::string_view params) {
  constexpr std::string_view kName = "progressToken";
  if (!params.starts_with('{')) return std::string();
  auto token = rpc::find_member(params, kName);
  if (!token) {
    const auto meta = rpc::find_member(params, "_meta");
    if (meta && meta->starts_with('{')) token = rpc::find_member(*meta, kName);
  }
  if (!token) return std::string();
  if (!token->starts_with('"') && !read_number(*token)) {
    return tl::unexpected<const char*>("progressToken must be a string or a number");
  }
  return std::string(*token);
}

tl::expected<int64_t, std::string> read_integer(std::string_view params, const IntegerParam& spec) {
  std::optional<int64_t> value;
  if (auto problem = read(params, {&spec, 1}, {&value, 1})) {
    return tl::unexpected(std::move(*problem));
  }
  return *value;
}

tl::expected<std::array<int64_t, 2>, std::string> read_integers(
    std::string_view params, const std::array<IntegerParam, 2>& specs) {
  std::array<std::optional<int64_t>, 2> values;
  if (auto problem = read(params, specs, values)) return tl::unexpected(std::move(*problem));
  return std::array<int64_t, 2>{*values[0], *values[1]};
}

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

#include "gateway/demo/demo_params.h"

#include <charconv>
#include <span>

#include "gateway/base/ascii.h"
#include "gateway/rpc/json_member.h"

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

// By position. `values` holds the fallbacks, as far as there are any.
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

// What is wrong, or nothing and all `values` set.
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

}  // namespace stdgate::demo

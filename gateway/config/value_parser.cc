// Durations, sizes and numbers as text, there and back.
#include "gateway/config/value_parser.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "gateway/config/config_parser.h"
#include "gateway/config/config_ranges.h"

namespace stdgate::config {
namespace {

struct Unit {
  std::string_view name;
  uint64_t factor;
};

constexpr uint64_t kNanosecondsPerMillisecond = 1000000;
// Largest first: printing takes the first that divides.
constexpr std::array kDurationUnits{
    Unit{"h", 3600 * 1000 * kNanosecondsPerMillisecond},
    Unit{"m", 60 * 1000 * kNanosecondsPerMillisecond},
    Unit{"s", 1000 * kNanosecondsPerMillisecond},
    Unit{"ms", kNanosecondsPerMillisecond},
};
constexpr std::array kSizeUnits{Unit{"GiB", kGiB}, Unit{"MiB", kMiB}, Unit{"KiB", kKiB},
                                Unit{"", 1}};

// Nothing unless `text` is digits and one of `units`, and the product at most `limit`.
template <size_t N>
std::optional<uint64_t> parse_with_unit(std::string_view text, const std::array<Unit, N>& units,
                                        uint64_t limit) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::optional<uint64_t> count = parse_count(text.substr(0, digits));
  if (!count) return std::nullopt;
  for (const Unit& unit : units) {
    if (unit.name != text.substr(digits)) continue;
    if (*count > limit / unit.factor) return std::nullopt;
    return *count * unit.factor;
  }
  return std::nullopt;
}

template <size_t N>
std::string print_with_unit(uint64_t value, const std::array<Unit, N>& units) {
  for (const Unit& unit : units) {
    if (value % unit.factor == 0) {
      return std::to_string(value / unit.factor) + std::string(unit.name);
    }
  }
  const Unit& smallest = units.back();
  return std::to_string(value / smallest.factor) + std::string(smallest.name);
}

}  // namespace

std::optional<uint64_t> parse_count(std::string_view text) {
  uint64_t count = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, count);
  if (error != std::errc() || stop != end) return std::nullopt;
  return count;
}

std::optional<double> parse_decimal(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

tl::expected<Duration, std::string> parse_duration(std::string_view text) {
  const auto nanoseconds =
      parse_with_unit(text, kDurationUnits, std::numeric_limits<Duration::rep>::max());
  if (nanoseconds) return Duration(static_cast<Duration::rep>(*nanoseconds));
  return tl::unexpected("'" + std::string(text) +
                        "' is not a duration; write it like 250ms, 30s, 5m or 1h");
}

tl::expected<size_t, std::string> parse_size(std::string_view text) {
  const auto bytes = parse_with_unit(text, kSizeUnits, std::numeric_limits<size_t>::max());
  if (bytes) return static_cast<size_t>(*bytes);
  return tl::unexpected("'" + std::string(text) +
                        "' is not a size; write it like 512, 64KiB, 16MiB or 1GiB");
}

std::optional<Rate> parse_rate(std::string_view text) {
  constexpr uint64_t kMaxCount = 1'000'000;
  if (text.size() < 3 || text[text.size() - 2] != '/') return std::nullopt;
  const auto count = parse_count(text.substr(0, text.size() - 2));
  if (!count || *count == 0 || *count > kMaxCount) return std::nullopt;
  const auto number = static_cast<uint32_t>(*count);
  switch (text.back()) {
    case 's':
      return Rate{number, std::chrono::seconds(1)};
    case 'm':
      return Rate{number, std::chrono::minutes(1)};
    case 'h':
      return Rate{number, std::chrono::hours(1)};
    default:
      return std::nullopt;
  }
}

std::string print_rate(const Rate& rate) {
  const char* const unit = rate.per == std::chrono::seconds(1)   ? "/s"
                           : rate.per == std::chrono::minutes(1) ? "/m"
                                                                 : "/h";
  return std::to_string(rate.count) + unit;
}

std::string print_duration(Duration duration) {
  if (duration == Duration::zero()) return "0s";
  return print_with_unit(static_cast<uint64_t>(duration.count()), kDurationUnits);
}

std::string print_size(uint64_t bytes) {
  if (bytes == 0) return "0";
  return print_with_unit(bytes, kSizeUnits);
}

std::string print_decimal(double number) {
  // The longest shortest form of a double without an exponent has fewer characters than this.
  std::array<char, 400> text;
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  return error == std::errc() ? std::string(text.data(), end) : std::string();
}

}  // namespace stdgate::config

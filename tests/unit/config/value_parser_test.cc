// Durations, sizes and numbers: what is read, what is refused, and that a printed value can be read
// back.
#include "gateway/config/value_parser.h"

#include <gtest/gtest.h>

#include "gateway/config/config_parser.h"

namespace stdgate {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(ParseDuration, ReadsDigitsWithOneUnit) {
  const std::pair<const char*, Duration> cases[] = {
      {"0s", seconds(0)},   {"250ms", milliseconds(250)},
      {"30s", seconds(30)}, {"5m", minutes(5)},
      {"1h", hours(1)},     {"007s", seconds(7)},
      {"90s", seconds(90)}, {"2562047h", hours(2562047)},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(config::parse_duration(text), expected) << text;
  }
}

TEST(ParseDuration, RefusesTheRest) {
  for (const char* text : {"", "s", "30", "-1s", "+1s", "1.5s", " 1s", "1s ", "1 s", "1S", "1us",
                           "1m30s", "1d", "0x1s", "2562048h", "18446744073709551616ms"}) {
    const auto parsed = config::parse_duration(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error(),
              "'" + std::string(text) + "' is not a duration; write it like 250ms, 30s, 5m or 1h");
  }
}

TEST(ParseSize, ReadsDigitsWithOneUnit) {
  const std::pair<const char*, size_t> cases[] = {
      {"0", 0},
      {"512", 512},
      {"64KiB", size_t{64} << 10},
      {"16MiB", size_t{16} << 20},
      {"1GiB", size_t{1} << 30},
      {"18446744073709551615", SIZE_MAX},
      {"17179869183GiB", SIZE_MAX - (size_t{1} << 30) + 1},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(config::parse_size(text), expected) << text;
}

TEST(ParseSize, RefusesTheRest) {
  for (const char* text : {"", "KiB", "64KB", "64k", "64 KiB", "1.5MiB", "-1", "64kib", "1TiB",
                           "17179869184GiB", "18446744073709551616"}) {
    const auto parsed = config::parse_size(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error(),
              "'" + std::string(text) + "' is not a size; write it like 512, 64KiB, 16MiB or 1GiB");
  }
}

TEST(ParseCount, TakesDigitsOnly) {
  EXPECT_EQ(config::parse_count("0"), 0u);
  EXPECT_EQ(config::parse_count("18446744073709551615"), UINT64_MAX);
  for (const char* text : {"", "-0", "+1", "1 ", " 1", "1e3", "18446744073709551616"}) {
    EXPECT_FALSE(config::parse_count(text)) << text;
  }
}

TEST(ParseDecimal, TakesFiniteNumbersOnly) {
  EXPECT_EQ(config::parse_decimal("0.00005"), 0.00005);
  EXPECT_EQ(config::parse_decimal("5e-05"), 0.00005);
  EXPECT_EQ(config::parse_decimal("-1"), -1.0);
  for (const char* text : {"", "inf", "nan", "1e999", "1s", "0x1p3", "1,5"}) {
    EXPECT_FALSE(config::parse_decimal(text)) << text;
  }
}

TEST(Print, UsesTheLargestUnitThatNeedsNoFraction) {
  EXPECT_EQ(config::print_duration(seconds(0)), "0s");
  EXPECT_EQ(config::print_duration(milliseconds(1500)), "1500ms");
  EXPECT_EQ(config::print_duration(seconds(75)), "75s");
  EXPECT_EQ(config::print_duration(seconds(60)), "1m");
  EXPECT_EQ(config::print_duration(minutes(120)), "2h");
  EXPECT_EQ(config::print_size(0), "0");
  EXPECT_EQ(config::print_size(1023), "1023");
  EXPECT_EQ(config::print_size(1024), "1KiB");
  EXPECT_EQ(config::print_size(3 << 20), "3MiB");
  EXPECT_EQ(config::print_size(uint64_t{2048} << 30), "2048GiB");
  EXPECT_EQ(config::print_decimal(0.00005), "0.00005");
  EXPECT_EQ(config::print_decimal(60), "60");
}

TEST(Print, ReadsBack) {
  for (int64_t ms = 1; ms < int64_t{1} << 40; ms = ms * 7 + 3) {
    EXPECT_EQ(config::parse_duration(config::print_duration(milliseconds(ms))),
              Duration(milliseconds(ms)));
  }
  for (uint64_t bytes = 1; bytes < uint64_t{1} << 60; bytes = bytes * 6 + 4) {
    EXPECT_EQ(config::parse_size(config::print_size(bytes)), bytes);
  }
  for (const double number : {1e-300, 0.1, 1.0 / 3, 12345.678, 1.7976931348623157e308}) {
    EXPECT_EQ(config::parse_decimal(config::print_decimal(number)), number);
  }
}

}  // namespace
}  // namespace stdgate

// Durations, sizes and numbers as text, there and back. The duration and size parsers themselves
// are declared in config_parser.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/base/time.h"
#include "gateway/config/config.h"

namespace stdgate::config {

// Digits only.
std::optional<uint64_t> parse_count(std::string_view text);
// A finite decimal number.
std::optional<double> parse_decimal(std::string_view text);

// "20/s", "100/m", "5000/h": a number above 0 in a second, minute or hour.
std::optional<Rate> parse_rate(std::string_view text);

// With the largest unit that needs no fraction; what parse_duration(), parse_size() and
// parse_decimal() read back. Durations have a resolution of one millisecond.
std::string print_duration(Duration duration);
std::string print_size(uint64_t bytes);
std::string print_decimal(double number);
std::string print_rate(const Rate& rate);

}  // namespace stdgate::config

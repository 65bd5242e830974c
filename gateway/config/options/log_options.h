// The keys of `log`.
#pragma once

#include <array>

#include "gateway/config/options/option.h"

namespace stdgate::config {

inline constexpr auto kLogOptions = std::to_array<Option<LogConfig>>({
    {.key = "level",
     .type = Word{&LogConfig::level},
     .flag = {"--log-level"},
     .help = "lowest level that is logged"},
    {.key = "format",
     .type = Word{&LogConfig::format},
     .flag = {"--log-format"},
     .help = "how lines are written"},
    {.key = "calls",
     .type = Switch{&LogConfig::calls},
     .flag = {.name = "--no-call-log", .help = "no log line per call"},
     .help = "one line per call"},
    {.key = "payloads",
     .type = Switch{&LogConfig::payloads},
     .help = "log the messages themselves"},
    {.key = "payload_limit",
     .type = Size{&LogConfig::payload_limit, {1, 16 * kMiB}},
     .help = "bytes shown of each message"},
    {.key = "redact",
     .type = list_of<&LogConfig::redact>(),
     .help = "names of members whose values are hidden in logged messages",
     .details = "Upper and lower case count alike, and JSON within a string is searched too."},
});

template <>
struct OptionsOf<LogConfig> {
  static constexpr std::span<const Option<LogConfig>> kRows = kLogOptions;
  static constexpr std::string_view kTitle = "Log";
};

}  // namespace stdgate::config

// The keys of backends.<name>.check: what is held against the schemas of tools.
#pragma once

#include <array>

#include "gateway/config/options/option.h"

namespace stdgate::config {

inline constexpr auto kCheckOptions = std::to_array<Option<CheckConfig>>({
    {.key = "arguments",
     .type = Switch{&CheckConfig::arguments},
     .help = "answer a tool call whose arguments do not fit the inputSchema with a tool error that "
             "says where the fault is and what was expected"},
    {.key = "results",
     .type = Switch{&CheckConfig::results},
     .help = "turn results that do not fit the outputSchema into faults"},
});

template <>
struct OptionsOf<CheckConfig> {
  static constexpr std::span<const Option<CheckConfig>> kRows = kCheckOptions;
  static constexpr std::string_view kTitle = "Check";
};

}  // namespace stdgate::config

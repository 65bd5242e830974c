// The keys of `metrics`.
#pragma once

#include <array>

#include "gateway/config/options/option.h"

namespace stdgate::config {

inline constexpr auto kMetricsOptions = std::to_array<Option<MetricsConfig>>({
    {.key = "buckets",
     .type = Buckets{&MetricsConfig::buckets, {1, kMaxBuckets}, kMaxBucketSeconds},
     .help = "upper bounds of the histograms' buckets, in seconds, ascending"},
    {.key = "methods",
     .type = Count{&MetricsConfig::methods, {1, 100000}},
     .help =
         "names of methods that get a label of their own, per backend; as many names of tools do",
     .details = "Further names are counted as `_other`."},
    {.key = "method_names",
     .type = list_of<&MetricsConfig::method_names>(),
     .help = "methods that always get a label of their own, at every backend"},
    {.key = "tool_names",
     .type = list_of<&MetricsConfig::tool_names>(),
     .help = "tools that always get a label of their own, at every backend"},
});

template <>
struct OptionsOf<MetricsConfig> {
  static constexpr std::span<const Option<MetricsConfig>> kRows = kMetricsOptions;
  static constexpr std::string_view kTitle = "Metrics";
};

}  // namespace stdgate::config

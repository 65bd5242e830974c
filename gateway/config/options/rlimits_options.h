// The keys of backends.<name>.rlimits: setrlimit(2) for a child.
#pragma once

#include <array>

#include "gateway/config/options/option.h"

namespace stdgate::config {

inline constexpr auto kRlimitsOptions = std::to_array<Option<ResourceLimits>>({
    {.key = "address_space",
     .type = Size{&ResourceLimits::address_space_bytes, {kMiB, kMiB* kGiB}},
     .help = "memory that a child can map (RLIMIT_AS)",
     .default_words = "inherited"},
    {.key = "cpu",
     .type = Seconds{&ResourceLimits::cpu_seconds,
                     {std::chrono::seconds(1), std::chrono::hours(24 * 365)}},
     .help = "CPU time of a child, in whole seconds (RLIMIT_CPU)",
     .default_words = "inherited"},
    {.key = "open_files",
     .type = Count{&ResourceLimits::open_files, {16, 1 << 20}},
     .help = "file descriptors of a child (RLIMIT_NOFILE)",
     .default_words = "inherited"},
    {.key = "processes",
     .type = Count{&ResourceLimits::processes, {1, 1 << 22}},
     .help = "processes of the child's user (RLIMIT_NPROC)",
     .default_words = "inherited"},
});

template <>
struct OptionsOf<ResourceLimits> {
  static constexpr std::span<const Option<ResourceLimits>> kRows = kRlimitsOptions;
  static constexpr std::string_view kTitle = "Resource limits";
};

}  // namespace stdgate::config

// The keys of backends.<name>.calls_per_principal: what one client may do.
#pragma once

#include <array>

#include "gateway/config/options/option.h"

namespace stdgate::config {

inline constexpr CountRange kClientLimit{0, 1000000};

inline constexpr auto kClientLimitsOptions = std::to_array<Option<ClientLimits>>({
    {.key = "rate",
     .type = PerTime{&ClientLimits::rate},
     .help = "calls in a time, in the long run"},
    {.key = "burst",
     .type = Count{&ClientLimits::burst, kClientLimit},
     .help = "calls at once, after a rest",
     .details = "0: as many as `rate` names.",
     .applies = [](const ClientLimits& limits) { return limits.burst > 0; }},
    {.key = "in_flight",
     .type = Count{&ClientLimits::in_flight, kClientLimit},
     .help = "calls that are not answered yet",
     .details = "0: no limit.",
     .applies = [](const ClientLimits& limits) { return limits.in_flight > 0; }},
    {.key = "sessions",
     .type = Count{&ClientLimits::sessions, kClientLimit},
     .help = "sessions that have a child or wait for one; parked ones do not count",
     .details = "0: no limit.",
     .applies = [](const ClientLimits& limits) { return limits.sessions > 0; }},
});

template <>
struct OptionsOf<ClientLimits> {
  static constexpr std::span<const Option<ClientLimits>> kRows = kClientLimitsOptions;
  static constexpr std::string_view kTitle = "Limits of one client";
};

}  // namespace stdgate::config

// The keys of `calls`, of backends.<name>.calls and of backends.<name>.calls_per_principal: what
// all clients together, and what each of them, may do.
#pragma once

#include <array>

#include "gateway/config/options/option.h"

namespace stdgate::config {

inline constexpr CountRange kClientLimit{0, 1000000};

template <class Limits>
inline constexpr Option<Limits> kCallRate{
    .key = "rate",
    .type = PerTime{&Limits::rate},
    .help = "calls per unit of time, on average over a long time"};
template <class Limits>
inline constexpr Option<Limits> kCallBurst{
    .key = "burst",
    .type = Count{&Limits::burst, kClientLimit},
    .help = "calls at once after a time without calls",
    .details = "0: as many as `rate` names.",
    .applies = [](const Limits& limits) { return limits.burst > 0; }};
template <class Limits>
inline constexpr Option<Limits> kCallsInFlight{
    .key = "in_flight",
    .type = Count{&Limits::in_flight, kClientLimit},
    .help = "calls that are not answered yet",
    .details = "0: no limit.",
    .applies = [](const Limits& limits) { return limits.in_flight > 0; }};

inline constexpr std::array<Option<CallLimits>, 3> kCallLimitsOptions = {
    kCallRate<CallLimits>, kCallBurst<CallLimits>, kCallsInFlight<CallLimits>};

inline constexpr std::array<Option<ClientLimits>, 4> kClientLimitsOptions = {
    kCallRate<ClientLimits>, kCallBurst<ClientLimits>, kCallsInFlight<ClientLimits>,
    Option<ClientLimits>{
        .key = "sessions",
        .type = Count{&ClientLimits::sessions, kClientLimit},
        .help = "sessions that have a child or wait for one; parked ones do not count",
        .details = "0: no limit.",
        .applies = [](const ClientLimits& limits) { return limits.sessions > 0; }}};

template <>
struct OptionsOf<CallLimits> {
  static constexpr std::span<const Option<CallLimits>> kRows = kCallLimitsOptions;
  static constexpr std::string_view kTitle = "Limits of calls";
};

template <>
struct OptionsOf<ClientLimits> {
  static constexpr std::span<const Option<ClientLimits>> kRows = kClientLimitsOptions;
  static constexpr std::string_view kTitle = "Limits of one client";
};

}  // namespace stdgate::config

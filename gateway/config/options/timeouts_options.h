// The keys of `timeouts`: how long the gateway waits for clients, and before it ends.
#pragma once

#include <array>

#include "gateway/config/options/option.h"

namespace stdgate::config {

inline constexpr DurationRange kConnectionTime{std::chrono::milliseconds(1), std::chrono::hours(1)};

inline constexpr auto kTimeoutsOptions = std::to_array<Option<TimeoutsConfig>>({
    {.key = "handshake",
     .type = Time{&TimeoutsConfig::handshake, kConnectionTime},
     .help = "time from a connection's beginning to the end of its TLS handshake"},
    {.key = "header",
     .type = Time{&TimeoutsConfig::header, kConnectionTime},
     .help = "time from the first byte of a request to the end of its headers"},
    {.key = "body",
     .type = Time{&TimeoutsConfig::body, kConnectionTime},
     .help = "longest time in which the client sends no byte of the body, or reads no byte of the "
             "answer",
     .details = "`limits.min_rate` is judged over it."},
    {.key = "request",
     .type = Time{&TimeoutsConfig::request, {std::chrono::milliseconds(1), std::chrono::hours(24)}},
     .help = "time from the end of a request's headers to the end of its body",
     .details = "WebSocket messages have the same time."},
    {.key = "idle",
     .type = Time{&TimeoutsConfig::idle, kConnectionTime},
     .help = "time that a connection may be idle between requests"},
    {.key = "drain",
     .type = Time{&TimeoutsConfig::drain, {std::chrono::milliseconds(0), std::chrono::hours(1)}},
     .help = "time for calls under way to finish when the gateway is stopped"},
    {.key = "keep_alive",
     .type = Time{&TimeoutsConfig::keep_alive, kConnectionTime},
     .help = "silence after which an event stream gets a comment",
     .details = "The answer to a POST to `/mcp` becomes a stream after the same silence."},
    {.key = "first_stream",
     .type =
         Time{&TimeoutsConfig::first_stream, {std::chrono::milliseconds(0), std::chrono::hours(1)}},
     .help = "time for an MCP client to open its GET stream when its server asks something",
     .details = "After this time the server's request is refused."},
    {.key = "input",
     .type = Time{&TimeoutsConfig::input, {std::chrono::milliseconds(1), std::chrono::hours(24)}},
     .help = "time for a client to answer a child's question while a call waits",
     .details =
         "After this time the question is withdrawn: the child gets an error, and the client is "
         "told that the question is cancelled. A modern MCP client of a legacy server has the same "
         "time to come back with its answers; after that the call is cancelled."},
    {.key = "ping",
     .type = Time{&TimeoutsConfig::ping, kConnectionTime},
     .help = "silence after which a WebSocket client gets a ping"},
    {.key = "pong",
     .type = Time{&TimeoutsConfig::pong, kConnectionTime},
     .help = "time for the client to answer a ping before the connection is closed"},
});

template <>
struct OptionsOf<TimeoutsConfig> {
  static constexpr std::span<const Option<TimeoutsConfig>> kRows = kTimeoutsOptions;
  static constexpr std::string_view kTitle = "Timeouts";
};

}  // namespace stdgate::config

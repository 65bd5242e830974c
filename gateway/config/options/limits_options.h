// The keys of `limits`: limits on sizes, counts and memory.
#pragma once

#include <array>

#include "gateway/config/options/option.h"
#include "gateway/config/options/text_rules.h"

namespace stdgate::config {

inline constexpr auto kLimitsOptions = std::to_array<Option<LimitsConfig>>({
    {.key = "message",
     .type = Size{&LimitsConfig::message, {kKiB, kGiB}},
     .flag = {"--max-message"},
     .help = "largest message in either direction"},
    {.key = "headers",
     .type = Size{&LimitsConfig::headers, {kKiB, kMiB}},
     .help = "header block of an HTTP request"},
    {.key = "batch",
     .type = Count{&LimitsConfig::batch, {1, 100000}},
     .help = "messages in a batch"},
    {.key = "depth",
     // An envelope with params has two levels.
     .type = Count{&LimitsConfig::depth, {2, 1024}},
     .help = "nesting of a message's objects and arrays"},
    {.key = "connections",
     .type = Count{&LimitsConfig::connections, {1, 1000000}},
     .help = "open client connections"},
    {.key = "buffered",
     .type = Size{&LimitsConfig::buffered, {kKiB, 1024 * kGiB}},
     .help = "memory kept for clients: requests that come or wait, unsent answers, sessions and "
             "their events",
     .details = "Not less than `message`, which raises the default where it is greater. When it is "
                "used up, the clients that hold most are refused first (503).",
     .default_words = "half of `memory`"},
    {.key = "buffered_per_client",
     .type = Size{&LimitsConfig::buffered_per_client, {kKiB, 1024 * kGiB}},
     .help = "memory kept for one client",
     .details = "A client is a principal, else an address (IPv6: its /64 network). Not less than "
                "`message`; the default is at least twice `message`. If all your clients count as "
                "one, raise it to `buffered`.",
     .default_words = "a quarter of `buffered`"},
    {.key = "outbox",
     .type = Size{&LimitsConfig::outbox, {kKiB, kGiB}},
     .help = "unsent bytes of one stream or WebSocket before it is ended"},
    {.key = "connections_per_address",
     .type = Count{&LimitsConfig::connections_per_address, {1, 1000000}},
     .help = "open connections of one client address",
     .details = "IPv6 addresses count by their /64 network, Unix sockets do not."},
    {.key = "unlimited_addresses",
     .type = list_of<&LimitsConfig::unlimited_addresses>(kAddressBlock, {0, kMaxAddressBlocks}),
     .help = "addresses, or blocks of them, whose connections are not counted by address",
     .details = "Like `10.1.0.0/16`; replaces the default. A reverse proxy belongs here."},
    {.key = "session_starts",
     .type = Count{&LimitsConfig::session_starts, {0, 1000000}},
     .help = "children per second that one client may take for its sessions; 0: no limit",
     .details = "A client is an address, or a user of a Unix socket. Loopback counts too."},
    {.key = "session_burst",
     .type = Count{&LimitsConfig::session_burst, {1, 1000000}},
     .help = "children that one client may take at once after a time without new sessions"},
    {.key = "handshakes",
     .type = Count{&LimitsConfig::handshakes, {1, 100000}},
     .help = "TLS handshakes under way; further ones wait"},
    {.key = "min_rate",
     .type = Size{&LimitsConfig::min_rate, {0, kGiB}},
     .help = "lowest rate at which a client may send a body or read an answer, in bytes per "
             "second; 0: no limit",
     .details = "Averaged over `timeouts.body`; for what a client reads from a WebSocket, over "
                "`ping` and `pong`."},
    {.key = "memory",
     .type = Size{&LimitsConfig::memory, {4 * kMiB, 1024 * kGiB}},
     .help = "memory of the gateway, without its children",
     .details = "From 85 % on, caches and kept events are dropped, and connections are closed with "
                "their answers. If 95 % are still in use after free memory has been given back, "
                "new calls are refused (503).",
     .default_words = "three quarters of what the control group, or the machine, has"},
    {.key = "loop_lag",
     .type = Time{&LimitsConfig::loop_lag, {Duration::zero(), std::chrono::minutes(1)}},
     .help = "how late timers may fire before new sessions are refused; 0: no limit"},
    {.key = "replay",
     .type = Size{&LimitsConfig::replay, {0, kGiB}},
     .help = "bytes of events that an MCP session keeps for a client that reconnects"},
    {.key = "replay_events",
     .type = Count{&LimitsConfig::replay_events, {0, 1'000'000}},
     .help = "events that an MCP session keeps for a client that reconnects, at most"},
});

template <>
struct OptionsOf<LimitsConfig> {
  static constexpr std::span<const Option<LimitsConfig>> kRows = kLimitsOptions;
  static constexpr std::string_view kTitle = "Limits";
};

// The keys of `timeouts`: how long the gateway waits for clients, and before it ends.
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

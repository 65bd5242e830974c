// The keys of backends.<name>.pool: children, their queue, their beginning and end.
#pragma once

#include <array>

#include "gateway/config/options/option.h"

namespace stdgate::config {

inline constexpr auto kPoolOptions = std::to_array<Option<PoolConfig>>({
    {.key = "min",
     .type = Count{&PoolConfig::min, {0, 1024}},
     .flag = {"--min"},
     .help = "children kept running",
     .details =
         "With `isolation: session` they are kept for calls without a session, so `min` must "
         "be less than `max` there, unless both are 1. Not for `protocol: lsp`."},
    {.key = "max",
     .type = Count{&PoolConfig::max, {1, 1024}},
     .flag = {"--max"},
     .help = "children at most"},
    {.key = "warm",
     .type = Count{&PoolConfig::warm, {0, 1024}},
     .flag = {"--warm"},
     .help = "children kept ready for sessions to come",
     .details = "For `isolation: session` only; together with those kept for calls they fit "
                "into `max`."},
    {.key = "sessions",
     .type = Count{&PoolConfig::sessions, {1, 100000}},
     .flag = {"--sessions"},
     .help = "open sessions at most",
     .details = "Beyond it the MCP session over HTTP that has been idle longest is forgotten, "
                "those without a child first. As many calls of modern MCP clients may listen for "
                "updates of resources at a legacy server."},
    {.key = "principals",
     .type = Count{&PoolConfig::principals, {1, 10000}},
     .help = "principals that have children at a time",
     .details = "For `isolation: principal` only, where each of them has `max` children at most."},
    {.key = "parked",
     .type = Count{&PoolConfig::parked, {1, 1024}},
     .help = "calls at most that wait for input of their modern MCP clients",
     .details =
         "Each has a child of its own meanwhile. Others that need input wait for their turn."},
    {.key = "remember",
     .type = Switch{&PoolConfig::remember},
     .help = "while no child runs, answer from memory what the server has said of itself, and its "
             "lists",
     .details = "With `protocol: mcp` only: `initialize`, `server/discover`, `ping` and the lists "
                "of tools, prompts, resources and templates; the first request of another kind "
                "starts a child. Lists that differ between sessions or principals are not "
                "remembered. See [Servers that sleep](children.md#servers-that-sleep) and "
                "`state_dir`.",
     .default_words = "mcp: true"},
    {.key = "sticky",
     .type = Switch{&PoolConfig::sticky},
     .help =
         "send texts that a server has given out, to be brought back, to the child that gave them",
     .details = "With `protocol: mcp` only: a `requestState`, the id of a task, and, from children "
                "that clients share, the cursor of a list. Clients get them sealed for their "
                "principal and the backend; those of another principal are refused. All anonymous "
                "clients are one principal. With `false` they pass unchanged, to any child; this "
                "is for servers that keep nothing in their process."},
    {.key = "tasks",
     .type = Count{&PoolConfig::tasks, {1, 65536}},
     .help = "tasks of modern MCP servers at most that keep a child from ending while it is idle",
     .details = "For each child. Beyond it the task that ends first keeps its child no longer."},
    {.key = "max_in_flight",
     .type = Count{&PoolConfig::max_in_flight, {1, 4096}},
     .flag = {"--max-in-flight"},
     .help = "calls in flight per child; 1: one at a time"},
    {.key = "queue",
     .type = Count{&PoolConfig::queue, {1, 1000000}},
     .flag = {"--queue"},
     .help = "calls waiting for a child, at most"},
    {.key = "queue_bytes",
     .type = Size{&PoolConfig::queue_bytes, {kKiB, 64 * kGiB}},
     .help = "bytes of the messages of these calls, at most",
     .details = "Not less than `limits.message`, which raises the default where it is greater."},
    {.key = "max_age",
     .type =
         Time{&PoolConfig::max_age, {std::chrono::milliseconds(0), std::chrono::hours(24 * 365)}},
     .help = "age at which a child is replaced; 0s: never for its age",
     .details = "It goes on until its successor is ready, and ends when it has no calls, at the "
                "latest after `timeout`. A session's child is replaced when the session is idle. A "
                "child stays while a `requestState` or task of it is open."},
    {.key = "max_calls",
     .type = Count{&PoolConfig::max_calls, {0, 4'000'000'000}},
     .help = "calls after which a child is replaced; 0: never for its calls",
     .details = "As `max_age`. A few more come until its successor is ready."},
    {.key = "max_memory",
     .type = Size{&PoolConfig::max_memory, {0, 1024 * kGiB}},
     .help = "memory at which a child is replaced; 0: never for its memory",
     .details = "Resident memory of the child and its descendants, checked every second. As "
                "`max_age`, but the child stays only for its calls."},
    {.key = "start_timeout",
     .type =
         Time{&PoolConfig::start_timeout, {std::chrono::milliseconds(1), std::chrono::hours(1)}},
     .flag = {"--start-timeout"},
     .help = "time for a child to get ready, else it is ended"},
    {.key = "idle_timeout",
     .type =
         Time{&PoolConfig::idle_timeout, {std::chrono::milliseconds(1), std::chrono::hours(24)}},
     .flag = {"--idle-timeout"},
     .help = "idle time after which a child above min is ended",
     .details = "Also the time after which an MCP session over HTTP is parked that has no open "
                "stream and sends nothing; with `revive: false` it ends."},
    {.key = "min_hold",
     .type = Time{&PoolConfig::min_hold, {std::chrono::milliseconds(0), std::chrono::hours(1)}},
     .help = "idle time before an MCP session gives its child to another one",
     .details = "The other session waits this long at most, if any session is idle. Sessions that "
                "take turns on too few children lose the servers' memory with each turn; the log "
                "and `/debug/state` say by how many `max` is too small."},
    {.key = "grace",
     .type = Time{&PoolConfig::grace, {std::chrono::milliseconds(1), std::chrono::minutes(1)}},
     .flag = {"--grace"},
     .help = "time for a child to end by itself, then signals",
     .details = "First its input ends, after this time SIGTERM follows, and after the same time "
                "again SIGKILL."},
    {.key = "backoff_min",
     .type = Time{&PoolConfig::backoff_min, {std::chrono::milliseconds(1), std::chrono::hours(1)}},
     .help = "pause before a child that failed again is replaced",
     .details = "Doubled with each further failure in a row, with jitter. Not greater than "
                "`backoff_max`."},
    {.key = "backoff_max",
     .type = Time{&PoolConfig::backoff_max, {std::chrono::milliseconds(1), std::chrono::hours(1)}},
     .help = "the longest such pause"},
    {.key = "breaker_failures",
     .type = Count{&PoolConfig::breaker_failures, {1, 1000}},
     .help = "failures in a row after which calls are refused at once",
     .details = "One child at a time is then tried, until one answers."},
});

template <>
struct OptionsOf<PoolConfig> {
  static constexpr std::span<const Option<PoolConfig>> kRows = kPoolOptions;
  static constexpr std::string_view kTitle = "Pool";
};

}  // namespace stdgate::config

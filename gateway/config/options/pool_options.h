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
     .help = "highest number of children"},
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
     .details = "Beyond this number the MCP session over HTTP that has been idle longest is "
                "forgotten, sessions without a child first. The same number limits the calls of "
                "modern MCP clients that listen for updates of resources at a legacy server."},
    {.key = "principals",
     .type = Count{&PoolConfig::principals, {1, 10000}},
     .help = "principals that have children at a time",
     .details = "For `isolation: principal` only, where each of them has `max` children at most."},
    {.key = "parked",
     .type = Count{&PoolConfig::parked, {1, 1024}},
     .help = "highest number of calls that wait for input from their modern MCP clients",
     .details = "Each such call has a child of its own meanwhile. Further calls that need input "
                "wait for their turn."},
    {.key = "remember",
     .type = Switch{&PoolConfig::remember},
     .help = "while no child runs, answer requests for the server's description and its lists from "
             "memory",
     .details = "With `protocol: mcp` only: `initialize`, `server/discover`, `ping` and the lists "
                "of tools, prompts, resources and templates; the first request of another kind "
                "starts a child. Lists that differ between sessions or principals are not "
                "remembered. See [Servers that sleep](children.md#servers-that-sleep) and "
                "`state_dir`.",
     .default_words = "mcp: true"},
    {.key = "sticky",
     .type = Switch{&PoolConfig::sticky},
     .help = "route a value that a client must send back to the same child that gave it out",
     .details = "With `protocol: mcp` only. Such a value is a `requestState`, the id of a task or, "
                "from children that clients share, the cursor of a list. Clients get these values "
                "sealed for their principal and the backend; a value of another principal is "
                "refused. All anonymous clients are one principal. With `false` the values pass "
                "unchanged, to any child; this is for servers that keep nothing in their process."},
    {.key = "tasks",
     .type = Count{&PoolConfig::tasks, {1, 65536}},
     .help = "highest number of tasks of a modern MCP server that keep an idle child running",
     .details = "Counted for each child. Beyond this number the task that ends first no longer "
                "keeps its child."},
    {.key = "max_in_flight",
     .type = Count{&PoolConfig::max_in_flight, {1, 4096}},
     .flag = {"--max-in-flight"},
     .help = "calls in flight per child; 1: one call at a time"},
    {.key = "queue",
     .type = Count{&PoolConfig::queue, {1, 1000000}},
     .flag = {"--queue"},
     .help = "calls waiting for a child, at most"},
    {.key = "queue_bytes",
     .type = Size{&PoolConfig::queue_bytes, {kKiB, 64 * kGiB}},
     .help = "bytes of the messages of the calls in the queue, at most",
     .details = "Not less than `limits.message`, which raises the default where it is greater."},
    {.key = "max_age",
     .type =
         Time{&PoolConfig::max_age, {std::chrono::milliseconds(0), std::chrono::hours(24 * 365)}},
     .help = "age at which a child is replaced; 0s: never for its age",
     .details = "The child serves on until its successor is ready. It ends when it has no calls, "
                "at the latest after `timeout`. A session's child is replaced when the session is "
                "idle. A child stays while it has an open `requestState` or task."},
    {.key = "max_calls",
     .type = Count{&PoolConfig::max_calls, {0, 4'000'000'000}},
     .help = "calls after which a child is replaced; 0: never for its calls",
     .details = "The child is replaced as with `max_age`. It gets a few more calls until its "
                "successor is ready."},
    {.key = "max_memory",
     .type = Size{&PoolConfig::max_memory, {0, 1024 * kGiB}},
     .help = "memory at which a child is replaced; 0: never for its memory",
     .details = "Resident memory of the child and its descendants, checked every second. The child "
                "is replaced as with `max_age`, but it stays only for its calls."},
    {.key = "start_timeout",
     .type =
         Time{&PoolConfig::start_timeout, {std::chrono::milliseconds(1), std::chrono::hours(1)}},
     .flag = {"--start-timeout"},
     .help = "time within which a child must become ready, or it is ended"},
    {.key = "fetch_timeout",
     .type =
         Time{&PoolConfig::fetch_timeout, {std::chrono::milliseconds(0), std::chrono::hours(1)}},
     .help = "time beyond start_timeout for a command that fetches its package, such as npx or uvx",
     .details = "A child that is ended during a download begins it anew. Not for commands that are "
                "told to fetch nothing (`--offline`), nor in a sandbox without network."},
    {.key = "idle_timeout",
     .type =
         Time{&PoolConfig::idle_timeout, {std::chrono::milliseconds(1), std::chrono::hours(24)}},
     .flag = {"--idle-timeout"},
     .help = "idle time after which a child is ended, if more than min run",
     .details = "An MCP session over HTTP that has no open stream and sends nothing is parked "
                "after the same time; with `revive: false` it ends."},
    {.key = "min_hold",
     .type = Time{&PoolConfig::min_hold, {std::chrono::milliseconds(0), std::chrono::hours(1)}},
     .help = "idle time before an MCP session gives its child to another session",
     .details = "The other session waits this long at most, if any session is idle. Sessions that "
                "take turns on too few children lose the servers' memory with each turn; the log "
                "and `/debug/state` say by how many `max` is too small."},
    {.key = "grace",
     .type = Time{&PoolConfig::grace, {std::chrono::milliseconds(1), std::chrono::minutes(1)}},
     .flag = {"--grace"},
     .help = "time for a child to end by itself before it gets a signal",
     .details = "First its input ends, after this time SIGTERM follows, and after the same time "
                "again SIGKILL."},
    {.key = "backoff_min",
     .type = Time{&PoolConfig::backoff_min, {std::chrono::milliseconds(1), std::chrono::hours(1)}},
     .help = "pause before a child that failed again is replaced",
     .details = "Doubled with each further failure in a row, with jitter. Not greater than "
                "`backoff_max`."},
    {.key = "backoff_max",
     .type = Time{&PoolConfig::backoff_max, {std::chrono::milliseconds(1), std::chrono::hours(1)}},
     .help = "longest pause before a failed child is replaced"},
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

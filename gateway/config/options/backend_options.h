// The keys of backends.<name>: one stdio server, its protocol and its surroundings.
#pragma once

#include <array>
#include <string>

#include "gateway/config/options/client_options.h"
#include "gateway/config/options/option.h"
#include "gateway/config/options/option_rules.h"
#include "gateway/config/options/pool_options.h"

namespace stdgate::config {

// The keys of backends.<name>.sandbox, and the words that stand for some of them.
inline constexpr auto kFilesystemOptions = std::to_array<Option<FilesystemConfig>>({
    {.key = "default_read",
     .type = Switch{&FilesystemConfig::default_read},
     .help = "let the child read every file that its user may read",
     .details =
         "With `false` the child reads only the [system's](children.md#what-a-sandbox-holds) "
         "files, the files beneath `cwd`, and the paths in `read` and `write`.",
     .default_words = "true, with `read` false"},
    {.key = "read",
     .type = Paths{&FilesystemConfig::read, {0, kMaxSandboxPaths}},
     .help = "directories and files that may be read and executed",
     .details = "Relative ones are relative to `cwd`."},
    {.key = "write",
     .type = Paths{&FilesystemConfig::write, {0, kMaxSandboxPaths}},
     .help = "directories and files that may be read, written, created and deleted",
     .details = "Relative ones are relative to `cwd`.",
     .default_words = "none"},
});

template <>
struct OptionsOf<FilesystemConfig> {
  static constexpr std::span<const Option<FilesystemConfig>> kRows = kFilesystemOptions;
  static constexpr std::string_view kTitle = "Files of a sandbox";
};

inline constexpr auto kNetworkOptions = std::to_array<Option<NetworkConfig>>({
    {.key = "connect",
     .type = list_of<&NetworkConfig::connect>(kPort, {0, kMaxSandboxPorts}),
     .help = "TCP ports that the child may connect to",
     .default_words = "none"},
    {.key = "bind",
     .type = list_of<&NetworkConfig::bind>(kPort, {0, kMaxSandboxPorts}),
     .help = "TCP ports that the child may listen on",
     .default_words = "none"},
    {.key = "unix",
     .type = Switch{&NetworkConfig::unix_sockets},
     .help = "the child may connect to Unix sockets, where a container engine or a database may "
             "listen"},
});

template <>
struct OptionsOf<NetworkConfig> {
  static constexpr std::span<const Option<NetworkConfig>> kRows = kNetworkOptions;
  static constexpr std::string_view kTitle = "Network of a sandbox";
};

inline constexpr auto kSandboxOptions = std::to_array<Option<SandboxConfig>>({
    {.key = "filesystem",
     .type = Part{&SandboxConfig::filesystem},
     .help = "files that the child may reach"},
    {.key = "network",
     .type = WordOrPart<SandboxConfig>{&SandboxConfig::network},
     .help = "sockets that the child may have",
     .details = "`none`: no sockets. `outbound`: TCP to any port, and listening nowhere. `any`: as "
                "without a sandbox."},
    {.key = "required",
     .type = Switch{&SandboxConfig::required},
     .help = "do not start the child if the kernel cannot enforce the whole sandbox",
     .details = "With `false` it starts with as much of it as the kernel can enforce; log, metrics "
                "and `/debug/state` say so."},
});

template <>
struct OptionsOf<SandboxConfig> {
  static constexpr std::span<const Option<SandboxConfig>> kRows = kSandboxOptions;
  static constexpr std::string_view kTitle = "Sandbox";
};

// The keys of backends.<name>.rlimits: setrlimit(2) for a child.
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

// The keys of backends.<name>.check: what is held against the schemas of tools.
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

inline constexpr DurationRange kCallTime{std::chrono::milliseconds(1), std::chrono::hours(24)};

// How modern clients are served, as a remark beside `bridge`; empty where no child is a legacy one.
std::string remark_on_bridge(const BackendConfig& backend);

inline constexpr auto kBackendOptions = std::to_array<Option<BackendConfig>>({
    {.key = "command",
     .type = Command{&BackendConfig::command},
     .help = "the program and its arguments, a list; no shell splits it",
     .details = "`\"stdgate\"` as the program is this very binary.",
     .missing = "a backend needs a command to start"},
    {.key = "protocol",
     .type = Word{&BackendConfig::protocol},
     .flag = {"--protocol"},
     .help = "what the child speaks",
     .details = "With `mcp` the gateway does the handshake for calls without a session."},
    {.key = "framing",
     .type = Word{&BackendConfig::framing},
     .flag = {"--framing"},
     .help = "how messages are separated on stdin and stdout",
     .default_words = "newline; lsp: content-length"},
    {.key = "envelope",
     .type = Word{&BackendConfig::envelope},
     .flag = {"--envelope"},
     .help = "whether messages must have the member jsonrpc (strict) or may omit it (lenient)",
     .details = "With `lenient` the member is added for peers that write it, and left out for "
                "those that omit it. See [Protocols](protocols.md#peers-that-omit-the-version)."},
    {.key = "isolation",
     .type = Word{&BackendConfig::isolation},
     .flag = {"--isolation"},
     .help = "which clients share children: all of them, the sessions and calls of one principal, "
             "or none (each session has its own)",
     .details = "`protocol: lsp` and `acp` have `session` only.",
     .default_words = "session; jsonrpc: shared; revision modern: shared"},
    {.key = "linger",
     .type = Time{&BackendConfig::linger, {Duration::zero(), std::chrono::hours(24)}},
     .flag = {"--linger"},
     .help = "how long an agent outlives its client's connection, so that the client can come back "
             "to it",
     .details = "`protocol: acp` only. With `0` it ends with the connection. See "
                "[Agents](agents.md#coming-back).",
     .default_words = "acp: 30m",
     .applies = [](const BackendConfig& backend) { return backend.protocol == Protocol::acp; }},
    {.key = "revive",
     .type = Switch{&BackendConfig::revive},
     .help = "keep MCP sessions whose child has ended, and give them another with the next request",
     .details = "`protocol: mcp` only. With `false` such a session is over (404).",
     .default_words = "mcp: true",
     .applies = [](const BackendConfig& backend) { return backend.protocol == Protocol::mcp; }},
    {.key = "bridge",
     .type = Word{&BackendConfig::bridge},
     .flag = {"--bridge"},
     .help = "whether a legacy child serves clients of MCP 2026-07-28, which have no session; "
             "auto: yes, unless isolation is session",
     .details =
         "`protocol: mcp` only. A refused client is told so, and opens a session if it knows an "
         "older revision too. With `true` and `isolation: session` each call of an anonymous "
         "client has a fresh process. See [Protocols](protocols.md#clients-without-a-session).",
     .default_words = "mcp: auto",
     .applies = [](const BackendConfig& backend) { return backend.protocol == Protocol::mcp; },
     .remark = remark_on_bridge},
    {.key = "share_modern",
     .type = Switch{&BackendConfig::share_modern},
     .help = "let sessions share the children of a server that speaks only the modern era of MCP, "
             "which has no sessions",
     .details = "`protocol: mcp` only. With `isolation: session` such a server refuses the first "
                "session. stdgate then finds out the server's era, and treats the backend like one "
                "with `isolation: shared` until the server speaks the legacy era again. With "
                "`false` clients get the server's refusal.",
     .default_words = "mcp: true",
     .applies = [](const BackendConfig& backend) { return backend.protocol == Protocol::mcp; }},
    {.key = "cache",
     .type = Switch{&BackendConfig::cache},
     .help = "reuse a modern child's answers to lists and similar requests, for as long as the "
             "child allows",
     .details = "`protocol: mcp` only. A private answer is kept for its principal alone.",
     .default_words = "mcp: true",
     .applies = [](const BackendConfig& backend) { return backend.protocol == Protocol::mcp; }},
    {.key = "revision",
     .type = Word{&BackendConfig::revision},
     .flag = {"--revision"},
     .help = "which era of MCP the child speaks: legacy is up to 2025-11-25, modern is from "
             "2026-07-28 on, auto asks the child",
     .details = "`protocol: mcp` only. With `auto` the first child that is started for calls "
                "without a session is sent `server/discover`. Where sessions share children, the "
                "server counts as `legacy` unless it refuses `initialize`.",
     .default_words = "mcp: auto",
     .applies = [](const BackendConfig& backend) { return backend.protocol == Protocol::mcp; }},
    {.key = "default",
     .type = Switch{&BackendConfig::is_default},
     .help = "also served at the root: /rpc, /mcp and so on",
     .details = "At most one backend can be the default.",
     .default_words = "true for an only backend, else false"},
    {.key = "required",
     .type = Switch{&BackendConfig::is_required},
     .help = "whether /readyz answers 503 while this backend is down",
     .details =
         "While no required backend is down, it answers 200 as long as one backend can be used.",
     .default_words = "true for an only backend, else false"},
    {.key = "env",
     .type = Variables{&BackendConfig::env, &BackendConfig::env_sources, kVariableName},
     .flag = {.name = "--env",
              .placeholder = "NAME[=VALUE]",
              .help = "set in the child's environment; NAME alone: with the value that it has "
                      "here. Everybody on this machine can read a VALUE in ps: for secrets use "
                      "NAME alone or --env-file"},
     .help = "set in the child's environment",
     .details = "`{ file: PATH }` stands for the content of the file, without a line feed at its "
                "end. Takes precedence over `env_file`. With `isolation: principal` the texts and "
                "paths may name the principal; see [Rules](rules.md#a-pool-for-each-principal)."},
    {.key = "env_file",
     .type = EnvFiles{&BackendConfig::env_files, &BackendConfig::env_from_files, kMaxEnvFiles},
     .flag = {.name = "--env-file",
              .placeholder = "FILE",
              .help = "lines NAME=VALUE to set in the child's environment"},
     .help = "files of NAME=VALUE lines, to set in the child's environment",
     .details =
         "If two files set a name, the later one counts. Takes precedence over `env_inherit`."},
    {.key = "env_inherit",
     .type = Inherited{&BackendConfig::env_inherit},
     .flag = {.name = "--env-inherit",
              .placeholder = "NAME",
              .help = "pass NAME on too, if it is set here; PREFIX* for all that begin so; a "
                      "first '!': without the usual ones"},
     .help = "variables passed on to the child, beside the default ones",
     .details = "Names, or prefixes that end in `*`. With `\"!\"` as the first entry the default "
                "ones are left out. Other variables reach a child by `env` and `env_file` only."},
    {.key = "cwd",
     .type = Text{&BackendConfig::cwd, EmptyText::left_out, TextKind::path},
     .flag = {.name = "--cwd",
              .placeholder = "DIRECTORY",
              .help = "where the child runs, instead of here"},
     .help = "working directory of the child, instead of stdgate's"},
    {.key = "user",
     .type = Text{&BackendConfig::user},
     .help = "user that the child runs as",
     .default_words = "stdgate's"},
    {.key = "rlimits",
     .type = Part{&BackendConfig::rlimits},
     .help = "resource limits of each child"},
    {.key = "sandbox",
     .type = WordOrPart<BackendConfig>{&BackendConfig::sandbox},
     .help = "files and network that each child may use; system calls that could bypass this are "
             "blocked",
     .details = "`strict`: the child has no network, may write no file, and may read only the "
                "system's files and `cwd`. See [Children](children.md#sandbox)."},
    {.key = "timeout",
     .type = Time{&BackendConfig::timeout, kCallTime},
     .flag = {"--timeout"},
     .help =
         "longest time of a call without a sign of life from its child; time in the queue counts",
     .details = "Progress and other events of the call start the time again. So does any output of "
                "a child that serves one session. The time stops while the child waits for an "
                "answer from the client, for `timeouts.input` at most. See "
                "[Protocols](protocols.md#how-long-a-call-may-take).",
     .default_words = "1m; acp: 10m"},
    {.key = "max_time",
     .type = Time{&BackendConfig::max_time, kCallTime},
     .flag = {"--max-time"},
     .help = "time for a whole call, whatever its child reports or asks",
     .details = "Not less than `timeout`, which raises the default where it is greater."},
    {.key = "cancel_method",
     .type = Text{&BackendConfig::cancel_method, EmptyText::printed},
     .flag = {.name = "--cancel-method", .placeholder = "METHOD"},
     .help = "notification that tells a jsonrpc child of a cancelled call; empty: none",
     .details = "`protocol: jsonrpc` only: the others have their own.",
     .default_words = "jsonrpc: $/cancelRequest",
     .applies = [](const BackendConfig& backend) { return backend.protocol == Protocol::jsonrpc; }},
    {.key = "expose_fault_details",
     .type = Switch{&BackendConfig::expose_fault_details},
     .flag = {.name = "--expose-fault-details"},
     .help = "show clients the cause of faults",
     .details = "`error.data` then contains paths, messages of parsers and similar details. The "
                "log contains them in any case."},
    {.key = "methods",
     .type = list_of<&BackendConfig::methods>(kPattern, {1, kMaxPatterns}),
     .help = "methods that clients may use, or patterns of them; other methods do not exist for "
             "clients",
     .details = "Messages that keep a session alive, like `initialize` and `ping`, always pass. "
                "See [Rules](rules.md).",
     .default_words = "all",
     .applies = [](const BackendConfig& backend) { return !backend.methods.empty(); }},
    {.key = "rules",
     .type = Items{&BackendConfig::rules, {1, kMaxRules}},
     .help = "which client may use what; the first rule that fits decides, and what no rule allows "
             "does not exist for the client",
     .details = "See [Rules](rules.md).",
     .default_words = "everybody may use everything"},
    {.key = "calls_per_principal",
     .type = Part{&BackendConfig::calls_per_principal},
     .help = "limits of each client: each principal, and each address of anonymous clients"},
    {.key = "calls",
     .type = Part{&BackendConfig::calls},
     .help = "limits of all clients of this backend together"},
    {.key = "check",
     .type = Part{&BackendConfig::check},
     .help = "check arguments and results against schemas: of tools, from the lists of their "
             "server, or of methods, from the file in schema",
     .details =
         "For `protocol: mcp`, or with `schema`. See [Checks](checks.md#arguments-and-results)."},
    {.key = "schema",
     .type = Text{&BackendConfig::schema, EmptyText::left_out, TextKind::path},
     .help = "file with an OpenRPC document that describes params and results of the methods; "
             "rpc.discover returns it",
     .details = "`protocol: jsonrpc` and `lsp` only. Read at the start and at a reload. See "
                "[Checks](checks.md#openrpc).",
     .default_words = "none"},
    {.key = "pins",
     .type = Word{&BackendConfig::pins},
     .help = "what happens to tools, prompts and templates that are new or changed since they were "
             "pinned: enforce hides them from clients, warn logs them",
     .details = "`protocol: mcp` only. `stdgate pin` pins. See [Checks](checks.md#pinned-tools).",
     .applies = [](const BackendConfig& backend) { return backend.pins != Pins::off; }},
    {.key = "lock",
     .type = Text{&BackendConfig::lock, EmptyText::left_out, TextKind::path},
     .help = "the lock file: pinned definitions, as stdgate pin writes them",
     .details = "Read at the start and at a reload. If the file does not exist, nothing is pinned.",
     .default_words = "stdgate.lock"},
    {.key = "pool",
     .type = Part{&BackendConfig::pool},
     .help = "how many children there are, and how calls wait for them"},
});

template <>
struct OptionsOf<BackendConfig> {
  static constexpr std::span<const Option<BackendConfig>> kRows = kBackendOptions;
  static constexpr std::string_view kTitle = "Backend";
};

}  // namespace stdgate::config

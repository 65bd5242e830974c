// The keys at the top of the configuration, and with them all others.
#pragma once

#include <array>

#include "gateway/config/options/auth_options.h"
#include "gateway/config/options/backend_options.h"
#include "gateway/config/options/option.h"
#include "gateway/config/options/option_rules.h"
#include "gateway/config/options/server_options.h"

namespace stdgate::config {

// The keys of `limits`: limits on sizes, counts and memory.

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

// The keys of `tls`, at the top and of a listener.
inline constexpr auto kTlsOptions = std::to_array<Option<TlsConfig>>({
    {.key = "certificate",
     .type = Paths{&TlsConfig::certificate, {1, kMaxCertificates}},
     .flag = {.name = "--tls-certificate",
              .placeholder = "FILE",
              .help = "clients speak TLS; the certificate with its chain, in PEM"},
     .help = "the certificate, with its chain behind it, in PEM",
     .details = "Of several certificates, each client gets the one with the name that it asks for "
                "(SNI), or the first. Files that change on disk are read again.",
     .missing = "name the file of the certificate"},
    {.key = "key",
     .type = Paths{&TlsConfig::key, {1, kMaxCertificates}},
     .flag = {.name = "--tls-key", .placeholder = "FILE", .help = "its private key, in PEM"},
     .help = "the private key of each certificate, in the same order, in PEM",
     .missing = "name the file of the certificate's private key"},
    {.key = "client_ca",
     .type = Text{&TlsConfig::client_ca, EmptyText::left_out, TextKind::path},
     .flag = {.name = "--client-ca",
              .placeholder = "FILE",
              .help = "clients need a certificate of one of these authorities, in PEM"},
     .help = "file with the authorities whose certificates are accepted from clients, in PEM"},
    {.key = "client_certificate",
     .type = Word{&TlsConfig::client_certificate},
     .help = "whether a client needs a certificate",
     .details = "With `optional` it needs none, but a bad one is refused.",
     .default_words = "`require` with `client_ca`, otherwise `none`",
     .applies = [](const TlsConfig& tls) { return !tls.client_ca.empty(); }},
    {.key = "crl",
     .type = Text{&TlsConfig::crl, EmptyText::left_out, TextKind::path},
     .help = "file with the revocation lists of all authorities in client_ca, in PEM"},
});

template <>
struct OptionsOf<TlsConfig> {
  static constexpr std::span<const Option<TlsConfig>> kRows = kTlsOptions;
  static constexpr std::string_view kTitle = "TLS";
};

// The keys of `sessions`: ids of MCP sessions.
inline constexpr auto kSessionsOptions = std::to_array<Option<SessionsConfig>>({
    {.key = "key_file",
     .type = KeyFile{&SessionsConfig::key_file, &SessionsConfig::keys},
     .flag = {.name = "--session-key-file", .placeholder = "FILE"},
     .help = "file with the keys that seal session ids, so that the ids stay valid after a restart",
     .details =
         "Lines of 32 bytes as hex or base64, as `openssl rand -hex 32` writes them; `#` begins a "
         "comment. The first key seals new ids; ids of every key are accepted. Every replica needs "
         "the same file. Without a file the key is random, and ids end with the process."},
    {.key = "ttl",
     .type = Time{&SessionsConfig::ttl, {std::chrono::seconds(1), std::chrono::hours(24 * 365)}},
     .flag = {.name = "--session-ttl", .placeholder = "TIME"},
     .help = "time from a session's beginning until its id expires"},
});

template <>
struct OptionsOf<SessionsConfig> {
  static constexpr std::span<const Option<SessionsConfig>> kRows = kSessionsOptions;
  static constexpr std::string_view kTitle = "Sessions";
};

// The keys of `log`.
inline constexpr auto kLogOptions = std::to_array<Option<LogConfig>>({
    {.key = "level",
     .type = Word{&LogConfig::level},
     .flag = {"--log-level"},
     .help = "lowest level that is logged"},
    {.key = "format",
     .type = Word{&LogConfig::format},
     .flag = {"--log-format"},
     .help = "how lines are written"},
    {.key = "calls",
     .type = Switch{&LogConfig::calls},
     .flag = {.name = "--no-call-log", .help = "no log line per call"},
     .help = "one line per call"},
    {.key = "payloads",
     .type = Switch{&LogConfig::payloads},
     .help = "log the messages themselves"},
    {.key = "payload_limit",
     .type = Size{&LogConfig::payload_limit, {1, 16 * kMiB}},
     .help = "bytes shown of each message"},
    {.key = "redact",
     .type = list_of<&LogConfig::redact>(),
     .help = "names of members whose values are hidden in logged messages",
     .details = "Upper and lower case count alike, and JSON within a string is searched too."},
});

template <>
struct OptionsOf<LogConfig> {
  static constexpr std::span<const Option<LogConfig>> kRows = kLogOptions;
  static constexpr std::string_view kTitle = "Log";
};

// The keys of `audit`: the record of who did what.
inline constexpr auto kAuditOptions = std::to_array<Option<AuditConfig>>({
    {.key = "file",
     .type = Text{&AuditConfig::file, EmptyText::left_out, TextKind::path},
     .flag = {.name = "--audit-file", .placeholder = "FILE"},
     .help = "file of the record of who did what; without it nothing is recorded",
     .details = "One JSON object a line. SIGHUP opens it again, after a log rotation. See "
                "[Audit](audit.md).",
     .missing = "name the file of the audit"},
    {.key = "calls",
     .type = list_of<&AuditConfig::calls>(kPattern, {0, kMaxPatterns}),
     .help = "methods whose calls are recorded, as tools/call or resources/*",
     .details = "Refusals and sessions are always recorded. A call of such a method is refused if "
                "its line cannot be written."},
    {.key = "arguments",
     .type = Word{&AuditConfig::arguments},
     .help = "how a call's params are recorded",
     .details = "`digest`: their SHA-256. `full`: their text. `redacted`: the text, where the "
                "values that `log.redact` names are hidden."},
    {.key = "durable",
     .type = Switch{&AuditConfig::durable},
     .help = "answer a recorded call only when its line is on the disk",
     .details = "Each recorded call then waits for the disk."},
});

template <>
struct OptionsOf<AuditConfig> {
  static constexpr std::span<const Option<AuditConfig>> kRows = kAuditOptions;
  static constexpr std::string_view kTitle = "Audit";
};

// The keys of `metrics`.
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

// The keys of `traces`: spans of calls, and where they are sent.
inline constexpr auto kTracesOptions = std::to_array<Option<TracesConfig>>({
    {.key = "endpoint",
     .type = Text{&TracesConfig::endpoint},
     .flag = {.name = "--traces-endpoint", .placeholder = "URL"},
     .help = "collector for spans, by OTLP over HTTP with JSON; without it nothing is recorded",
     .details =
         "The collector's URL; a URL without a path gets `/v1/traces`. See [Traces](traces.md).",
     .missing = "name the URL of the collector"},
    {.key = "sample",
     .type = Ratio{&TracesConfig::sample},
     .help = "fraction that is recorded of the calls that come without a client's trace",
     .details = "If a call comes with a trace, the client's decision holds."},
    {.key = "service_name",
     .type = Text{&TracesConfig::service_name},
     .help = "name of this service in spans"},
    {.key = "headers",
     .type = Variables{&TracesConfig::headers, &TracesConfig::header_sources, kFieldName,
                       Shown::hidden},
     .help = "header fields sent to the collector, such as a credential",
     .details = "Like `{ Authorization: { file: token } }`. Their values are never printed."},
    {.key = "ca",
     .type = FileText{&TracesConfig::ca_file, &TracesConfig::certificates},
     .help = "a file with the certificate authorities to trust for the collector, in PEM",
     .default_words = "those of the system"},
    {.key = "queue",
     .type = Count{&TracesConfig::queue, {kMinSpanQueue, kMaxSpanQueue}},
     .help = "spans that wait to be sent, at most; a recorded call has three",
     .details = "Further ones are dropped and counted."},
});

template <>
struct OptionsOf<TracesConfig> {
  static constexpr std::span<const Option<TracesConfig>> kRows = kTracesOptions;
  static constexpr std::string_view kTitle = "Traces";
};

// The keys at the top. The tables of the sections follow from them (Part, NamedItems, Backends).
inline constexpr auto kGatewayOptions = std::to_array<Option<Config>>({
    {.key = "listen",
     .type = ListenAddresses{&Config::listen, {1, kMaxListeners}},
     .flag = {.name = "--listen", .placeholder = "ADDRESS"},
     .help = "where clients connect: host:port, [v6]:port or unix:/path",
     .details =
         "`\":8080\"` is every IPv4 interface. With port 0 the kernel chooses one. An address with "
         "TLS of its own is a map, `{ address: …, tls: { … } }`, with the keys of [`tls`](#tls). "
         "`anonymous: true` in the map lets its clients call without a credential."},
    {.key = "admin",
     .type = ListenAddress{&Config::admin, "off"},
     .flag = {.name = "--admin", .placeholder = "ADDRESS"},
     .help = "where metrics and health are served, or off",
     .details =
         "With `\"off\"` nothing is counted. With TLS it is a map, as in `listen`. `roles` in that "
         "map names the roles that may read more than metrics and health from other machines."},
    {.key = "anonymous",
     .type = Switch{&Config::anonymous},
     .flag = {.name = "--anonymous"},
     .help = "clients of the addresses in listen may call without a credential"},
    {.key = "allowed_origins",
     .type = list_of<&Config::allowed_origins>(kWebOrigin),
     .flag = {.name = "--allowed-origins",
              .placeholder = "ORIGIN",
              .help = "whose pages may call, like https://app.example.com, or *"},
     .help = "origins of web pages that may call, in addition to loopback origins",
     .details = "Like `https://app.example.com`, as browsers send them; `\"*\"` for any."},
    {.key = "allowed_hosts",
     .type = list_of<&Config::allowed_hosts>(kHostName),
     .flag = {.name = "--allowed-hosts",
              .placeholder = "HOST",
              .help = "name that clients may use beside the listener's address, or *"},
     .help = "host names that the Host header of a request may have, in addition to the listener's "
             "address",
     .details = "`\"*\"` for any."},
    {.key = "trusted_proxies",
     .type = list_of<&Config::trusted_proxies>(kProxySource, {0, kMaxAddressBlocks}),
     .help = "addresses, or blocks of addresses, of the proxies in front of stdgate",
     .details = "Like `10.1.0.0/16`, or `unix` for all Unix sockets in `listen`. `Forwarded` and "
                "`X-Forwarded-For` say where a client comes from; they are believed from these "
                "proxies only."},
    {.key = "rpc_stream",
     .type = Switch{&Config::rpc_stream},
     .flag = {.name = "--rpc-stream"},
     .help = "clients of other machines may GET /rpc/stream and GET /sse without a special header"},
    {.key = "watch",
     .type = Switch{&Config::watch},
     .flag = {.name = "--watch"},
     .help = "read the configuration again when its file changes",
     .details = "The files of keys and variables that the configuration names are watched too, and "
                "so is a link that is swapped, as in a ConfigMap of Kubernetes. A change has the "
                "same effect as [SIGHUP](operations.md#reloading)."},
    {.key = "replica",
     .type = Text{&Config::replica},
     .flag = {.name = "--replica", .placeholder = "NAME"},
     .help = "name of this process among its replicas; ids of MCP sessions begin with it",
     .details = "A load balancer sends a session's requests to the replica that its id names. 1 to "
                "63 letters, digits and hyphens, as `${HOSTNAME}` is in a pod."},
    {.key = "state_dir",
     .type = Text{&Config::state_dir},
     .flag = {.name = "--state-dir", .placeholder = "DIR"},
     .help = "directory that keeps the remembered answers of sleeping servers across restarts",
     .details = "The directory is created with mode 0700 if it does not exist, and refused if "
                "other users may read it or write to it. Lost or damaged content is learnt again "
                "from the servers. See [Servers that sleep](children.md#servers-that-sleep)."},
    {.key = "auth", .type = Part{&Config::auth}, .help = "who may call"},
    {.key = "roles",
     .type = NamedItems{&Config::roles, kRole, kMaxRoles},
     .help = "roles that include others; a role that includes none need not be here",
     .details = "See [Rules](rules.md)."},
    {.key = "limits", .type = Part{&Config::limits}, .help = "limits on sizes, counts and memory"},
    {.key = "tls",
     .type = Part{&Config::tls},
     .help = "TLS of the addresses in listen that have no tls of their own, except Unix sockets"},
    {.key = "backends",
     .type = Backends{&Config::backends},
     .help = "the stdio servers by name",
     .details = "A name has 1 to 64 characters out of `a-z`, `0-9`, `_` and `-`. The backend's "
                "paths begin with it, and metrics and logs have it as a label.",
     .missing = "name at least one backend and its command"},
    {.key = "servers",
     .type = NamedItems{&Config::servers, kServerName, kMaxServers},
     .help = "virtual servers by name: one endpoint for several backends of MCP",
     .details = "Names have the form of backends' names, and no server has the name of a backend: "
                "both are paths and labels. See [Servers](servers.md).",
     .default_words = "none"},
    {.key = "sessions",
     .type = Part{&Config::sessions},
     .help = "ids of MCP sessions, which can outlive the gateway"},
    {.key = "timeouts",
     .type = Part{&Config::timeouts},
     .help = "how long the gateway waits for clients"},
    {.key = "log", .type = Part{&Config::log}, .help = "lines on stderr"},
    {.key = "audit", .type = Part{&Config::audit}, .help = "the record of who did what"},
    {.key = "metrics", .type = Part{&Config::metrics}, .help = "metrics of the admin listener"},
    {.key = "calls",
     .type = Part{&Config::calls},
     .help = "limits of all clients of all backends together"},
    {.key = "traces", .type = Part{&Config::traces}, .help = "spans of calls, sent to a collector"},
});

template <>
struct OptionsOf<Config> {
  static constexpr std::span<const Option<Config>> kRows = kGatewayOptions;
  static constexpr std::string_view kTitle = "Listening";
};

}  // namespace stdgate::config

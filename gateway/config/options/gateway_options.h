// The keys at the top of the configuration, and with them all others.
#pragma once

#include <array>

#include "gateway/config/options/audit_options.h"
#include "gateway/config/options/auth_options.h"
#include "gateway/config/options/backend_options.h"
#include "gateway/config/options/limits_options.h"
#include "gateway/config/options/log_options.h"
#include "gateway/config/options/metrics_options.h"
#include "gateway/config/options/option.h"
#include "gateway/config/options/server_options.h"
#include "gateway/config/options/sessions_options.h"
#include "gateway/config/options/text_rules.h"
#include "gateway/config/options/timeouts_options.h"
#include "gateway/config/options/tls_options.h"
#include "gateway/config/options/traces_options.h"

namespace stdgate::config {

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

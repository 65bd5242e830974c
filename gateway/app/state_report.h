// The JSON of /debug/state: the present state of a gateway, for operators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/app/client_snippets.h"
#include "gateway/app/reloads.h"
#include "gateway/app/state_counts.h"
#include "gateway/backend/upstream.h"
#include "gateway/base/time.h"
#include "gateway/policy/accounts.h"
#include "gateway/pool/child_link.h"

namespace stdgate::app {

// An address that the gateway listens on.
struct ListenerFacts {
  std::string url;
  bool is_admin = false;
};

// The certificates of one listener.
struct TlsFacts {
  struct Certificate {
    std::string_view file;
    int64_t not_after = 0;  // seconds since the epoch
  };
  std::string_view listener;            // as configured
  std::string_view client_certificate;  // none, optional, require
  std::vector<Certificate> certificates;
};

// An issuer of tokens, and the state of its keys.
struct IssuerFacts {
  std::string_view issuer;
  std::string_view source;  // source of its keys: file, url, discovery
  size_t keys = 0;
  std::optional<Duration> age;  // of fetched keys; nothing: from a file, or none have come
  std::string problem;          // of the last fetch; empty: none
};

// The memory of the process, and its limit.
struct MemoryFacts {
  uint64_t resident = 0;                       // bytes
  uint64_t limit = 0;                          // limits.memory
  const policy::Accounts* accounts = nullptr;  // null: omitted
};

// What the report says besides the backends. Filled by the worker.
struct GatewayFacts {
  std::string_view version;
  Duration uptime{0};
  size_t connections = 0;
  bool draining = false;
  pool::Confinement confinement;
  std::vector<ListenerFacts> listeners = {};
  std::vector<TlsFacts> tls = {};
  std::vector<IssuerFacts> issuers = {};
  size_t handshakes = 0;  // of TLS, under way
  MemoryFacts memory = {};
  const ReloadFacts* reloads = nullptr;            // null: omitted
  const StateCounts* counts = nullptr;             // null: omitted
  const std::vector<Snippet>* snippets = nullptr;  // null: omitted
  std::string_view configuration = {};             // as YAML, without secrets; empty: omitted
};

// {"version":…,"uptime_seconds":…,"draining":…,"connections":…,"listeners":[{"url":…,"admin":…}],
//  "configuration":{"reloads":…,"failed_reloads":…,"needs_restart":[…]},"tls":[{"listener":…,…}],
//  "handshakes":…,"memory":{"resident_bytes":…,"held_bytes":…,"largest_clients":[…],…},"issuers":[{"issuer":…,"keys":…,…}],"confinement":{…},"backends":[{"name":…,"ready":…,
//  "queued":…,"in_flight":…,"breaker_open":…,"children":[{"pid":…,"state":…,"in_flight":…,…}],
//  "exits":[{"reason":…,"stderr":[…],…}],"outcomes":{…},"durations":{"total":[…],…},…}],
//  "refusals":{…},"bucket_bounds_seconds":[…],"snippets":[{"client":…,"text":…}],
//  "effective_configuration":"…"}
std::string state_report(const GatewayFacts& facts, const backend::Upstreams& backends);

}  // namespace stdgate::app

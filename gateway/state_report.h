// The JSON of /debug/state: what an operator wants to see of a running gateway at one glance.
#pragma once

#include <cstddef>
#include <string>

#include "gateway/base/time.h"
#include "gateway/pool/backend_set.h"

namespace stdgate {

struct GatewayFacts {
  std::string_view version;
  Duration uptime{0};
  size_t connections = 0;
  bool draining = false;
};

// {"version":…,"uptime_seconds":…,"draining":…,"connections":…,"backends":[{"name":…,"ready":…,
//  "queued":…,"in_flight":…,"breaker_open":…,"children":[{"pid":…,"state":…,"in_flight":…,…}]}]}
std::string state_report(const GatewayFacts& facts, const BackendSet& backends);

}  // namespace stdgate

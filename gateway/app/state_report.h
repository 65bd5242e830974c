// The JSON of /debug/state: the present state of a gateway, for operators.
#pragma once

#include <cstddef>
#include <string>

#include "gateway/backend/upstreams.h"
#include "gateway/base/time.h"
#include "gateway/pool/confinement.h"

namespace stdgate::app {

struct GatewayFacts {
  std::string_view version;
  Duration uptime{0};
  size_t connections = 0;
  bool draining = false;
  pool::Confinement confinement;
};

// {"version":…,"uptime_seconds":…,"draining":…,"connections":…,"confinement":{…},"backends":[{"name":…,"ready":…,
//  "queued":…,"in_flight":…,"breaker_open":…,"children":[{"pid":…,"state":…,"in_flight":…,…}]}]}
std::string state_report(const GatewayFacts& facts, const backend::Upstreams& backends);

}  // namespace stdgate::app

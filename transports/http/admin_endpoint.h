// The admin endpoints: /healthz, /readyz, /metrics, /debug/state. GET and HEAD only.
#pragma once

#include <string>
#include <vector>

#include "transports/http/router.h"

namespace stdgate::http {

struct BackendReadiness {
  std::string name;
  bool ready = false;
  std::string reason;  // why not
};

struct Readiness {
  bool ready = false;
  std::string reason;  // why not, when it is not a backend's doing
  std::vector<BackendReadiness> backends;
};

// What the admin endpoints show. Implemented by the process; outlives the router.
class AdminSource {
 public:
  virtual ~AdminSource() = default;
  virtual std::string metrics_text() = 0;  // the Prometheus text format
  virtual std::string state_json() = 0;
  virtual Readiness readiness() = 0;
};

void add_admin_routes(Router& router, AdminSource& source);

// {"ready":false,"backends":{"name":{"ready":false,"reason":"…"}}}
std::string readiness_json(const Readiness& readiness);

}  // namespace stdgate::http

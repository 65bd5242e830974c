// The admin endpoints: /, /healthz, /readyz, /readyz/NAME, /metrics, /debug/state. GET and HEAD
// only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "transports/http/router.h"

namespace stdgate::http {

// Whether one backend can be used.
struct BackendReadiness {
  std::string name;
  bool ready = false;     // it can be used
  bool required = false;  // the gateway is not ready without it
  std::string_view state;
  std::string reason;  // why it cannot be used, or why that is in doubt
};

// The answer of /readyz.
struct Readiness {
  bool ready = false;
  std::string reason;  // why not
  std::vector<BackendReadiness> backends;
};

// `problem`: why no backend can be used; empty: they can, as far as they are ready. The gateway is
// ready while one of them is, and every required one.
Readiness judge_readiness(std::string problem, std::vector<BackendReadiness> backends);

enum class ScrapeFormat : uint8_t {
  prometheus,    // text format 0.0.4
  open_metrics,  // OpenMetrics 1.0.0
};
inline constexpr size_t kScrapeFormatCount = 2;

// The source of what the admin endpoints show. Implemented by the process; outlives the router.
class AdminSource {
 public:
  virtual ~AdminSource() = default;
  // `done` follows with the text, from the outermost level of the loop; or never, when the process
  // ends before.
  virtual void scrape(ScrapeFormat format, std::function<void(const std::string&)> done) = 0;
  virtual std::string state_json() = 0;
  virtual Readiness readiness() = 0;
};

void add_admin_routes(Router& router, AdminSource& source);

// A page that needs nothing from elsewhere but what its policy names.
struct HtmlPage {
  std::string_view text;
  std::string fields;  // whole lines, as in Response: its policy
};

// Serves it at "/" to who asks for HTML; to others a list of what there is, below `title`.
void add_front_page(Router& router, std::string title, HtmlPage page);

// {"ready":false,"reason":"…","backends":{"name":{"ready":false,"state":"failing","reason":"…"}}}
std::string readiness_json(const Readiness& readiness);

}  // namespace stdgate::http

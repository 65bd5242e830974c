// The admin endpoints: /, /healthz, /readyz, /metrics, /debug/state. GET and HEAD only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
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

enum class ScrapeFormat : uint8_t {
  prometheus,    // text format 0.0.4
  open_metrics,  // OpenMetrics 1.0.0
};
inline constexpr size_t kScrapeFormatCount = 2;

// What the admin endpoints show. Implemented by the process; outlives the router.
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

// {"ready":false,"backends":{"name":{"ready":false,"reason":"…"}}}
std::string readiness_json(const Readiness& readiness);

}  // namespace stdgate::http

#include "transports/http/admin_endpoint.h"

#include <functional>

#include "gateway/rpc/json_string.h"

namespace stdgate {

namespace {

struct Page {
  int status = 200;
  std::string_view content_type;
  std::string text;
};

class PageEndpoint final : public Endpoint {
 public:
  explicit PageEndpoint(std::function<Page()> render) : render_(std::move(render)) {}

  std::optional<HttpError> admit(Exchange& /*exchange*/) override { return std::nullopt; }
  void serve(Exchange& exchange, std::span<char> /*body*/) override {
    const Page page = render_();
    const std::string_view body = page.text;
    exchange.client->respond(
        {.status = page.status, .content_type = page.content_type, .body = {&body, 1}});
  }

 private:
  const std::function<Page()> render_;
};

void append_verdict(std::string& out, bool ready, const std::string& reason) {
  out += ready ? R"("ready":true)" : R"("ready":false)";
  if (reason.empty()) return;
  out += R"(,"reason":)";
  append_json_string(out, reason);
}

}  // namespace

std::string readiness_json(const Readiness& readiness) {
  std::string out = "{";
  append_verdict(out, readiness.ready, readiness.reason);
  out += R"(,"backends":{)";
  for (const BackendReadiness& backend : readiness.backends) {
    if (out.back() != '{') out += ',';
    append_json_string(out, backend.name);
    out += ":{";
    append_verdict(out, backend.ready, backend.reason);
    out += '}';
  }
  out += "}}\n";
  return out;
}

void add_admin_routes(Router& router, AdminSource& source) {
  const auto add = [&router](const char* path, const char* about, std::function<Page()> render) {
    router.add(path, about, std::make_unique<PageEndpoint>(std::move(render)));
  };
  add("/healthz", "whether the process runs", [] {
    return Page{200, "text/plain; charset=utf-8", "ok\n"};
  });
  add("/readyz", "whether calls are taken, and per backend why not", [&source] {
    const Readiness readiness = source.readiness();
    return Page{readiness.ready ? 200 : 503, kJsonType, readiness_json(readiness)};
  });
  add("/metrics", "metrics in the Prometheus text format", [&source] {
    return Page{200, "text/plain; version=0.0.4; charset=utf-8", source.metrics_text()};
  });
  add("/debug/state", "backends, children, calls, connections", [&source] {
    return Page{200, kJsonType, source.state_json()};
  });
}

}  // namespace stdgate

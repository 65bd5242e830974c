#include "transports/http/admin_endpoint.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "gateway/rpc/json_writer.h"
#include "transports/http/media_type.h"
#include "transports/http/scrape_endpoint.h"

namespace stdgate::http {

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
    exchange.respond(
        {.status = page.status, .content_type = page.content_type, .body = {&body, 1}});
  }

 private:
  const std::function<Page()> render_;
};

class FrontPage final : public Endpoint {
 public:
  FrontPage(const Router& router, std::string title, HtmlPage page)
      : router_(router), title_(std::move(title)), page_(std::move(page)) {
    page_.fields += kVary;
  }

  std::optional<HttpError> admit(Exchange& /*exchange*/) override { return std::nullopt; }
  void serve(Exchange& exchange, std::span<char> /*body*/) override {
    if (Acceptance::of(exchange.head).lists_html()) {
      return exchange.respond({.content_type = "text/html; charset=utf-8",
                               .more_fields = page_.fields,
                               .body = {&page_.text, 1}});
    }
    const std::string text = router_.index_text(title_);
    const std::string_view body = text;
    exchange.respond(
        {.content_type = "text/plain; charset=utf-8", .more_fields = kVary, .body = {&body, 1}});
  }

 private:
  static constexpr std::string_view kVary = "Vary: Accept\r\n";

  const Router& router_;  // which owns this
  const std::string title_;
  HtmlPage page_;
};

void write_backend(rpc::JsonWriter& json, const BackendReadiness& backend) {
  json.boolean("ready", backend.ready);
  if (backend.required) json.boolean("required", true);
  json.text("state", backend.state);
  if (!backend.reason.empty()) json.text("reason", backend.reason);
}

std::string_view last_segment(std::string_view path) {
  if (path.ends_with('/')) path.remove_suffix(1);
  return path.substr(path.rfind('/') + 1);
}

// Whether one backend can be used. All are looked at: there are few.
class BackendReadinessEndpoint final : public Endpoint {
 public:
  explicit BackendReadinessEndpoint(AdminSource& source) : source_(source) {}

  std::optional<HttpError> admit(Exchange& /*exchange*/) override { return std::nullopt; }
  void serve(Exchange& exchange, std::span<char> /*body*/) override {
    const Readiness all = source_.readiness();
    const auto found = std::ranges::find(all.backends, last_segment(exchange.head.path()),
                                         &BackendReadiness::name);
    if (found == all.backends.end()) {
      return exchange.fail({404, "no backend has this name; GET /readyz has all"});
    }
    rpc::JsonWriter json(rpc::JsonWriter::Layout::compact);
    json.begin_object();
    write_backend(json, *found);
    json.end_object();
    const std::string text = json.take() + "\n";
    const std::string_view body = text;
    exchange.respond(
        {.status = found->ready ? 200 : 503, .content_type = kJsonType, .body = {&body, 1}});
  }

 private:
  AdminSource& source_;
};

}  // namespace

Readiness judge_readiness(std::string problem, std::vector<BackendReadiness> backends) {
  Readiness readiness{problem.empty(), std::move(problem), std::move(backends)};
  if (!readiness.ready) return readiness;
  for (const BackendReadiness& backend : readiness.backends) {
    if (backend.ready || !backend.required) continue;
    readiness.reason += readiness.reason.empty() ? "required, and down: " : ", ";
    readiness.reason += backend.name;
  }
  if (readiness.reason.empty() &&
      std::ranges::none_of(readiness.backends, &BackendReadiness::ready)) {
    readiness.reason = "every backend is down";
  }
  readiness.ready = readiness.reason.empty();
  return readiness;
}

std::string readiness_json(const Readiness& readiness) {
  rpc::JsonWriter json(rpc::JsonWriter::Layout::compact);
  json.begin_object();
  json.boolean("ready", readiness.ready);
  if (!readiness.reason.empty()) json.text("reason", readiness.reason);
  json.begin_object("backends");
  for (const BackendReadiness& backend : readiness.backends) {
    json.begin_object(backend.name);
    write_backend(json, backend);
    json.end_object();
  }
  json.end_object();
  json.end_object();
  return json.take() + "\n";
}

void add_admin_routes(Router& router, AdminSource& source) {
  const auto add = [&router](const char* path, const char* about, std::function<Page()> render,
                             Audience audience = Audience::everyone) {
    router.add(path, about, std::make_unique<PageEndpoint>(std::move(render)),
               Guards::reading(audience));
  };
  add("/healthz", "whether the process runs", [] {
    return Page{200, "text/plain; charset=utf-8", "ok\n"};
  });
  add("/readyz", "whether calls are taken, and which backends are down, and why", [&source] {
    const Readiness readiness = source.readiness();
    return Page{readiness.ready ? 200 : 503, kJsonType, readiness_json(readiness)};
  });
  router.add("/readyz/", "the same of one backend, by its name",
             std::make_unique<BackendReadinessEndpoint>(source),
             Guards::reading(Audience::everyone));
  router.add("/metrics", "metrics for Prometheus", std::make_unique<ScrapeEndpoint>(source),
             Guards::reading(Audience::everyone));
  add(
      "/debug/state", "backends, children, calls, connections",
      [&source] {
        return Page{200, kJsonType, source.state_json()};
      },
      Audience::operators);
}

void add_front_page(Router& router, std::string title, HtmlPage page) {
  router.add("/", "what goes on, as a page for browsers; else this list",
             std::make_unique<FrontPage>(router, std::move(title), std::move(page)),
             Guards::reading(Audience::operators));
}

}  // namespace stdgate::http

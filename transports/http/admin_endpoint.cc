#include "transports/http/admin_endpoint.h"

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
    exchange.client->respond(
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
      return exchange.client->respond({.content_type = "text/html; charset=utf-8",
                                       .more_fields = page_.fields,
                                       .body = {&page_.text, 1}});
    }
    const std::string text = router_.index_text(title_);
    const std::string_view body = text;
    exchange.client->respond(
        {.content_type = "text/plain; charset=utf-8", .more_fields = kVary, .body = {&body, 1}});
  }

 private:
  static constexpr std::string_view kVary = "Vary: Accept\r\n";

  const Router& router_;  // which owns this
  const std::string title_;
  HtmlPage page_;
};

void write_verdict(rpc::JsonWriter& json, bool ready, const std::string& reason) {
  json.boolean("ready", ready);
  if (!reason.empty()) json.text("reason", reason);
}

}  // namespace

std::string readiness_json(const Readiness& readiness) {
  rpc::JsonWriter json(rpc::JsonWriter::Layout::compact);
  json.begin_object();
  write_verdict(json, readiness.ready, readiness.reason);
  json.begin_object("backends");
  for (const BackendReadiness& backend : readiness.backends) {
    json.begin_object(backend.name);
    write_verdict(json, backend.ready, backend.reason);
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
  add("/readyz", "whether calls are taken, and per backend why not", [&source] {
    const Readiness readiness = source.readiness();
    return Page{readiness.ready ? 200 : 503, kJsonType, readiness_json(readiness)};
  });
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

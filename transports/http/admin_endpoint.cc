#include "transports/http/admin_endpoint.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>
#include <vector>

#include "gateway/rpc/json_text.h"
#include "transports/http/field_value.h"

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
    exchange.respond({.status = page.status, .content_type = page.content_type}, page.text);
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
    exchange.respond({.content_type = "text/plain; charset=utf-8", .more_fields = kVary},
                     router_.index_text(title_));
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
    exchange.respond({.status = found->ready ? 200 : 503, .content_type = kJsonType},
                     json.take() + "\n");
  }

 private:
  AdminSource& source_;
};

// Others are answered in the format of the highest weight; the plain one wins a tie, as a client
// that accepts anything may know no other.
ScrapeFormat format_of(const RequestHead& head) {
  const Acceptance acceptance = Acceptance::of(head);
  const int plain = acceptance.plain.value_or(acceptance.anything.value_or(0));
  return acceptance.open_metrics.value_or(0) > plain ? ScrapeFormat::open_metrics
                                                     : ScrapeFormat::prometheus;
}

constexpr std::string_view content_type(ScrapeFormat format) {
  return format == ScrapeFormat::open_metrics
             ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
             : "text/plain; version=0.0.4; charset=utf-8";
}

// /metrics, in the format that the scraper prefers.
//
// The text is made elsewhere, while the loop goes on. Scrapers that come meanwhile get the same
// text, so at most one scrape of each format is under way. Limit: the limits on connections.
class ScrapeEndpoint final : public Endpoint {
 public:
  explicit ScrapeEndpoint(AdminSource& source);

  std::optional<HttpError> admit(Exchange& /*exchange*/) override { return std::nullopt; }
  void serve(Exchange& exchange, std::span<char> body) override;

 private:
  class Scraper;
  using Scrapers = std::vector<Scraper*>;

  void answer(ScrapeFormat format, const std::string& text);

  AdminSource& source_;
  std::array<Scrapers, kScrapeFormatCount> waiting_;  // for the text that is under way
  std::array<bool, kScrapeFormatCount> under_way_{};
};

// One that waits. Gone from its list with its client.
class ScrapeEndpoint::Scraper final : public ExchangeHandler {
 public:
  static constexpr char kKind = 0;

  void wait(Scrapers& all, Exchange& exchange) {
    all_ = &all;
    exchange_ = &exchange;
    all.push_back(this);
  }
  void on_gone() override { std::erase(*all_, this); }
  void rest() override {}
  void answer(const Response& response) { exchange_->respond(response); }

 private:
  Scrapers* all_ = nullptr;
  Exchange* exchange_ = nullptr;
};

ScrapeEndpoint::ScrapeEndpoint(AdminSource& source) : source_(source) {}

void ScrapeEndpoint::serve(Exchange& exchange, std::span<char> /*body*/) {
  const ScrapeFormat format = format_of(exchange.head);
  const auto place = static_cast<size_t>(format);
  exchange.handler<Scraper>().wait(waiting_[place], exchange);
  if (std::exchange(under_way_[place], true)) return;
  source_.scrape(format, [this, format](const std::string& text) { answer(format, text); });
}

void ScrapeEndpoint::answer(ScrapeFormat format, const std::string& text) {
  const auto place = static_cast<size_t>(format);
  under_way_[place] = false;
  const std::string_view body = text;
  for (Scraper* const scraper : std::exchange(waiting_[place], {})) {
    scraper->answer({.content_type = content_type(format),
                     .more_fields = "Vary: Accept\r\n",
                     .body = {&body, 1}});
  }
}

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
                             RouteAudience audience = RouteAudience::everyone) {
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
             Guards::reading(RouteAudience::everyone));
  router.add("/metrics", "metrics for Prometheus", std::make_unique<ScrapeEndpoint>(source),
             Guards::reading(RouteAudience::everyone));
  add(
      "/debug/state", "backends, children, calls, connections",
      [&source] {
        return Page{200, kJsonType, source.state_json()};
      },
      RouteAudience::operators);
}

void add_front_page(Router& router, std::string title, HtmlPage page) {
  router.add("/", "what goes on, as a page for browsers; else this list",
             std::make_unique<FrontPage>(router, std::move(title), std::move(page)),
             Guards::reading(RouteAudience::operators));
}

}  // namespace stdgate::http

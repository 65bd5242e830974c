#include "transports/http/scrape_endpoint.h"

#include <algorithm>
#include <utility>

#include "transports/http/media_type.h"

namespace stdgate::http {

namespace {

// Others are answered in the format of the highest weight; the plain one wins a tie, as whoever
// accepts anything may know no other.
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

}  // namespace

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

}  // namespace stdgate::http

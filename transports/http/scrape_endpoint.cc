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
class ScrapeEndpoint::Scraper final : public ExchangeOwner {
 public:
  Scraper(Scrapers& all, Responder& client) : all_(all), client_(client) {}

  void on_writable() override {}
  void on_gone() override {
    std::erase_if(all_, [this](const auto& one) { return one.get() == this; });
  }
  void answer(const Response& response) { client_.respond(response); }

 private:
  Scrapers& all_;
  Responder& client_;
};

ScrapeEndpoint::ScrapeEndpoint(AdminSource& source) : source_(source) {}
ScrapeEndpoint::~ScrapeEndpoint() = default;

void ScrapeEndpoint::serve(Exchange& exchange, std::span<char> /*body*/) {
  const ScrapeFormat format = format_of(exchange.head);
  const auto place = static_cast<size_t>(format);
  auto scraper = std::make_unique<Scraper>(waiting_[place], *exchange.client);
  exchange.owner = scraper.get();
  waiting_[place].push_back(std::move(scraper));
  if (std::exchange(under_way_[place], true)) return;
  source_.scrape(format, [this, format](const std::string& text) { answer(format, text); });
}

void ScrapeEndpoint::answer(ScrapeFormat format, const std::string& text) {
  const auto place = static_cast<size_t>(format);
  under_way_[place] = false;
  const std::string_view body = text;
  for (const auto& scraper : std::exchange(waiting_[place], {})) {
    scraper->answer({.content_type = content_type(format),
                     .more_fields = "Vary: Accept\r\n",
                     .body = {&body, 1}});
  }
}

}  // namespace stdgate::http

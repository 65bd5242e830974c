// ScrapeEndpoint: /metrics, in the format that the scraper prefers.
//
// The text is made elsewhere, while the loop goes on. Scrapers that come meanwhile get the same
// text, so that at most one of each format is under way. Owner: the router. Limit: those of
// connections.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "transports/http/admin_endpoint.h"
#include "transports/http/endpoint.h"

namespace stdgate::http {

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

}  // namespace stdgate::http

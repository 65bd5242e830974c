// FakeFetcher: records the fetches that are requested, and answers when the test says so.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "transports/fetch/fetcher.h"

namespace stdgate::test {

class FakeFetcher final : public fetch::Fetcher {
 public:
  std::unique_ptr<fetch::Fetch> start(const fetch::Request& request, Done done) override {
    urls.push_back(request.url);
    bodies.emplace_back(request.body);
    fields.assign(request.fields.begin(), request.fields.end());
    done_ = std::move(done);
    ++under_way;
    return std::make_unique<Given>(*this);
  }
  // Ends the fetch in progress with this result.
  void finish(const fetch::Fetched& fetched) {
    const Done done = std::exchange(done_, nullptr);
    done(fetched);
  }
  void finish_json(std::string body, std::string cache_control = {}) {
    finish({.body = std::move(body),
            .content_type = "application/json; charset=utf-8",
            .cache_control = std::move(cache_control)});
  }

  std::vector<std::string> urls;
  std::vector<std::string> bodies;  // of the fetches in `urls`
  std::vector<std::string> fields;  // of the last fetch
  int under_way = 0;

 private:
  class Given final : public fetch::Fetch {
   public:
    explicit Given(FakeFetcher& fetcher) : fetcher_(fetcher) {}
    ~Given() override { --fetcher_.under_way; }

   private:
    FakeFetcher& fetcher_;
  };

  Done done_;
};

}  // namespace stdgate::test

// CurlFetcher: a Fetcher on libcurl's multi interface, driven by the loop.
//
// Verifies the certificates of https servers, speaks HTTP/1.1, and uses neither cookies nor
// password files. Connections are kept only if a request asks for that. A proxy of the environment
// (https_proxy, no_proxy) is used, but not towards this machine. A thread of libcurl resolves
// names, and is not waited for. Owner: the worker; outlives the fetches that it has started.
// Limits: kMaxBody bytes, kConnectTime, kTime in all.
#pragma once

#include <memory>

#include "gateway/base/time.h"
#include "transports/fetch/fetcher.h"
#include "transports/net/loop.h"

namespace stdgate::fetch {

class CurlMulti;

class CurlFetcher final : public Fetcher {
 public:
  static constexpr size_t kMaxBody = 256 << 10;
  static constexpr std::chrono::seconds kConnectTime{5};
  static constexpr std::chrono::seconds kTime{10};

  explicit CurlFetcher(net::Loop& loop);
  ~CurlFetcher() override;
  CurlFetcher(const CurlFetcher&) = delete;
  CurlFetcher& operator=(const CurlFetcher&) = delete;

  std::unique_ptr<Fetch> start(const Request& request, Done done) override;

 private:
  net::Loop& loop_;
  std::unique_ptr<CurlMulti> multi_;  // from the first transfer on
};

}  // namespace stdgate::fetch

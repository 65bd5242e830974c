// HttpClient: requests to a gateway, one after the other or many at once, by libcurl.
//
// Job: what tools ask a gateway over HTTP, TLS or a Unix socket. Blocking. Owner: a tool. Limits:
// kMaxResponse bytes of a response, kMaxAtOnce requests under way; no redirect is followed, and a
// gateway on loopback is reached past every proxy.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/base/time.h"
#include "transports/fetch/curl_web_client.h"

namespace stdgate::fetch {

// Where a tool reaches a gateway.
struct GatewayAddress {
  std::string url;          // "http://127.0.0.1:8080", without a slash at its end
  std::string unix_socket;  // empty: TCP
};

// Parses the value of --url: http://…, https://… or unix:/path. The error says what to write.
tl::expected<GatewayAddress, std::string> parse_gateway_url(const std::string& text);

// How an HttpClient connects, and what it shows of itself.
struct HttpOptions {
  std::string url;  // of the gateway, as in GatewayAddress
  WebClientOptions web{};
  std::string api_key;  // empty: none
  Duration timeout{0};  // of a request
};

struct HttpRequest {
  std::string path;
  std::string body;  // empty: a GET; else JSON, for a POST
};

struct HttpAnswer {
  int status = 0;
  std::string body;
};

class HttpClient {
 public:
  static constexpr size_t kMaxResponse = 256 << 20;
  static constexpr size_t kMaxAtOnce = 32;
  using Result = tl::expected<HttpAnswer, std::string>;

  explicit HttpClient(HttpOptions options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // The error says why there was no answer, and what to do.
  Result send(const std::string& path, const std::string& body = {});
  // All of them at once. The results are in the order of the requests.
  std::vector<Result> send_all(const std::vector<HttpRequest>& requests);

  [[nodiscard]] const std::string& url() const { return options_.url; }

 private:
  struct Handle;
  struct Transfer;
  void prepare(Transfer& transfer, const HttpRequest& request);
  [[nodiscard]] Result result_of(const Transfer& transfer, int code) const;

  const HttpOptions options_;
  const std::unique_ptr<Handle> handle_;
};

}  // namespace stdgate::fetch

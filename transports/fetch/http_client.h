// HttpClient: requests to a gateway, one after the other over one connection, by libcurl.
//
// Job: what tools ask a gateway over HTTP, TLS or a Unix socket. Blocking. Owner: a tool. Limits:
// kMaxResponse bytes of a response; no redirect is followed, and a gateway on loopback is reached
// past every proxy.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <tl/expected.hpp>

#include "gateway/base/time.h"

namespace stdgate::fetch {

struct GatewayAddress {
  std::string url;          // "http://127.0.0.1:8080", without a slash at its end
  std::string unix_socket;  // empty: TCP
};

// Of --url: http://…, https://… or unix:/path. The error says what to write.
tl::expected<GatewayAddress, std::string> parse_gateway_url(const std::string& text);

struct HttpOptions {
  GatewayAddress gateway;
  std::string api_key;           // empty: none
  std::string ca_file;           // empty: the system's
  std::string certificate_file;  // of this client, in PEM; empty: none
  std::string key_file;          // of that
  Duration timeout{0};           // of a request
};

struct HttpAnswer {
  int status = 0;
  std::string body;
};

class HttpClient {
 public:
  static constexpr size_t kMaxResponse = 256 << 20;

  explicit HttpClient(HttpOptions options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // A GET, or with a body a POST of JSON. The error says why there was no answer, and what to do.
  tl::expected<HttpAnswer, std::string> send(const std::string& path, const std::string& body = {});

  [[nodiscard]] const std::string& url() const { return options_.gateway.url; }

 private:
  struct Handle;
  const HttpOptions options_;
  const std::unique_ptr<Handle> handle_;
};

}  // namespace stdgate::fetch

// CurlWebClient: a WebClient on libcurl's multi interface.
//
// HTTP/1.1, servers of https are verified, redirects are not followed, no cookie and no password
// file is used. A proxy of the environment is used, but not towards this machine. Owner: the
// program that connects; outlives its transfers. Limits: kMaxHead bytes of a response's head,
// kMaxHeld bytes that have come and not been taken (then the server waits), Options::connect_time.
#pragma once

#include <memory>
#include <string>

#include "gateway/base/time.h"
#include "gateway/remote/web_client.h"
#include "transports/fetch/curl_multi.h"
#include "transports/net/loop.h"

namespace stdgate::fetch {

struct WebClientOptions {
  std::string unix_socket{};       // empty: what the URL says
  std::string ca_file{};           // empty: the system's
  std::string certificate_file{};  // of this client, in PEM; empty: none
  std::string key_file{};          // of that
  Duration connect_time = std::chrono::seconds(5);
};

class CurlWebClient final : public remote::WebClient {
 public:
  static constexpr size_t kMaxHead = 64 << 10;
  static constexpr size_t kMaxHeld = 256 << 10;

  CurlWebClient(net::Loop& loop, WebClientOptions options)
      : options_(std::move(options)), multi_(loop) {}

  std::unique_ptr<remote::WebTransfer> start(remote::WebRequest request,
                                             remote::WebEvents& events) override;

  // Sets what transfers of all protocols with these options have in common.
  static void set_options(CURL* easy, const WebClientOptions& options, const std::string& url);
  static remote::WebFailure failure_of(CURLcode code, const char* problem);
  [[nodiscard]] const WebClientOptions& options() const { return options_; }
  [[nodiscard]] CurlMulti& multi() { return multi_; }

 private:
  const WebClientOptions options_;
  CurlMulti multi_;
};

}  // namespace stdgate::fetch

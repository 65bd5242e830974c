// CurlWebClient: a WebClient on libcurl's multi interface. CurlConnection: a connection that it
// makes for other bytes than HTTP's.
//
// HTTP/1.1, servers of https are verified, redirects are not followed, no cookie and no password
// file is used. A proxy of the environment is used, but not towards this machine. Owner: the
// program that connects; outlives its transfers. Limits: kMaxHead bytes of a response's head,
// kMaxHeld bytes that have come and not been taken (then the server waits), Options::connect_time.
#pragma once

#include <curl/curl.h>

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "gateway/base/byte_storage.h"
#include "gateway/base/time.h"
#include "gateway/remote/web_client.h"
#include "transports/fetch/curl_fetcher.h"
#include "transports/net/loop.h"

namespace stdgate::fetch {

// How connections are made, whatever the request.
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

// CurlConnection: a connection to a web server, over TCP or TLS, that carries its owner's bytes.
// WebSockets begin like this.
//
// Made by libcurl like the other connections to servers, so addresses, proxies, TLS and trust are
// handled alike. Owner: the code that opened it, which may destroy it in any of its events. Limits:
// kTurn bytes are read at once; the owner bounds unsent bytes.
class CurlConnection final : private CurlUser {
 public:
  static constexpr size_t kTurn = 256 << 10;

  class Events {
   public:
    virtual ~Events() = default;
    virtual void on_connected() = 0;
    virtual void on_bytes(std::span<char> bytes) = 0;
    // All that was written has been sent.
    virtual void on_sent() {}
    // It is closed. Last.
    virtual void on_closed(const remote::WebFailure& failure) = 0;
  };

  // `url`: of http or https. `events` are called from the outermost level of the loop.
  CurlConnection(const std::string& url, CurlWebClient& web, net::Loop& loop, Events& events);
  ~CurlConnection() override;
  CurlConnection(const CurlConnection&) = delete;
  CurlConnection& operator=(const CurlConnection&) = delete;

  void write(std::string_view bytes);
  [[nodiscard]] size_t unsent() const { return unsent_.size() - sent_; }
  void pause();
  void resume();
  // No event follows.
  void stop();

 private:
  struct Poll;

  void on_done(CURLcode code) override;
  void watch();
  void on_ready(int status, int ready);
  void read();
  void send();
  void fail(CURLcode code, const char* why);

  CurlMulti& multi_;
  net::Loop& loop_;
  Events& events_;
  CURL* const easy_;
  Poll* poll_ = nullptr;  // once it is connected
  Timer again_timer_;     // more may have come than is read at once, or libcurl holds some
  std::string unsent_;
  size_t sent_ = 0;  // of these
  std::array<char, CURL_ERROR_SIZE> problem_{};
  bool is_paused_ = false;
  bool has_ended_ = false;  // nothing more is told
  std::shared_ptr<bool> is_alive_ = std::make_shared<bool>(true);
};

}  // namespace stdgate::fetch

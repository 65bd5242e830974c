// CurlFetcher: fetches documents by libcurl. CurlMulti: libcurl, driven by the loop.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <vector>

#include "gateway/base/time.h"
#include "transports/fetch/fetcher.h"
#include "transports/net/loop.h"

namespace stdgate::fetch {

class CurlMulti;

// CurlFetcher: a Fetcher on libcurl's multi interface, driven by the loop.
//
// Verifies the certificates of https servers, speaks HTTP/1.1, and uses neither cookies nor
// password files. Connections are kept only if a request asks for that. A proxy of the environment
// (https_proxy, no_proxy) is used, but not towards this machine. A thread of libcurl resolves
// names, and is not waited for. Owner: the worker; outlives the fetches that it has started.
// Limits: kMaxBody bytes, kConnectTime, kTime in all.
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

// CurlUser: the user of a transfer. Called from the outermost level of the loop; may end any
// transfer.
class CurlUser {
 public:
  virtual ~CurlUser() = default;
  // Asked for by CurlMulti::tell_later().
  virtual void on_progress() {}
  virtual void on_done(CURLcode code) = 0;
};

// CurlMulti: libcurl's multi interface, driven by the loop. Owner: a client of libcurl; the
// transfers of its users end before it does.
class CurlMulti {
 public:
  explicit CurlMulti(net::Loop& loop);
  ~CurlMulti();
  CurlMulti(const CurlMulti&) = delete;
  CurlMulti& operator=(const CurlMulti&) = delete;

  // `user` is its CURLOPT_PRIVATE.
  void add(CURL* easy, CurlUser& user);
  void remove(CURL* easy, const CurlUser& user);
  // For callbacks of libcurl, which must not end a transfer: on_progress() follows after their
  // return.
  void tell_later(CurlUser& user);

  // CURLOPT_OPENSOCKETFUNCTION: closed in programs that are started.
  static curl_socket_t open_socket(void* data, curlsocktype purpose, curl_sockaddr* address);

 private:
  struct Poll;  // a socket of libcurl's; frees itself in its close callback

  static int on_timer(CURLM* multi, long wait_ms, void* data);
  static int on_socket(CURL* easy, curl_socket_t socket, int what, void* data, void* known);
  Poll* open(curl_socket_t socket);
  void close(Poll& poll, curl_socket_t socket);
  void act(curl_socket_t socket, int events);
  void tell();

  net::Loop& loop_;
  CURLM* const multi_;
  Timer timer_;
  Timer tell_timer_;
  std::vector<CurlUser*> to_tell_;  // null: has ended since
};

}  // namespace stdgate::fetch

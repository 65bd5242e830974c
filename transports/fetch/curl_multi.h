// CurlMulti: libcurl's multi interface, driven by the loop.
//
// Owner: a client of libcurl's; the transfers of its users end before it does.
#pragma once

#include <curl/curl.h>

#include <vector>

#include "gateway/base/time.h"
#include "transports/net/loop.h"

namespace stdgate::fetch {

// The user of a transfer. Called from the outermost level of the loop; may end any transfer.
class CurlUser {
 public:
  virtual ~CurlUser() = default;
  // Asked for by CurlMulti::tell_later().
  virtual void on_progress() {}
  virtual void on_done(CURLcode code) = 0;
};

class CurlMulti {
 public:
  explicit CurlMulti(net::Loop& loop);
  ~CurlMulti();
  CurlMulti(const CurlMulti&) = delete;
  CurlMulti& operator=(const CurlMulti&) = delete;

  // `user` is its CURLOPT_PRIVATE.
  void add(CURL* easy, CurlUser& user);
  void remove(CURL* easy, const CurlUser& user);
  // For callbacks of libcurl, in which no transfer may be ended: on_progress() follows after their
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

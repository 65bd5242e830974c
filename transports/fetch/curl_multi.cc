#include "transports/fetch/curl_multi.h"

#include <openssl/err.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "gateway/base/check.h"

namespace stdgate::fetch {

struct CurlMulti::Poll {
  uv_poll_t handle{};
  CurlMulti* multi = nullptr;
};

CurlMulti::CurlMulti(net::Loop& loop)
    : loop_(loop),
      multi_(curl_multi_init()),
      timer_(loop.timers(), [this] { act(CURL_SOCKET_TIMEOUT, 0); }),
      tell_timer_(loop.timers(), [this] { tell(); }) {
  STDGATE_CHECK(multi_ != nullptr);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &on_socket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &on_timer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
}

CurlMulti::~CurlMulti() { curl_multi_cleanup(multi_); }

void CurlMulti::add(CURL* easy, CurlUser& user) {
  curl_easy_setopt(easy, CURLOPT_PRIVATE, &user);
  curl_multi_add_handle(multi_, easy);
}

void CurlMulti::remove(CURL* easy, const CurlUser& user) {
  curl_multi_remove_handle(multi_, easy);
  ERR_clear_error();
  std::ranges::replace(to_tell_, &user, nullptr);
}

void CurlMulti::tell_later(CurlUser& user) {
  if (std::ranges::find(to_tell_, &user) != to_tell_.end()) return;
  to_tell_.push_back(&user);
  tell_timer_.arm(loop_.now());
}

curl_socket_t CurlMulti::open_socket(void* /*data*/, curlsocktype /*purpose*/,
                                     curl_sockaddr* address) {
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

int CurlMulti::on_timer(CURLM* /*multi*/, long wait_ms, void* data) {
  auto& self = *static_cast<CurlMulti*>(data);
  if (wait_ms < 0) {
    self.timer_.disarm();
  } else {
    self.timer_.arm(self.loop_.now() + std::chrono::milliseconds(wait_ms));
  }
  return 0;
}

int CurlMulti::on_socket(CURL* /*easy*/, curl_socket_t socket, int what, void* data, void* known) {
  auto& self = *static_cast<CurlMulti*>(data);
  auto* poll = static_cast<Poll*>(known);
  if (what == CURL_POLL_REMOVE) {
    if (poll != nullptr) self.close(*poll, socket);
    return 0;
  }
  if (poll == nullptr) poll = self.open(socket);
  const int events = ((what & CURL_POLL_IN) != 0 ? UV_READABLE : 0) |
                     ((what & CURL_POLL_OUT) != 0 ? UV_WRITABLE : 0);
  uv_poll_start(&poll->handle, events, [](uv_poll_t* handle, int status, int ready) {
    CurlMulti& multi = *static_cast<Poll*>(handle->data)->multi;
    uv_os_fd_t fd = -1;
    uv_fileno(reinterpret_cast<uv_handle_t*>(handle), &fd);
    multi.loop_.refresh_now();
    if (status < 0) return multi.act(fd, CURL_CSELECT_ERR);
    multi.act(fd, ((ready & UV_READABLE) != 0 ? CURL_CSELECT_IN : 0) |
                      ((ready & UV_WRITABLE) != 0 ? CURL_CSELECT_OUT : 0));
  });
  return 0;
}

CurlMulti::Poll* CurlMulti::open(curl_socket_t socket) {
  auto poll = std::make_unique<Poll>();
  poll->multi = this;
  poll->handle.data = poll.get();
  const int error = uv_poll_init(loop_.uv(), &poll->handle, socket);
  STDGATE_CHECK(error == 0);
  curl_multi_assign(multi_, socket, poll.get());
  return poll.release();
}

void CurlMulti::close(Poll& poll, curl_socket_t socket) {
  curl_multi_assign(multi_, socket, nullptr);
  uv_poll_stop(&poll.handle);
  uv_close(reinterpret_cast<uv_handle_t*>(&poll.handle),
           [](uv_handle_t* handle) { delete static_cast<Poll*>(handle->data); });
}

void CurlMulti::act(curl_socket_t socket, int events) {
  int running = 0;
  curl_multi_socket_action(multi_, socket, events, &running);
  ERR_clear_error();  // it would be taken for one of TLS
  tell();
  int left = 0;
  while (const CURLMsg* const message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    void* user = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &user);
    static_cast<CurlUser*>(user)->on_done(code);
  }
}

// More may be asked for meanwhile.
void CurlMulti::tell() {
  for (size_t i = 0; i < to_tell_.size(); ++i) {
    CurlUser* const user = std::exchange(to_tell_[i], nullptr);
    if (user != nullptr) user->on_progress();
  }
  to_tell_.clear();
  tell_timer_.disarm();
}

}  // namespace stdgate::fetch

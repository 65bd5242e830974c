#include "transports/fetch/curl_connection.h"

#include <openssl/err.h>

#include <utility>

#include "gateway/base/check.h"

namespace stdgate::fetch {

// Frees itself in its close callback.
struct CurlConnection::Poll {
  uv_poll_t handle{};
  CurlConnection* owner = nullptr;
};

CurlConnection::CurlConnection(const std::string& url, CurlWebClient& web, net::Loop& loop,
                               Events& events)
    : multi_(web.multi()),
      loop_(loop),
      events_(events),
      easy_(curl_easy_init()),
      again_timer_(loop.timers(), [this] { read(); }) {
  STDGATE_CHECK(easy_ != nullptr);
  CurlWebClient::set_options(easy_, web.options(), url);
  curl_easy_setopt(easy_, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy_, CURLOPT_CONNECT_ONLY, 1L);
  curl_easy_setopt(easy_, CURLOPT_ERRORBUFFER, problem_.data());
  multi_.add(easy_, *this);
}

CurlConnection::~CurlConnection() {
  *is_alive_ = false;
  if (poll_ != nullptr) {
    poll_->owner = nullptr;
    uv_poll_stop(&poll_->handle);
    uv_close(reinterpret_cast<uv_handle_t*>(&poll_->handle),
             [](uv_handle_t* handle) { delete static_cast<Poll*>(handle->data); });
  }
  multi_.remove(easy_, *this);
  curl_easy_cleanup(easy_);
}

void CurlConnection::on_done(CURLcode code) {
  if (code != CURLE_OK) return fail(code, problem_.data());
  curl_socket_t socket = CURL_SOCKET_BAD;
  curl_easy_getinfo(easy_, CURLINFO_ACTIVESOCKET, &socket);
  if (socket == CURL_SOCKET_BAD) return fail(CURLE_COULDNT_CONNECT, "");
  auto poll = std::make_unique<Poll>();
  poll->owner = this;
  poll->handle.data = poll.get();
  if (uv_poll_init(loop_.uv(), &poll->handle, socket) != 0) return fail(CURLE_COULDNT_CONNECT, "");
  poll_ = poll.release();
  watch();
  events_.on_connected();
}

void CurlConnection::watch() {
  const int events = (is_paused_ ? 0 : UV_READABLE) | (unsent() > 0 ? UV_WRITABLE : 0);
  if (events == 0) {
    uv_poll_stop(&poll_->handle);
    return;
  }
  uv_poll_start(&poll_->handle, events, [](uv_poll_t* handle, int status, int ready) {
    CurlConnection* const owner = static_cast<Poll*>(handle->data)->owner;
    if (owner == nullptr) return;
    owner->loop_.refresh_now();
    owner->on_ready(status, ready);
  });
}

void CurlConnection::on_ready(int status, int ready) {
  const auto is_alive = is_alive_;
  if (status < 0) {
    // libuv does not say what is wrong with the socket; reading does.
    read();
    if (*is_alive) fail(CURLE_RECV_ERROR, uv_strerror(status));
    return;
  }
  if ((ready & UV_WRITABLE) != 0) send();
  if (*is_alive && (ready & UV_READABLE) != 0) read();
}

void CurlConnection::read() {
  if (is_paused_ || poll_ == nullptr) return;
  const auto is_alive = is_alive_;
  const std::span<char> buffer = loop_.read_buffer();
  for (size_t taken = 0; taken < kTurn;) {
    size_t count = 0;
    const CURLcode code = curl_easy_recv(easy_, buffer.data(), buffer.size(), &count);
    ERR_clear_error();
    if (code == CURLE_AGAIN) return;
    if (code != CURLE_OK) return fail(code, problem_.data());
    if (count == 0) return fail(CURLE_GOT_NOTHING, "the server has closed it");
    taken += count;
    events_.on_bytes(buffer.first(count));
    if (!*is_alive || is_paused_) return;
  }
  again_timer_.arm(loop_.now());
}

void CurlConnection::write(std::string_view bytes) {
  unsent_.append(bytes);
  if (poll_ != nullptr) watch();
}

void CurlConnection::send() {
  while (unsent() > 0) {
    size_t count = 0;
    const CURLcode code = curl_easy_send(easy_, unsent_.data() + sent_, unsent(), &count);
    ERR_clear_error();
    if (code == CURLE_AGAIN) return;
    if (code != CURLE_OK) return fail(code, problem_.data());
    sent_ += count;
  }
  unsent_.clear();
  sent_ = 0;
  watch();
  events_.on_sent();
}

void CurlConnection::pause() {
  is_paused_ = true;
  if (poll_ != nullptr) watch();
}

// Bytes that libcurl or TLS has read already make no socket readable.
void CurlConnection::resume() {
  if (!std::exchange(is_paused_, false) || poll_ == nullptr) return;
  watch();
  again_timer_.arm(loop_.now());
}

void CurlConnection::stop() {
  again_timer_.disarm();
  if (poll_ != nullptr) uv_poll_stop(&poll_->handle);
}

void CurlConnection::fail(CURLcode code, const char* why) {
  stop();
  remote::WebFailure failure = CurlWebClient::failure_of(code, why);
  const bool is_connected = poll_ != nullptr;
  failure.may_be_sent = is_connected;
  if (!is_connected && failure.kind == remote::WebFailure::Kind::timeout) {
    failure.kind = remote::WebFailure::Kind::unconnected;
  }
  events_.on_closed(failure);
}

}  // namespace stdgate::fetch

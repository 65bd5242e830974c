#include "transports/fetch/curl_web_client.h"

#include <openssl/err.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "gateway/base/addresses.h"
#include "gateway/base/check.h"
#include "gateway/base/text.h"

namespace stdgate::fetch {
namespace {

using remote::WebEvents;
using remote::WebFailure;
using remote::WebHead;
using remote::WebMethod;
using remote::WebRequest;

constexpr long kYes = 1;
constexpr long kNo = 0;
// Servers close what is idle, often after 5 s; and what was sent into a connection that is being
// closed is lost, as nothing is sent twice.
constexpr long kMaxIdleSeconds = 4;

long in_milliseconds(Duration time) {
  return static_cast<long>(std::chrono::ceil<std::chrono::milliseconds>(time).count());
}

class CurlWebTransfer final : public remote::WebTransfer, private CurlUser {
 public:
  CurlWebTransfer(WebRequest request, WebEvents& events, const WebClientOptions& options,
                  CurlMulti& multi)
      : request_(std::move(request)), events_(events), multi_(multi), easy_(curl_easy_init()) {
    STDGATE_CHECK(easy_ != nullptr);
    CurlWebClient::set_options(easy_, options, request_.url);
    set_request();
    set_callbacks();
    multi_.add(easy_, *this);
  }
  ~CurlWebTransfer() override {
    multi_.remove(easy_, *this);
    curl_easy_cleanup(easy_);
    curl_slist_free_all(fields_);
  }
  CurlWebTransfer(const CurlWebTransfer&) = delete;
  CurlWebTransfer& operator=(const CurlWebTransfer&) = delete;

  void pause() override { is_paused_ = true; }
  void resume() override {
    if (std::exchange(is_paused_, false)) multi_.tell_later(*this);
  }

 private:
  void set_request() {
    for (const std::string& field : request_.fields) add_field(field);
    if (request_.time > Duration(0)) {
      curl_easy_setopt(easy_, CURLOPT_TIMEOUT_MS, in_milliseconds(request_.time));
    }
    if (request_.method == WebMethod::del) {
      curl_easy_setopt(easy_, CURLOPT_CUSTOMREQUEST, "DELETE");
    }
    if (request_.method == WebMethod::post) {
      add_field("Expect:");  // nobody waits for a 100
      curl_easy_setopt(easy_, CURLOPT_POST, kYes);
      curl_easy_setopt(easy_, CURLOPT_POSTFIELDSIZE_LARGE,
                       static_cast<curl_off_t>(request_.body.size()));
      curl_easy_setopt(easy_, CURLOPT_READFUNCTION, &on_read);
      curl_easy_setopt(easy_, CURLOPT_READDATA, this);
      curl_easy_setopt(easy_, CURLOPT_PREREQFUNCTION, &on_request);
      curl_easy_setopt(easy_, CURLOPT_PREREQDATA, this);
    }
    curl_easy_setopt(easy_, CURLOPT_URL, request_.url.c_str());
    curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, fields_);
  }

  void set_callbacks() {
    curl_easy_setopt(easy_, CURLOPT_ERRORBUFFER, problem_.data());
    curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, &on_write);
    curl_easy_setopt(easy_, CURLOPT_WRITEDATA, this);
    curl_easy_setopt(easy_, CURLOPT_HEADERFUNCTION, &on_header);
    curl_easy_setopt(easy_, CURLOPT_HEADERDATA, this);
  }

  void add_field(const std::string& field) { fields_ = curl_slist_append(fields_, field.c_str()); }

  static size_t on_read(char* to, size_t one, size_t count, void* data) {
    auto& self = *static_cast<CurlWebTransfer*>(data);
    const size_t size = std::min(one * count, self.request_.body.size() - self.sent_);
    std::copy_n(self.request_.body.data() + self.sent_, size, to);
    self.sent_ += size;
    return size;
  }

  // libcurl begins again where a connection that was kept turns out to be dead; the server may have
  // read the request all the same.
  static int on_request(void* data, char* /*address*/, char* /*own_address*/, int /*port*/,
                        int /*own_port*/) {
    const bool is_second = static_cast<CurlWebTransfer*>(data)->sent_ > 0;
    return is_second ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
  }

  static size_t on_header(const char* bytes, size_t /*one*/, size_t size, void* data) {
    return static_cast<CurlWebTransfer*>(data)->take_line({bytes, size}) ? size : 0;
  }

  bool take_line(std::string_view line) {
    head_size_ += line.size();
    if (head_size_ > CurlWebClient::kMaxHead) {
      excess_ = "the head of the response";
      return false;
    }
    line = trim(line, " \t\r\n");
    if (line.starts_with("HTTP/") && !is_head_complete_) {
      const size_t space = line.find(' ');
      head_ = {};
      if (space != std::string_view::npos) {
        const char* const at = line.data() + space + 1;
        std::from_chars(at, line.data() + line.size(), head_.status);
      }
    } else if (line.empty()) {
      // The head of an interim response is followed by another head.
      is_head_complete_ = head_.status >= 200;
      if (is_head_complete_) multi_.tell_later(*this);
    } else if (const size_t colon = line.find(':');
               colon != std::string_view::npos && !is_head_complete_) {
      head_.fields.emplace_back(to_lower_ascii(line.substr(0, colon)),
                                trim(line.substr(colon + 1)));
    }
    return true;
  }

  static size_t on_write(const char* bytes, size_t /*one*/, size_t size, void* data) {
    auto& self = *static_cast<CurlWebTransfer*>(data);
    if (self.held_.size() >= CurlWebClient::kMaxHeld) {
      self.is_held_ = true;
      return CURL_WRITEFUNC_PAUSE;
    }
    self.held_.append(bytes, size);
    self.multi_.tell_later(self);
    return size;
  }

  // Each event may be the last that it sees.
  void on_progress() override {
    if (is_paused_) return;
    if (is_head_complete_ && !is_head_told_) {
      is_head_told_ = true;
      if (!held_.empty() || done_) multi_.tell_later(*this);
      return events_.on_head(head_);
    }
    if (!held_.empty()) {
      const std::string bytes = std::exchange(held_, {});
      if (done_ || is_held_) multi_.tell_later(*this);
      return events_.on_body(bytes);
    }
    if (std::exchange(is_held_, false)) {
      curl_easy_pause(easy_, CURLPAUSE_CONT);
      return;
    }
    if (done_ && !std::exchange(is_end_told_, true)) tell_end(*done_);
  }

  void on_done(CURLcode code) override {
    done_ = code;
    multi_.tell_later(*this);
  }

  void tell_end(CURLcode code) {
    if (code == CURLE_OK) return events_.on_end(nullptr);
    if (code == CURLE_ABORTED_BY_CALLBACK) code = CURLE_RECV_ERROR;
    WebFailure failure = CurlWebClient::failure_of(code, problem_.data());
    failure.may_be_sent = sent_ > 0 || request_.method != WebMethod::post;
    if (!excess_.empty()) failure = {WebFailure::Kind::too_large, excess_, failure.may_be_sent};
    // Not even connected: it is about that.
    if (code == CURLE_OPERATION_TIMEDOUT && sent_ == 0 && head_size_ == 0) {
      failure.kind = WebFailure::Kind::unconnected;
    }
    events_.on_end(&failure);
  }

  WebRequest request_;
  WebEvents& events_;
  CurlMulti& multi_;
  CURL* const easy_;
  curl_slist* fields_ = nullptr;
  size_t sent_ = 0;  // of the body
  WebHead head_;
  size_t head_size_ = 0;
  std::string held_;  // of the response's body
  std::string excess_;
  std::optional<CURLcode> done_;
  std::array<char, CURL_ERROR_SIZE> problem_{};
  bool is_head_complete_ = false;
  bool is_head_told_ = false;
  bool is_end_told_ = false;
  bool is_held_ = false;  // libcurl waits until held_ has been taken
  bool is_paused_ = false;
};

}  // namespace

void CurlWebClient::set_options(CURL* easy, const WebClientOptions& options,
                                const std::string& url) {
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, kYes);
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, kYes);  // a thread that resolves a name goes on
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, kNo);
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
  curl_easy_setopt(easy, CURLOPT_SSLVERSION, long{CURL_SSLVERSION_TLSv1_2});
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, in_milliseconds(options.connect_time));
  curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, kMaxIdleSeconds);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, kYes);  // a stream may be silent for long
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, &CurlMulti::open_socket);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "stdgate-connect");
  if (!options.unix_socket.empty()) {
    curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, options.unix_socket.c_str());
  }
  if (!options.ca_file.empty()) curl_easy_setopt(easy, CURLOPT_CAINFO, options.ca_file.c_str());
  if (!options.certificate_file.empty()) {
    curl_easy_setopt(easy, CURLOPT_SSLCERT, options.certificate_file.c_str());
    curl_easy_setopt(easy, CURLOPT_SSLKEY, options.key_file.c_str());
  }
  const auto parsed = WebUrl::parse(url);
  if (parsed && parsed->is_loopback()) curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
}

WebFailure CurlWebClient::failure_of(CURLcode code, const char* problem) {
  WebFailure failure;
  failure.detail = *problem != '\0' ? problem : curl_easy_strerror(code);
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
      failure.kind = WebFailure::Kind::unresolved;
      break;
    case CURLE_COULDNT_CONNECT:
    case CURLE_URL_MALFORMAT:
      failure.kind = WebFailure::Kind::unconnected;
      break;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ISSUER_ERROR:
      failure.kind = WebFailure::Kind::untrusted;
      break;
    case CURLE_OPERATION_TIMEDOUT:
      failure.kind = WebFailure::Kind::timeout;
      break;
    default:
      break;
  }
  return failure;
}

std::unique_ptr<remote::WebTransfer> CurlWebClient::start(WebRequest request, WebEvents& events) {
  return std::make_unique<CurlWebTransfer>(std::move(request), events, options_, multi_);
}

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
  if (has_ended_) return;
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
  if (has_ended_) return;
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
    if (*is_alive && !has_ended_) fail(CURLE_RECV_ERROR, uv_strerror(status));
    return;
  }
  if ((ready & UV_WRITABLE) != 0) send();
  if (*is_alive && (ready & UV_READABLE) != 0) read();
}

void CurlConnection::read() {
  if (is_paused_ || has_ended_ || poll_ == nullptr) return;
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
    if (!*is_alive || is_paused_ || has_ended_) return;
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
  has_ended_ = true;
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

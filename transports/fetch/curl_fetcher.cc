#include "transports/fetch/curl_fetcher.h"

#include <curl/curl.h>
#include <openssl/err.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <utility>

#include "gateway/base/addresses.h"
#include "gateway/base/check.h"

namespace stdgate::fetch {

namespace {

constexpr long kOn = 1;
constexpr long kOff = 0;
constexpr long kOk = 200;

long milliseconds_of(std::chrono::seconds time) {
  return static_cast<long>(std::chrono::milliseconds(time).count());
}

FetchOutcome outcome_of(CURLcode code) {
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
      return FetchOutcome::timeout;
    case CURLE_FILESIZE_EXCEEDED:
    case CURLE_WRITE_ERROR:  // see on_body()
      return FetchOutcome::too_large;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ISSUER_ERROR:
      return FetchOutcome::untrusted;
    default:
      return FetchOutcome::unreachable;
  }
}

class CurlFetch final : public Fetch, private CurlUser {
 public:
  CurlFetch(const Request& request, Fetcher::Done done, CurlMulti& multi)
      : easy_(curl_easy_init()), done_(std::move(done)), multi_(multi) {
    STDGATE_CHECK(easy_ != nullptr);
    set_limits();
    set_request(request);
    multi_.add(easy_, *this);
  }
  ~CurlFetch() override {
    multi_.remove(easy_, *this);
    curl_easy_cleanup(easy_);
    curl_slist_free_all(fields_);
  }
  CurlFetch(const CurlFetch&) = delete;
  CurlFetch& operator=(const CurlFetch&) = delete;

 private:
  // Calls `done`, which may destroy it.
  void on_done(CURLcode code) override {
    const Fetched fetched = result(code);
    const auto done = std::exchange(done_, nullptr);
    done(fetched);
  }

  void set_limits() {
    curl_easy_setopt(easy_, CURLOPT_NOSIGNAL, kOn);
    curl_easy_setopt(easy_, CURLOPT_QUICK_EXIT, kOn);  // a thread that resolves a name goes on
    curl_easy_setopt(easy_, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy_, CURLOPT_FOLLOWLOCATION, kOff);
    curl_easy_setopt(easy_, CURLOPT_CONNECTTIMEOUT_MS, milliseconds_of(CurlFetcher::kConnectTime));
    curl_easy_setopt(easy_, CURLOPT_TIMEOUT_MS, milliseconds_of(CurlFetcher::kTime));
    curl_easy_setopt(easy_, CURLOPT_MAXFILESIZE_LARGE, curl_off_t{CurlFetcher::kMaxBody});
    curl_easy_setopt(easy_, CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
    curl_easy_setopt(easy_, CURLOPT_SSLVERSION, long{CURL_SSLVERSION_TLSv1_2});
    curl_easy_setopt(easy_, CURLOPT_OPENSOCKETFUNCTION, &CurlMulti::open_socket);
  }

  void set_request(const Request& request) {
    add_field("Accept: application/json");
    for (const std::string& field : request.fields) add_field(field.c_str());
    if (!request.body.empty()) set_body(request.body);
    curl_easy_setopt(easy_, CURLOPT_FORBID_REUSE, request.keeps_connection ? kOff : kOn);
    curl_easy_setopt(easy_, CURLOPT_URL, request.url.c_str());
    curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, fields_);
    curl_easy_setopt(easy_, CURLOPT_USERAGENT, "stdgate");
    curl_easy_setopt(easy_, CURLOPT_ERRORBUFFER, problem_.data());
    curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, &on_body);
    curl_easy_setopt(easy_, CURLOPT_WRITEDATA, this);
    const auto url = WebUrl::parse(request.url);
    if (url && url->is_loopback()) curl_easy_setopt(easy_, CURLOPT_NOPROXY, "*");
    if (request.certificates.empty()) return;
    curl_blob blob{};
    blob.data = const_cast<char*>(request.certificates.data());  // is not written to
    blob.len = request.certificates.size();
    blob.flags = CURL_BLOB_NOCOPY;
    curl_easy_setopt(easy_, CURLOPT_CAINFO_BLOB, &blob);
  }

  void add_field(const char* field) { fields_ = curl_slist_append(fields_, field); }

  // The body is not copied.
  void set_body(std::string_view body) {
    is_post_ = true;
    add_field("Content-Type: application/json");
    add_field("Expect:");  // nobody waits for a 100
    curl_easy_setopt(easy_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    curl_easy_setopt(easy_, CURLOPT_POSTFIELDS, body.data());
  }

  static size_t on_body(const char* bytes, size_t /*one*/, size_t size, void* data) {
    auto& self = *static_cast<CurlFetch*>(data);
    if (self.body_.size() + size > CurlFetcher::kMaxBody) return 0;
    self.body_.append(bytes, size);
    return size;
  }

  Fetched result(CURLcode code) {
    Fetched fetched;
    if (code != CURLE_OK) {
      fetched.outcome = outcome_of(code);
      fetched.detail = problem_.front() != '\0' ? problem_.data() : curl_easy_strerror(code);
      return fetched;
    }
    long status = 0;
    curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
    fetched.status = static_cast<int>(status);
    // The answer to a POST may be empty.
    if (status != kOk && !(is_post_ && status / 100 == 2)) {
      const bool is_redirect = status / 100 == 3;
      fetched.outcome = is_redirect ? FetchOutcome::redirected : FetchOutcome::bad_status;
      fetched.detail = "status " + std::to_string(status);
      fetched.retry_after = field("retry-after");
      return fetched;
    }
    fetched.body = std::move(body_);
    fetched.content_type = field("content-type");
    fetched.cache_control = field("cache-control");
    return fetched;
  }

  std::string field(const char* name) {
    curl_header* found = nullptr;
    if (curl_easy_header(easy_, name, 0, CURLH_HEADER, -1, &found) != CURLHE_OK) return {};
    return found->value;
  }

  CURL* const easy_;
  Fetcher::Done done_;
  CurlMulti& multi_;
  curl_slist* fields_ = nullptr;
  bool is_post_ = false;
  std::string body_;
  std::array<char, CURL_ERROR_SIZE> problem_{};
};

}  // namespace

CurlFetcher::CurlFetcher(net::Loop& loop) : loop_(loop) {}

CurlFetcher::~CurlFetcher() = default;

std::unique_ptr<Fetch> CurlFetcher::start(const Request& request, Done done) {
  if (multi_ == nullptr) multi_ = std::make_unique<CurlMulti>(loop_);
  return std::make_unique<CurlFetch>(request, std::move(done), *multi_);
}

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

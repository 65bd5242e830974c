#include "transports/fetch/http_client.h"

#include <curl/curl.h>

#include <array>
#include <chrono>
#include <memory>
#include <string_view>
#include <utility>

namespace stdgate::fetch {

namespace {

struct Received {
  std::string body;
  bool is_too_long = false;
};

size_t take_bytes(char* bytes, size_t size, size_t count, void* target) {
  auto* const received = static_cast<Received*>(target);
  const size_t length = size * count;
  if (received->body.size() + length > HttpClient::kMaxResponse) {
    received->is_too_long = true;
    return 0;
  }
  received->body.append(bytes, length);
  return length;
}

// The server's complaint about the certificate of its client, or the lack of one; empty: the error
// has another reason. OpenSSL's codes for such errors do not pass libcurl.
std::string certificate_trouble(std::string_view error, const HttpOptions& options) {
  const size_t at = error.find("alert ");
  if (at == std::string_view::npos) return {};
  const std::string_view alert = error.substr(at + 6, error.find(',', at) - at - 6);
  const bool has_certificate = !options.web.certificate_file.empty();
  // "decrypt error": another authority has the name of the right one.
  const bool is_about_certificates = alert.find("certificate") != std::string_view::npos ||
                                     alert == "unknown ca" || alert == "decrypt error";
  // TLS 1.2 has no alert of its own for a certificate that is missing.
  if (!has_certificate && (is_about_certificates || alert == "handshake failure")) {
    return "the gateway wants a certificate of its clients; --cert FILE and --key FILE name one";
  }
  if (!is_about_certificates) return {};
  return "the gateway refuses the certificate of --cert (" + std::string(alert) +
         "); is it of an authority in the gateway's client_ca, and still valid?";
}

// The time of a request ended after the gateway was reached.
std::string lateness(const std::string& place, Duration timeout) {
  const auto time = std::chrono::ceil<std::chrono::milliseconds>(timeout).count();
  const bool has_parts = time % 1000 != 0;
  return "no answer from " + place + " within " + std::to_string(has_parts ? time : time / 1000) +
         (has_parts ? " ms" : " s") + "; --timeout gives it longer";
}

bool has_sent(CURL* curl) {
  long sent = 0;
  return curl_easy_getinfo(curl, CURLINFO_REQUEST_SIZE, &sent) == CURLE_OK && sent > 0;
}

std::string advice_for(CURLcode code, const HttpOptions& options) {
  switch (code) {
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
      return "; does stdgate run there? --url names another place";
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      return options.web.ca_file.empty() ? "; --ca FILE names the authority of its certificate"
                                         : "";
    case CURLE_SSL_CERTPROBLEM:
      return "; --cert and --key name a certificate and its key, both in PEM";
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
      return options.url.starts_with("http://") ? "; does it want https://?" : "";
    case CURLE_OPERATION_TIMEDOUT:
      return "; --timeout gives it longer";
    default:
      return {};
  }
}

}  // namespace

struct HttpClient::Handle {
  CURL* curl = curl_easy_init();
  CURLM* multi = curl_multi_init();  // keeps connections for the next requests
  curl_slist* json_headers = nullptr;
  curl_slist* headers = nullptr;
};

// One request, under way on a handle that has the options of all.
struct HttpClient::Transfer {
  CURL* curl = nullptr;
  std::string url;
  std::string body;
  Received received;
  std::array<char, CURL_ERROR_SIZE> error{};
  CURLcode code = CURLE_OK;
};

tl::expected<GatewayAddress, std::string> parse_gateway_url(const std::string& text) {
  if (text.starts_with("unix:/")) return GatewayAddress{"http://localhost", text.substr(5)};
  const bool is_url = text.starts_with("http://") || text.starts_with("https://");
  if (!is_url || text.find("://") + 3 == text.size()) {
    return tl::unexpected("expected http://HOST:PORT, https://HOST:PORT or unix:/PATH, found '" +
                          text + "'");
  }
  std::string url = text;
  while (url.ends_with('/')) url.pop_back();
  return GatewayAddress{std::move(url), {}};
}

HttpClient::HttpClient(HttpOptions options)
    : options_(std::move(options)), handle_(std::make_unique<Handle>()) {
  CURL* const curl = handle_->curl;
  if (curl == nullptr) return;
  curl_slist* headers = curl_slist_append(nullptr, "Accept: application/json");
  if (!options_.api_key.empty()) {
    headers = curl_slist_append(headers, ("Authorization: Bearer " + options_.api_key).c_str());
  }
  handle_->headers = headers;
  handle_->json_headers = curl_slist_append(nullptr, "Content-Type: application/json");
  for (const curl_slist* other = headers; other != nullptr; other = other->next) {
    handle_->json_headers = curl_slist_append(handle_->json_headers, other->data);
  }
  CurlWebClient::set_options(curl, options_.web, options_.url);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "stdgate");
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_bytes);
  const auto timeout = std::chrono::ceil<std::chrono::milliseconds>(options_.timeout);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(timeout.count()));
}

HttpClient::~HttpClient() {
  curl_slist_free_all(handle_->headers);
  curl_slist_free_all(handle_->json_headers);
  curl_easy_cleanup(handle_->curl);
  curl_multi_cleanup(handle_->multi);
}

// `request` outlives it.
void HttpClient::prepare(Transfer& transfer, const HttpRequest& request) {
  CURL* const curl = transfer.curl;
  transfer.url = options_.url + request.path;
  transfer.body = request.body;
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, transfer.error.data());
  curl_easy_setopt(curl, CURLOPT_URL, transfer.url.c_str());
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer.received);
  if (request.body.empty()) {
    curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, handle_->headers);
  } else {
    const auto size = static_cast<curl_off_t>(transfer.body.size());
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, size);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, transfer.body.data());
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, handle_->json_headers);
  }
}

HttpClient::Result HttpClient::result_of(const Transfer& transfer, int code) const {
  const auto failure = static_cast<CURLcode>(code);
  if (transfer.received.is_too_long) {
    return tl::unexpected("the answer of " + transfer.url + " is too long");
  }
  if (failure != CURLE_OK) {
    const std::string& socket = options_.web.unix_socket;
    const std::string place = socket.empty() ? transfer.url : "unix:" + socket;
    if (failure == CURLE_OPERATION_TIMEDOUT && has_sent(transfer.curl)) {
      return tl::unexpected(lateness(place, options_.timeout));
    }
    const char* const why =
        transfer.error[0] == '\0' ? curl_easy_strerror(failure) : transfer.error.data();
    const std::string trouble = certificate_trouble(why, options_);
    return tl::unexpected("cannot reach " + place + ": " +
                          (trouble.empty() ? why + advice_for(failure, options_) : trouble));
  }
  long status = 0;
  curl_easy_getinfo(transfer.curl, CURLINFO_RESPONSE_CODE, &status);
  return HttpAnswer{static_cast<int>(status), transfer.received.body};
}

HttpClient::Result HttpClient::send(const std::string& path, const std::string& body) {
  return std::move(send_all({{path, body}}).front());
}

std::vector<HttpClient::Result> HttpClient::send_all(const std::vector<HttpRequest>& requests) {
  CURLM* const multi = handle_->multi;
  std::vector<std::unique_ptr<Transfer>> transfers;
  size_t begun = 0;
  size_t open = 0;
  const auto begin_next = [&] {
    auto& transfer = *transfers.emplace_back(std::make_unique<Transfer>());
    transfer.curl = handle_->curl == nullptr ? nullptr : curl_easy_duphandle(handle_->curl);
    if (transfer.curl == nullptr || multi == nullptr) {
      transfer.code = CURLE_OUT_OF_MEMORY;
    } else {
      prepare(transfer, requests[begun]);
      curl_easy_setopt(transfer.curl, CURLOPT_PRIVATE, &transfer);
      curl_multi_add_handle(multi, transfer.curl);
      ++open;
    }
    ++begun;
  };
  while (begun < requests.size() || open > 0) {
    while (begun < requests.size() && open < kMaxAtOnce) begin_next();
    int running = 0;
    curl_multi_perform(multi, &running);
    int left = 0;
    while (const CURLMsg* const message = curl_multi_info_read(multi, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      Transfer* done = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &done);
      done->code = message->data.result;
      curl_multi_remove_handle(multi, message->easy_handle);
      --open;
    }
    if (open > 0) curl_multi_poll(multi, nullptr, 0, 1000, nullptr);
  }
  std::vector<Result> results;
  results.reserve(transfers.size());
  for (const auto& transfer : transfers) {
    results.push_back(result_of(*transfer, transfer->code));
    curl_easy_cleanup(transfer->curl);
  }
  return results;
}

}  // namespace stdgate::fetch

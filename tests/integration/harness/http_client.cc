#include "tests/integration/harness/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace stdgate::harness {

namespace {

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error("http client: " + what);
}

[[noreturn]] void fail_with_errno(const std::string& what) {
  fail(what + ": " + std::strerror(errno));
}

template <typename Address>
int connect_to(int family, const Address& address, const std::string& endpoint) {
  const int socket = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) {
    fail_with_errno("socket");
  }
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int error = errno;
    ::close(socket);
    errno = error;
    fail_with_errno("connect to " + endpoint);
  }
  return socket;
}

int connect_unix(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    fail("path of a socket too long: " + path);
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return connect_to(AF_UNIX, address, path);
}

template <typename Number>
Number parse_number(std::string_view text, int base) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) {
    fail("not a number: " + std::string(text));
  }
  return value;
}

int connect_tcp(const std::string& endpoint) {
  std::string_view rest = endpoint;
  if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  }
  rest = rest.substr(0, rest.find('/'));
  const size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos) {
    fail("no port in " + endpoint);
  }
  const uint16_t port = htons(parse_number<uint16_t>(rest.substr(colon + 1), 10));
  std::string host(rest.substr(0, colon));
  if (host.starts_with('[') && host.ends_with(']')) {
    sockaddr_in6 address = {};
    address.sin6_family = AF_INET6;
    address.sin6_port = port;
    host = host.substr(1, host.size() - 2);
    if (inet_pton(AF_INET6, host.c_str(), &address.sin6_addr) != 1) {
      fail("not an address: " + endpoint);
    }
    return connect_to(AF_INET6, address, endpoint);
  }
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = port;
  if (inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) {
    fail("not an address: " + endpoint);
  }
  return connect_to(AF_INET, address, endpoint);
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string trim(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  text.remove_prefix(begin);
  return std::string(text.substr(0, text.find_last_not_of(" \t") + 1));
}

void add_header(HttpResponse& response, std::string_view line) {
  const size_t colon = line.find(':');
  if (colon == 0 || colon == std::string_view::npos || line[colon - 1] == ' ') {
    fail("malformed header: " + std::string(line));
  }
  const std::string name = lower(std::string(line.substr(0, colon)));
  const std::string value = trim(line.substr(colon + 1));
  const auto [field, first] = response.headers.emplace(name, value);
  if (!first) {
    field->second += ", " + value;
  }
}

// The status line (RFC 9112 section 4): "HTTP/1.1 200 OK".
void read_status_line(HttpResponse& response, std::string_view line) {
  if (!line.starts_with("HTTP/1.1 ") || line.size() < 13 || line[12] != ' ') {
    fail("malformed status line: " + std::string(line));
  }
  response.status = parse_number<int>(line.substr(9, 3), 10);
  response.reason = std::string(line.substr(13));
}

// A line of an event stream, see the HTML standard, "Interpreting an event stream".
void add_event_field(StreamEvent& event, std::string_view line, bool& has_data) {
  const size_t colon = std::min(line.find(':'), line.size());
  const std::string_view name = line.substr(0, colon);
  std::string_view value = line.substr(std::min(colon + 1, line.size()));
  if (value.starts_with(' ')) {
    value.remove_prefix(1);
  }
  if (name == "data") {
    event.data += (has_data ? "\n" : "") + std::string(value);
    has_data = true;
  } else if (name == "event") {
    event.type = value;
  } else if (name == "id") {
    event.id = value;
  }
}

}  // namespace

std::string HttpResponse::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

HttpClient::HttpClient(const std::string& endpoint, Millis deadline)
    : HttpClient(
          endpoint.starts_with("unix:") ? connect_unix(endpoint.substr(5)) : connect_tcp(endpoint),
          deadline) {}

HttpClient::HttpClient(int socket, Millis deadline) : socket_(socket), deadline_(deadline) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(deadline);
  timeval limit = {};
  limit.tv_sec = seconds.count();
  limit.tv_usec = std::chrono::duration_cast<std::chrono::microseconds>(deadline - seconds).count();
  setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

HttpClient::~HttpClient() { close(); }

HttpClient::HttpClient(HttpClient&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      deadline_(other.deadline_),
      received_(std::move(other.received_)),
      framing_(other.framing_),
      body_left_(other.body_left_),
      event_bytes_(std::move(other.event_bytes_)) {}

HttpResponse HttpClient::get(std::string_view path, const Headers& headers) {
  send_request("GET", path, "", headers);
  return read_response();
}

HttpResponse HttpClient::post(std::string_view path, std::string_view body,
                              const Headers& headers) {
  send_request("POST", path, body, headers);
  return read_response();
}

void HttpClient::send_request(std::string_view method, std::string_view path, std::string_view body,
                              const Headers& headers) {
  Headers fields = {{"host", "localhost"}};
  if (method == "POST") {
    fields["content-type"] = "application/json";
    fields["content-length"] = std::to_string(body.size());
  }
  for (const auto& [name, value] : headers) {
    fields[lower(name)] = value;
  }
  std::string request = std::string(method) + " " + std::string(path) + " HTTP/1.1\r\n";
  for (const auto& [name, value] : fields) {
    request += name + ": " + value + "\r\n";
  }
  send(request + "\r\n" + std::string(body));
}

void HttpClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) {
      fail_with_errno("send");
    }
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

bool HttpClient::readable_within(Millis deadline) const {
  pollfd poll_entry = {socket_, POLLIN, 0};
  return poll(&poll_entry, 1, static_cast<int>(deadline.count())) > 0;
}

bool HttpClient::receive() {
  if (!readable_within(deadline_)) {
    fail("nothing received within " + std::to_string(deadline_.count()) +
         " ms; so far: " + received_.substr(0, 500));
  }
  char piece[65536];
  const ssize_t count = recv(socket_, piece, sizeof piece, 0);
  if (count < 0) {
    fail_with_errno("receive");
  }
  received_.append(piece, static_cast<size_t>(count));
  return count > 0;
}

std::string HttpClient::read_line() {
  size_t end = received_.find("\r\n");
  while (end == std::string::npos) {
    if (!receive()) {
      fail("the connection ended within a line: " + received_);
    }
    end = received_.find("\r\n");
  }
  std::string line = received_.substr(0, end);
  received_.erase(0, end + 2);
  return line;
}

std::string HttpClient::read_exactly(size_t count) {
  while (received_.size() < count) {
    if (!receive()) {
      fail("the connection ended, " + std::to_string(count - received_.size()) + " bytes short");
    }
  }
  std::string bytes = received_.substr(0, count);
  received_.erase(0, count);
  return bytes;
}

HttpResponse HttpClient::read_head() {
  HttpResponse response;
  read_status_line(response, read_line());
  for (std::string line = read_line(); !line.empty(); line = read_line()) {
    add_header(response, line);
  }
  begin_body(response, false);
  return response;
}

// How the body is framed, see RFC 9112 section 6.3.
void HttpClient::begin_body(const HttpResponse& response, bool head) {
  const std::string length = response.header("content-length");
  const std::string coding = response.header("transfer-encoding");
  if (!length.empty() && !coding.empty()) {
    fail("both Content-Length and Transfer-Encoding");
  }
  event_bytes_.clear();
  body_left_ = 0;
  const int status = response.status;
  if (head || status / 100 == 1 || status == 204 || status == 304) {
    framing_ = Framing::none;
  } else if (coding == "chunked") {
    framing_ = Framing::chunked;
  } else if (!coding.empty()) {
    fail("unknown transfer coding: " + coding);
  } else if (!length.empty()) {
    framing_ = Framing::length;
    body_left_ = parse_number<size_t>(length, 10);
  } else {
    framing_ = Framing::until_end;
  }
}

std::optional<std::string> HttpClient::read_chunk() {
  const std::string size_line = read_line();
  const size_t size = parse_number<size_t>(size_line.substr(0, size_line.find(';')), 16);
  if (size == 0) {
    while (!read_line().empty()) {  // trailers
    }
    framing_ = Framing::none;
    return std::nullopt;
  }
  std::string chunk = read_exactly(size);
  if (read_exactly(2) != "\r\n") {
    fail("a chunk longer than its size says");
  }
  return chunk;
}

std::optional<std::string> HttpClient::read_body_piece() {
  if (framing_ == Framing::chunked) {
    return read_chunk();
  }
  if (framing_ == Framing::none || (framing_ == Framing::length && body_left_ == 0)) {
    return std::nullopt;
  }
  if (received_.empty() && !receive()) {
    if (framing_ == Framing::length) {
      fail("the connection ended, " + std::to_string(body_left_) + " bytes of the body short");
    }
    return std::nullopt;
  }
  const size_t count =
      framing_ == Framing::length ? std::min(body_left_, received_.size()) : received_.size();
  body_left_ -= framing_ == Framing::length ? count : 0;
  return read_exactly(count);
}

HttpResponse HttpClient::read_response() {
  HttpResponse response = read_head();
  while (const std::optional<std::string> piece = read_body_piece()) {
    response.body += *piece;
  }
  return response;
}

HttpResponse HttpClient::read_response_to_head() {
  HttpResponse response = read_head();
  begin_body(response, true);
  return response;
}

std::optional<std::string> HttpClient::next_event_line() {
  size_t end = event_bytes_.find('\n');
  while (end == std::string::npos) {
    const std::optional<std::string> piece = read_body_piece();
    if (!piece) {
      return std::nullopt;
    }
    event_bytes_ += *piece;
    end = event_bytes_.find('\n');
  }
  std::string line = event_bytes_.substr(0, end);
  event_bytes_.erase(0, end + 1);
  if (line.ends_with('\r')) {
    line.pop_back();
  }
  return line;
}

std::optional<StreamEvent> HttpClient::read_event() {
  StreamEvent event;
  bool has_data = false;
  while (const std::optional<std::string> line = next_event_line()) {
    if (line->starts_with(':')) {
      event.comment = trim(line->substr(1));
      return event;
    }
    if (!line->empty()) {
      add_event_field(event, *line, has_data);
    } else if (has_data || !event.id.empty() || !event.type.empty()) {
      if (event.type.empty()) {
        event.type = "message";
      }
      return event;
    }
  }
  return std::nullopt;
}

std::string HttpClient::read_to_end() {
  while (receive()) {
  }
  return std::exchange(received_, "");
}

bool HttpClient::closed_within(Millis deadline) {
  char byte = 0;
  return received_.empty() && readable_within(deadline) &&
         recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
}

bool HttpClient::silent_for(Millis duration) {
  return received_.empty() && !readable_within(duration);
}

void HttpClient::finish_sending() { shutdown(socket_, SHUT_WR); }

void HttpClient::close() {
  if (socket_ >= 0) {
    ::close(std::exchange(socket_, -1));
  }
}

std::string raw_request(const std::string& method, const std::string& target,
                        const std::string& fields, const std::string& body) {
  std::string text = method + " " + target + " HTTP/1.1\r\n" + fields;
  if (!body.empty()) {
    text +=
        "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  }
  return text + "Connection: close\r\n\r\n" + body;
}

std::string answer_to(const std::string& url, const std::string& bytes) {
  HttpClient client(url);
  client.send(bytes);
  if (bytes.find("\r\nUpgrade: ") != std::string::npos) client.finish_sending();
  return client.read_to_end();
}

int status_of(const std::string& answer) {
  const size_t space = answer.find(' ');
  return space == std::string::npos ? 0 : std::atoi(answer.c_str() + space + 1);
}

}  // namespace stdgate::harness

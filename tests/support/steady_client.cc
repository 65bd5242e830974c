#include "tests/support/steady_client.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <thread>

namespace stdgate::test {

namespace {

constexpr size_t kTextSize = 40;  // the whole request is 100 bytes long

std::string echo_params() { return R"({"text":")" + std::string(kTextSize, 'x') + R"("})"; }

std::string echo_request(std::string_view id) {
  return R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"method":"echo","params":)" +
         echo_params() + '}';
}

std::string post(std::string_view path, std::string_view more_fields, std::string_view body) {
  return "POST " + std::string(path) +
         " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n" + std::string(more_fields) + "\r\n" +
         std::string(body);
}

// RFC 6455 section 5.2, with a mask of zeros: a text frame of up to 125 bytes.
std::string client_frame(std::string_view text) {
  std::string frame = {'\x81', static_cast<char>(0x80 | text.size())};
  return frame.append(4, '\0').append(text);
}

}  // namespace

SteadyCall echo_over_http(std::string_view path, std::string_view id,
                          std::string_view more_fields) {
  return {"", post(path, more_fields, echo_request(id)), echo_params() + '}'};
}

namespace {

SteadyCall call_over_mcp(std::string_view path, std::string_view more_fields,
                         std::string_view params, std::string answer_end) {
  constexpr std::string_view kAccept = "Accept: application/json, text/event-stream\r\n";
  constexpr std::string_view kVersion = "MCP-Protocol-Version: 2025-11-25\r\n";
  const std::string fields = std::string(kAccept).append(more_fields);
  SteadyCall call;
  call.opening =
      post(path, fields,
           R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":)"
           R"("2025-11-25","capabilities":{},"clientInfo":{"name":"steady","version":"1"}}})");
  call.opening_end = "}}";
  call.request = post(
      path, fields + std::string(kVersion),
      R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":)" + std::string(params) + "}");
  call.session_place = call.request.find(kVersion);
  call.answer_end = std::move(answer_end);
  return call;
}

}  // namespace

SteadyCall echo_over_mcp(std::string_view path, std::string_view more_fields) {
  const std::string text = '"' + std::string(kTextSize, 'x') + '"';
  return call_over_mcp(path, more_fields, R"({"name":"echo","arguments":{"text":)" + text + "}}",
                       text + "}]}}");
}

SteadyCall form_over_mcp(std::string_view path) {
  return call_over_mcp(path, "",
                       R"({"name":"form","arguments":{"text":"Ada","n":3,"part":0.5,"on":true,)"
                       R"("all":["a","b"],"is":"new","lo":1,"hi":9,"id":"k7","x":"-"}})",
                       R"("Ada"}]}})");
}

SteadyCall echo_over_modern_mcp(std::string_view path, std::string_view more_fields,
                                std::string_view tool) {
  constexpr std::string_view kFields =
      "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
      "Mcp-Method: tools/call\r\nMcp-Name: ";
  const std::string text = '"' + std::string(kTextSize, 'x') + '"';
  SteadyCall call;
  const std::string fields = std::string(kFields).append(tool).append("\r\n").append(more_fields);
  call.request = post(path, fields,
                      R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{)"
                      R"("io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                      R"("io.modelcontextprotocol/clientInfo":{"name":"steady","version":"1"},)"
                      R"("io.modelcontextprotocol/clientCapabilities":{}},"name":")" +
                          std::string(tool) + R"(","arguments":{"text":)" + text + "}}}");
  call.answer_end = text + "}]}}";
  return call;
}

SteadyCall echo_over_websocket(std::string_view path, std::string_view id) {
  return {"GET " + std::string(path) +
              " HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
              "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
          client_frame(echo_request(id)), echo_params() + '}'};
}

bool SteadyClient::prepare(const std::string& socket_path) {
  if (!connect(socket_path) || !open()) return false;
  for (size_t i = 0; i < at_once_; ++i) round_ += call_.request;
  if (!send(call_.request) || !read_until_end(call_.answer_end)) return false;
  answer_size_ = size_;
  return at_once_ * answer_size_ <= kBufferSize;
}

bool SteadyClient::run(size_t rounds) {
  for (size_t i = 0; i < rounds; ++i) {
    if (!send(round_) || !read_until_size(at_once_ * answer_size_)) return false;
    if (!received().ends_with(call_.answer_end)) return false;
  }
  return true;
}

bool SteadyClient::connect(const std::string& socket_path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof(address.sun_path)) return false;
  std::copy(socket_path.begin(), socket_path.end(), address.sun_path);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  do {
    socket_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } while (std::chrono::steady_clock::now() < deadline);
  return false;
}

bool SteadyClient::open() {
  if (call_.opening.empty()) return true;
  if (!send(call_.opening) || !read_until_end(call_.opening_end)) return false;
  if (call_.session_place == 0) return true;
  const size_t begin = received().find("Mcp-Session-Id: ");
  if (begin == std::string_view::npos) return false;
  const size_t end = received().find("\r\n", begin) + 2;
  call_.request.insert(call_.session_place, received().substr(begin, end - begin));
  return true;
}

bool SteadyClient::send(std::string_view bytes) {
  size_ = 0;
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool SteadyClient::read_until_size(size_t size) {
  while (size_ < size) {
    if (!read_some()) return false;
  }
  return size_ == size;
}

bool SteadyClient::read_until_end(std::string_view end) {
  while (!received().ends_with(end)) {
    if (!read_some()) return false;
  }
  return true;
}

bool SteadyClient::read_some() {
  pollfd entry = {socket_.get(), POLLIN, 0};
  const auto wait_ms = std::chrono::milliseconds(kPatience).count();
  if (::poll(&entry, 1, static_cast<int>(wait_ms)) <= 0) return false;
  const ssize_t count = ::read(socket_.get(), buffer_.data() + size_, buffer_.size() - size_);
  if (count > 0) size_ += static_cast<size_t>(count);
  return count > 0;
}

}  // namespace stdgate::test

// SteadyClient: one connection to a gateway's Unix socket that sends the same request over and
// over.
//
// Job: drive the steady state without disturbing the measurement: blocking, with a buffer of its
// own, and without an allocation after prepare(). Owner: a test, or a measuring program. Errors:
// functions return false. Limits: kBufferSize bytes for all answers of a round, kPatience for each
// answer.
#pragma once

#include <array>
#include <chrono>
#include <string>
#include <string_view>

#include "transports/net/file_descriptor.h"

namespace stdgate::test {

// SteadyCall: the bytes of one request, and bytes that occur only at the end of its answer.
struct SteadyCall {
  std::string opening;  // sent once, before the requests; may be empty
  std::string request;
  std::string answer_end;
  std::string opening_end = "\r\n\r\n";  // end of the answer to `opening`
  // Where in `request` the session's header line is inserted, which the answer to `opening` names;
  // zero: the request has no session.
  size_t session_place = 0;
};

// A call of `echo` whose request has 100 bytes with an id of one digit. `id` is raw JSON. The call
// is a POST to `path`, with `more_fields` as lines of the header, or a message on the WebSocket
// there.
SteadyCall echo_over_http(std::string_view path, std::string_view id = "1",
                          std::string_view more_fields = "");
SteadyCall echo_over_websocket(std::string_view path, std::string_view id = "1");
// A call of the MCP tool "echo" with the same text, in a session that is opened at `path`.
SteadyCall echo_over_mcp(std::string_view path, std::string_view more_fields = "");
// A call of the tool "form" with ten arguments in 100 bytes, in such a session.
SteadyCall form_over_mcp(std::string_view path);
// A call of the tool `tool` in MCP's modern era, without a session. The echo child accepts any
// name.
SteadyCall echo_over_modern_mcp(std::string_view path, std::string_view more_fields = "",
                                std::string_view tool = "echo");

class SteadyClient {
 public:
  static constexpr size_t kBufferSize = 64 << 10;
  static constexpr std::chrono::seconds kPatience{30};

  // `at_once` requests are sent with one write, and their answers are awaited together.
  SteadyClient(SteadyCall call, size_t at_once) : call_(std::move(call)), at_once_(at_once) {}

  // Connects as soon as the socket has a listener, and waits for the answer to the first call.
  bool prepare(const std::string& socket_path);
  bool run(size_t rounds);

 private:
  bool connect(const std::string& socket_path);
  bool open();
  bool send(std::string_view bytes);
  // Read until the bytes of this round have the given size, or the given end.
  bool read_until_size(size_t size);
  bool read_until_end(std::string_view end);
  bool read_some();
  [[nodiscard]] std::string_view received() const { return {buffer_.data(), size_}; }

  SteadyCall call_;
  const size_t at_once_;
  std::string round_;       // all requests of a round
  size_t answer_size_ = 0;  // of one answer
  net::FileDescriptor socket_;
  std::array<char, kBufferSize> buffer_{};
  size_t size_ = 0;
};

}  // namespace stdgate::test

// HttpClient: a blocking HTTP/1.1 client over one connection, for tests that check bytes on the
// wire.
//
// Sends whatever it is given, and reads responses strictly (RFC 9112). Throws std::runtime_error at
// malformed input, at an early end, and when a read or write takes longer than the deadline.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "tests/integration/harness/eventually.h"

namespace stdgate::harness {

// Names are in lower case. Values of a repeated field are joined by ", ".
using Headers = std::map<std::string, std::string>;

struct HttpResponse {
  int status = 0;
  std::string reason;
  Headers headers;
  std::string body;

  [[nodiscard]] std::string header(const std::string& name) const;  // empty: absent
};

// An event of a text/event-stream, or a comment between events.
struct StreamEvent {
  std::string type;  // "message" unless the stream says otherwise
  std::string id;
  std::string data;
  std::string comment;  // of a comment line; the other members are empty then
};

class HttpClient {
 public:
  // `endpoint`: "http://127.0.0.1:8080", with or without a path, or "unix:/path".
  explicit HttpClient(const std::string& endpoint, Millis deadline = Millis(10'000));
  // Takes over a connected socket.
  explicit HttpClient(int socket, Millis deadline = Millis(10'000));
  ~HttpClient();
  HttpClient(HttpClient&& other) noexcept;
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  HttpClient& operator=(HttpClient&&) = delete;

  HttpResponse get(std::string_view path, const Headers& headers = {});
  // Content-Type is application/json unless `headers` says otherwise.
  HttpResponse post(std::string_view path, std::string_view body, const Headers& headers = {});

  // Parts of an exchange: write anything, then read a response with its body. An interim response
  // (1xx) is returned like any other. The caller must know whether the request was a HEAD.
  void send(std::string_view bytes);
  void send_request(std::string_view method, std::string_view path, std::string_view body,
                    const Headers& headers);
  HttpResponse read_response();
  HttpResponse read_response_to_head();

  // For bodies without an end: reads the head, then one event at a time; nothing at the end.
  HttpResponse read_head();
  std::optional<StreamEvent> read_event();

  // Everything up to the end of the stream.
  std::string read_to_end();
  // Whether the server ends the connection by the deadline without sending anything more.
  bool closed_within(Millis deadline);
  // Whether nothing arrives for this long.
  bool silent_for(Millis duration);

  void finish_sending();  // half-close
  void close();

  [[nodiscard]] int socket() const { return socket_; }
  // Bytes that have been received but not read.
  [[nodiscard]] const std::string& buffered() const { return received_; }

 private:
  enum class Framing { none, length, chunked, until_end };

  bool receive();  // false at the end of the stream
  bool readable_within(Millis deadline) const;
  std::string read_line();
  std::string read_exactly(size_t count);
  void begin_body(const HttpResponse& response, bool head);
  // A piece of the body; nothing at its end.
  std::optional<std::string> read_body_piece();
  std::optional<std::string> read_chunk();
  std::optional<std::string> next_event_line();

  int socket_ = -1;
  Millis deadline_;
  std::string received_;
  Framing framing_ = Framing::none;
  size_t body_left_ = 0;     // left of the body, for Framing::length
  std::string event_bytes_;  // bytes of the body without a complete line
};

// --- Requests as bytes, and the whole answer, for tests that send what no client would

// A request with these header lines, which end with CRLF. A body is JSON. The request asks the
// server to close the connection.
std::string raw_request(const std::string& method, const std::string& target,
                        const std::string& fields, const std::string& body);

// Everything that the gateway answers to these bytes on a new connection. For an upgrade the client
// ends its side as well, which ends a WebSocket.
std::string answer_to(const std::string& url, const std::string& bytes);

// The status of the first response in `answer`; 0: it has none.
int status_of(const std::string& answer);

}  // namespace stdgate::harness

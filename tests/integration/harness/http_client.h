// HttpClient: a blocking HTTP/1.1 client over one connection, for tests that mind the bytes.
//
// Sends whatever it is given, reads responses strictly (RFC 9112) and throws std::runtime_error at
// anything malformed, at an early end, and when a read or write takes longer than the deadline.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "tests/integration/harness/eventually.h"

namespace stdgate::harness {

// Names in lower case. A field that came several times is joined by ", ".
using Headers = std::map<std::string, std::string>;

struct HttpResponse {
  int status = 0;
  std::string reason;
  Headers headers;
  std::string body;

  [[nodiscard]] std::string header(const std::string& name) const;  // empty: absent
};

// An event of a text/event-stream, or a comment between two.
struct StreamEvent {
  std::string type;  // "message" unless the stream says otherwise
  std::string id;
  std::string data;
  std::string comment;  // of a comment line; then the rest is empty
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

  // In parts: write anything, then read one response with its body. Interim responses (1xx) come
  // as responses of their own. Only the caller knows that the request was a HEAD.
  void send(std::string_view bytes);
  void send_request(std::string_view method, std::string_view path, std::string_view body,
                    const Headers& headers);
  HttpResponse read_response();
  HttpResponse read_response_to_head();

  // For bodies that never end: the head, then the body event by event; nothing at its end.
  HttpResponse read_head();
  std::optional<StreamEvent> read_event();

  // Everything up to the end of the stream.
  std::string read_to_end();
  // Whether the other side ends the connection in time without sending anything more.
  bool closed_within(Millis deadline);
  // Whether nothing arrives for so long.
  bool silent_for(Millis duration);

  void finish_sending();  // half-close
  void close();

  [[nodiscard]] int socket() const { return socket_; }
  // Received, and not yet read.
  [[nodiscard]] const std::string& buffered() const { return received_; }

 private:
  enum class Framing { none, length, chunked, until_end };

  bool receive();  // false at the end of the stream
  bool readable_within(Millis deadline) const;
  std::string read_line();
  std::string read_exactly(size_t count);
  void begin_body(const HttpResponse& response, bool head);
  // One piece of the body; nothing at its end.
  std::optional<std::string> read_body_piece();
  std::optional<std::string> read_chunk();
  std::optional<std::string> next_event_line();

  int socket_ = -1;
  Millis deadline_;
  std::string received_;
  Framing framing_ = Framing::none;
  size_t body_left_ = 0;     // of Framing::length
  std::string event_bytes_;  // of the body, not yet taken as lines
};

// --- Requests as bytes, and all that comes back, for tests that send what no client would

// A request with these header lines, each with its CRLF. A body is JSON. The request asks the
// server to close the connection.
std::string raw_request(const std::string& method, const std::string& target,
                        const std::string& fields, const std::string& body);

// Everything that the gateway answers to these bytes, on a connection of their own. Where another
// protocol is asked for, the client ends its side too, which ends a WebSocket.
std::string answer_to(const std::string& url, const std::string& bytes);

// The status of the first response in `answer`; 0: there is none.
int status_of(const std::string& answer);

}  // namespace stdgate::harness

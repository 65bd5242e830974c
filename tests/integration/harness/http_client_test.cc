// The test client itself: it reads what is right and throws at what is wrong.
#include "tests/integration/harness/http_client.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string>

namespace stdgate::harness::http_client_test {
namespace {

// A client whose other end is in the test's hand.
struct Pair {
  Pair() : Pair(open_pair()) {}
  ~Pair() { finish(); }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  void answer(std::string_view bytes) const {
    ASSERT_EQ(write(other, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  void finish() {
    if (other >= 0) {
      close(other);
      other = -1;
    }
  }
  [[nodiscard]] std::string asked() const {
    std::array<char, 4096> bytes = {};
    const ssize_t count = recv(other, bytes.data(), bytes.size(), MSG_DONTWAIT);
    return {bytes.data(), count > 0 ? static_cast<size_t>(count) : 0};
  }

  HttpClient client;
  int other;

 private:
  explicit Pair(std::array<int, 2> ends) : client(ends[0], Millis(200)), other(ends[1]) {}
  static std::array<int, 2> open_pair() {
    std::array<int, 2> ends = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    return ends;
  }
};

TEST(HttpClient, WritesRequests) {
  Pair pair;
  pair.client.send_request("POST", "/rpc", "{}", {{"Accept", "text/event-stream"}});
  EXPECT_EQ(pair.asked(),
            "POST /rpc HTTP/1.1\r\naccept: text/event-stream\r\ncontent-length: 2\r\n"
            "content-type: application/json\r\nhost: localhost\r\n\r\n{}");
}

TEST(HttpClient, ReadsBodies) {
  struct Case {
    const char* bytes;
    int status;
    const char* body;
    const char* left;
  };
  const Case cases[] = {
      {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhirest", 200, "hi", "rest"},
      {"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", 200, "", ""},
      {"HTTP/1.1 204 No Content\r\n\r\nrest", 204, "", "rest"},
      {"HTTP/1.1 100 Continue\r\n\r\nHTTP", 100, "", "HTTP"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n"
       "0\r\nTrailer: 1\r\n\r\nrest",
       200, "abc0123456789", "rest"},
      {"HTTP/1.1 200 OK\r\n\r\nup to the end", 200, "up to the end", ""},
  };
  for (const Case& expected : cases) {
    SCOPED_TRACE(expected.bytes);
    Pair pair;
    pair.answer(expected.bytes);
    pair.finish();
    const HttpResponse response = pair.client.read_response();
    EXPECT_EQ(response.status, expected.status);
    EXPECT_EQ(response.body, expected.body);
    EXPECT_EQ(pair.client.buffered(), expected.left);
  }
}

TEST(HttpClient, RefusesWhatIsMalformed) {
  const char* const cases[] = {
      "",
      "HTTP/1.0 200 OK\r\n\r\n",
      "HTTP/1.1 2x0 OK\r\n\r\n",
      "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
      "HTTP/1.1 200 OK\r\nname : value\r\n\r\n",
      "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nhi",
      "HTTP/1.1 200 OK\r\ncontent-length: 2, 2\r\n\r\nhi",
      "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n",
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nz\r\n",
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n",
  };
  for (const char* bytes : cases) {
    SCOPED_TRACE(bytes);
    Pair pair;
    pair.answer(bytes);
    pair.finish();
    EXPECT_THROW(pair.client.read_response(), std::runtime_error);
  }
}

TEST(HttpClient, ThrowsAtTheDeadline) {
  Pair pair;
  pair.answer("HTTP/1.1 200 OK\r\n");
  EXPECT_THROW(pair.client.read_response(), std::runtime_error);
}

TEST(HttpClient, JoinsRepeatedHeaders) {
  Pair pair;
  pair.answer("HTTP/1.1 200 OK\r\nA:  1 \r\na: 2\r\nContent-Length: 0\r\n\r\n");
  const HttpResponse response = pair.client.read_response();
  EXPECT_EQ(response.header("a"), "1, 2");
  EXPECT_EQ(response.header("b"), "");
}

TEST(HttpClient, ReadsHeadOfWhatHasNoBody) {
  Pair pair;
  pair.answer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(pair.client.read_response_to_head().header("content-length"), "5");
  EXPECT_TRUE(pair.client.silent_for(Millis(20)));
}

TEST(HttpClient, ReadsEvents) {
  const std::string body =
      "data: {\"a\":1}\n\n: keep-alive\n\nevent: endpoint\nid: 7\ndata:x\r\ndata: y\r\n\r\n"
      "id: 8\ndata:\n\ndata: [DONE]\n\n";
  // One chunk a byte: wherever the stream is cut, the events are the same.
  std::string bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const char byte : body) {
    bytes += std::string("1\r\n") + byte + "\r\n";
  }
  Pair pair;
  pair.answer(bytes + "0\r\n\r\n");
  pair.client.read_head();
  struct Case {
    const char* type;
    const char* id;
    const char* data;
    const char* comment;
  };
  const Case cases[] = {{"message", "", "{\"a\":1}", ""},
                        {"", "", "", "keep-alive"},
                        {"endpoint", "7", "x\ny", ""},
                        {"message", "8", "", ""},
                        {"message", "", "[DONE]", ""}};
  for (const Case& expected : cases) {
    const std::optional<StreamEvent> event = pair.client.read_event();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->type, expected.type);
    EXPECT_EQ(event->id, expected.id);
    EXPECT_EQ(event->data, expected.data);
    EXPECT_EQ(event->comment, expected.comment);
  }
  EXPECT_FALSE(pair.client.read_event());
}

TEST(HttpClient, SeesTheEnd) {
  Pair pair;
  EXPECT_FALSE(pair.client.closed_within(Millis(10)));
  pair.answer("x");
  EXPECT_FALSE(pair.client.closed_within(Millis(10)));
  EXPECT_FALSE(pair.client.silent_for(Millis(10)));
  pair.finish();
  EXPECT_EQ(pair.client.read_to_end(), "x");
  EXPECT_TRUE(pair.client.closed_within(Millis(10)));
}

}  // namespace
}  // namespace stdgate::harness::http_client_test

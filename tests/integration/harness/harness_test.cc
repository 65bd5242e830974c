#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "tests/integration/harness/gateway_process.h"
#include "tests/integration/harness/http_client.h"
#include "tests/integration/harness/metrics_text.h"
#include "tests/integration/harness/websocket_client.h"

namespace stdgate::harness::gateway_process_test {

// Tests of GatewayProcess, with shell scripts in place of a gateway: it must notice whatever goes
// wrong.

namespace {

using testing::HasSubstr;
using testing::SizeIs;

GatewaySetup script(const std::string& text) {
  GatewaySetup setup;
  setup.program = "/bin/sh";
  setup.arguments = {"-c", text};
  return setup;
}

const char* const kSpeak =
    "echo 'listening on http://127.0.0.1:1'; echo 'listening on unix:@DIR@/s (local)';"
    "echo 'admin on http://127.0.0.1:2';";

// Exits with code 0 at SIGTERM, after its children have ended.
const char* const kServe =
    "trap 'kill $child; wait; exit 0' TERM; sleep 600 & child=$!; echo started >&2;"
    "while :; do wait $child; done";

TEST(GatewayProcess, ReadsWhereItListens) {
  GatewaySetup setup = script(std::string(kSpeak) + kServe);
  setup.listeners = 2;
  GatewayProcess gateway(setup);
  EXPECT_EQ(gateway.url(), "http://127.0.0.1:1");
  EXPECT_EQ(gateway.url(1), "unix:" + gateway.folder().string() + "/s");
  EXPECT_EQ(gateway.admin_url(), "http://127.0.0.1:2");
  EXPECT_TRUE(eventually("the log is caught", [&] { return gateway.log() == "started\n"; }));
  EXPECT_TRUE(eventually("the child is seen", [&] { return gateway.descendants().size() == 1; }));
  EXPECT_THAT(children_of(gateway.pid()), SizeIs(1));
}

TEST(GatewayProcess, ThrowsWhenItDoesNotStart) {
  try {
    GatewayProcess gateway(script("echo 'bad configuration' >&2; exit 2"));
    FAIL() << "started";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("bad configuration"));
  }
}

TEST(GatewayProcess, TellsHowItEnded) {
  GatewayProcess first(script(std::string(kSpeak) + "exit 3"));
  EXPECT_EQ(first.wait_for_exit().value().code, 3);
  GatewayProcess second(script(std::string(kSpeak) + "exec sleep 600"));
  EXPECT_FALSE(second.wait_for_exit(Millis(20)));
  second.signal(SIGKILL);
  EXPECT_EQ(second.wait_for_exit().value().signal, SIGKILL);
}

TEST(GatewayProcess, FailsTheTestWhenTheExitIsNotClean) {
  EXPECT_NONFATAL_FAILURE(
      { GatewayProcess gateway(script(std::string(kSpeak) + "exec sleep 600")); }, "signal 15");
}

TEST(GatewayProcess, FailsTheTestWhenSomethingIsLeft) {
  // Only the working directory leads to the remaining process; its arguments and environment show
  // nothing. The script sets the trap before it starts the child, so that it handles SIGTERM as
  // soon as the test has seen the child.
  EXPECT_NONFATAL_FAILURE(
      {
        GatewayProcess gateway(script("trap 'exit 0' TERM;" + std::string(kSpeak) +
                                      "env -i setsid sleep 600 & while :; do wait; done"));
        eventually("it runs", [&] { return !gateway.descendants().empty(); });
      },
      "sleep 600");
}

TEST(GatewayProcess, WritesTheConfiguration) {
  GatewaySetup setup = script("");
  setup.program = "/bin/cat";
  setup.arguments = {"/dev/null"};
  setup.config = "admin: \"off\"\nbackends: @DIR@\n";
  try {
    // cat fails because it does not know --config, and prints that. So the file was written before
    // the start.
    GatewayProcess gateway(setup);
    FAIL() << "started";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("--config"));
  }
}

TEST(Eventually, FailsAtTheDeadline) {
  EXPECT_NONFATAL_FAILURE(eventually(
                              "pigs fly", [] { return false; }, Millis(10)),
                          "not within 10 ms: pigs fly");
  int asked = 0;
  EXPECT_TRUE(eventually("the third time", [&] { return ++asked == 3; }));
}

TEST(Processes, ZombiesAreSeenAsChildren) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    _exit(0);
  }
  EXPECT_TRUE(eventually("a zombie", [] {
    const std::vector<ProcessInfo> children = children_of(getpid());
    return children.size() == 1 && children[0].state == 'Z';
  }));
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_THAT(children_of(getpid()), SizeIs(0));
}

}  // namespace

}  // namespace stdgate::harness::gateway_process_test

namespace stdgate::harness::http_client_test {

// Tests of HttpClient: it reads correct responses, and throws at malformed responses.

namespace {

// A client that is connected to a socket of the test.
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
  // One chunk per byte: the events must not depend on where the stream is cut.
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

namespace stdgate::harness::metrics_text_test {

// Tests of MetricsText.

namespace {

TEST(MetricsText, FindsSeries) {
  const MetricsText metrics(
      "# HELP calls_total Calls, by \"method\".\n"
      "# TYPE calls_total counter\n"
      "calls_total{backend=\"a\",method=\"x\"} 3\n"
      "calls_total{backend=\"a\",method=\"y\"} 4\n"
      "calls_total{backend=\"b\",method=\"q\\\"\\\\\\n}, \"} 5\n"
      "\n"
      "up 1.5e-3\n"
      "le_bucket{le=\"+Inf\"} +Inf\n");
  EXPECT_EQ(metrics.type("calls_total"), "counter");
  EXPECT_EQ(metrics.type("up"), "");
  EXPECT_EQ(metrics.value("calls_total", {{"method", "y"}, {"backend", "a"}}), 4);
  EXPECT_EQ(metrics.value("calls_total", {{"backend", "b"}, {"method", "q\"\\\n}, "}}), 5);
  EXPECT_EQ(metrics.value("calls_total", {{"backend", "a"}}), std::nullopt);
  EXPECT_EQ(metrics.value("nothing", {}), std::nullopt);
  EXPECT_EQ(metrics.value("up", {}), 0.0015);
  EXPECT_TRUE(std::isinf(metrics.value("le_bucket", {{"le", "+Inf"}}).value()));
  EXPECT_EQ(metrics.sum("calls_total"), 12);
  EXPECT_EQ(metrics.sum("calls_total", {{"backend", "a"}}), 7);
  EXPECT_EQ(metrics.sum("calls_total", {{"backend", "c"}}), 0);
  EXPECT_EQ(metrics.sum("nothing"), 0);
  EXPECT_EQ(metrics.series("calls_total"), 3U);
  EXPECT_EQ(metrics.series("nothing"), 0U);
}

TEST(MetricsText, RefusesWhatIsMalformed) {
  for (const char* text : {"a", "a ", "a x", "a 1x", "{a=\"b\"} 1", "a{b} 1", "a{b=\"c} 1",
                           "a{b=\"c\"}1", "a{=\"c\"} 1", "a 1\na 2\n", "a-b 1"}) {
    EXPECT_THROW(MetricsText{text}, std::runtime_error) << text;
  }
}

}  // namespace

}  // namespace stdgate::harness::metrics_text_test

namespace stdgate::harness::websocket_client_test {

// Tests of WebSocketClient: it writes the examples of section 5 of RFC 6455, reads correct frames,
// and throws at wrong frames.

namespace {

// A client that is connected to a socket of the test.
class Pair {
 public:
  Pair() : Pair(open_pair()) {}
  ~Pair() { finish(); }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  void answer(std::string_view bytes) const {
    ASSERT_EQ(write(other_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  void finish() {
    if (other_ >= 0) ::close(std::exchange(other_, -1));
  }
  [[nodiscard]] std::string sent() const {
    std::array<char, 4096> bytes = {};
    const ssize_t count = recv(other_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    return {bytes.data(), count > 0 ? static_cast<size_t>(count) : 0};
  }

  WebSocketClient client;

 private:
  explicit Pair(std::array<int, 2> ends) : client(ends[0], Millis(200)), other_(ends[1]) {}
  static std::array<int, 2> open_pair() {
    std::array<int, 2> ends = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    return ends;
  }

  int other_;
};

// A frame of a server, which is not masked.
std::string unmasked(uint8_t opcode, const std::string& payload) {
  return frame_bytes({.opcode = opcode, .payload = payload, .masked = false});
}

TEST(WebSocketClient, WritesTheFramesOfSection57) {
  EXPECT_EQ(unmasked(Frame::kText, "Hello"), "\x81\x05Hello");
  EXPECT_EQ(frame_bytes({.payload = "Hello"}), "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58");
  EXPECT_EQ(frame_bytes({.payload = "Hel", .final = false, .masked = false}), "\x01\x03Hel");
  EXPECT_EQ(unmasked(Frame::kContinuation, "lo"), "\x80\x02lo");
  EXPECT_EQ(unmasked(Frame::kPing, "Hello"), "\x89\x05Hello");
  EXPECT_EQ(unmasked(Frame::kBinary, std::string(256, 'x')).substr(0, 5),
            std::string("\x82\x7e\x01\x00x", 5));
  EXPECT_EQ(unmasked(Frame::kBinary, std::string(65536, 'x')).substr(0, 11),
            std::string("\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00x", 11));
  EXPECT_EQ(fragment_bytes({"a", "b", "c"}).size(), 3U * 7);
  EXPECT_EQ(frame_bytes({.opcode = Frame::kClose, .reserved = 5, .masked = false})[0], '\xd8');
}

TEST(WebSocketClient, ReadsMessagesAndAnswersPings) {
  Pair pair;
  pair.answer(unmasked(Frame::kText, "1") + unmasked(Frame::kPing, "p") +
              unmasked(Frame::kPong, "q") + unmasked(Frame::kText, std::string(300, 'x')) +
              unmasked(Frame::kClose, close_payload(1001, "bye")));
  EXPECT_EQ(pair.client.message(), "1");
  EXPECT_EQ(pair.client.message(), std::string(300, 'x'));
  EXPECT_EQ(pair.sent(), frame_bytes({.opcode = Frame::kPong, .payload = "p"}));
  EXPECT_EQ(pair.client.read_message(), std::nullopt);
  EXPECT_EQ(pair.sent(),
            frame_bytes({.opcode = Frame::kClose, .payload = close_payload(1001, "bye")}));
  EXPECT_EQ(pair.client.closing()->code, 1001);
  EXPECT_EQ(pair.client.closing()->reason, "bye");
  EXPECT_EQ(pair.client.messages(), 2U);
  EXPECT_THROW(pair.client.message(), std::runtime_error);
  EXPECT_FALSE(pair.client.ended_within(Millis(0)));
  pair.finish();
  EXPECT_TRUE(pair.client.ended_within(Millis(0)));
}

TEST(WebSocketClient, TellsHowItWasClosed) {
  Pair without_code;
  without_code.answer(unmasked(Frame::kClose, ""));
  EXPECT_EQ(without_code.client.read_closing().code, Closing::kNoStatus);
  Pair cut_off;
  cut_off.answer(unmasked(Frame::kText, "whole") + "\x81\x05half");
  cut_off.finish();
  EXPECT_EQ(cut_off.client.read_closing().code, Closing::kCutOff);
  EXPECT_EQ(cut_off.client.messages(), 1U);
}

TEST(WebSocketClient, ThrowsAtWhatAServerMustNotSend) {
  const std::string cases[] = {
      frame_bytes({.payload = "masked"}),
      frame_bytes({.payload = "fragment", .final = false, .masked = false}),
      frame_bytes({.payload = "extended", .reserved = 4, .masked = false}),
      unmasked(Frame::kBinary, "binary"),
      unmasked(Frame::kContinuation, "of nothing"),
      unmasked(11, "unknown"),
      unmasked(Frame::kText, "\xff"),
      unmasked(Frame::kPing, std::string(126, 'p')),
      unmasked(Frame::kClose, "\x03"),
      std::string("\x81\x7e\x00\x01x", 5),
      std::string("\x81\x7f\x00\x00\x00\x00\x00\x00\x00\x01x", 11),
  };
  for (const std::string& bytes : cases) {
    Pair pair;
    pair.answer(bytes);
    EXPECT_THROW(pair.client.read_message(), std::runtime_error) << bytes;
  }
}

TEST(WebSocketClient, ThrowsAtTheDeadline) {
  Pair pair;
  pair.answer("\x81\x05half");
  EXPECT_THROW(pair.client.read_message(), std::runtime_error);
}

}  // namespace

}  // namespace stdgate::harness::websocket_client_test

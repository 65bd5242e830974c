// The WebSocket client itself: it writes what section 5 of RFC 6455 shows, reads what is right, and
// throws at what is wrong.
#include "tests/integration/harness/websocket_client.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string>
#include <utility>

namespace stdgate::harness::websocket_client_test {
namespace {

// A client whose server is in the test's hand.
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

// As a server writes it.
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

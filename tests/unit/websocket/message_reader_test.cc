// MessageReader: every rule of RFC 6455, section 5. Each input is read as a whole, cut at every
// position, and byte by byte.
#include "transports/websocket/message_reader.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/unit/websocket/client_frames.h"

namespace stdgate::test {

namespace {

using namespace std::string_view_literals;

constexpr size_t kLimit = 1000;

// Records the events of a reader as text.
class Transcript final : public websocket::MessageSink {
 public:
  bool on_message(std::span<char> text) override {
    lines.push_back("message " + std::string(text.data(), text.size()));
    message = text;
    std::fill(text.begin(), text.end(), '#');  // a receiver may overwrite the text
    return goes_on;
  }
  bool on_ping(std::string_view payload) override {
    lines.push_back("ping " + std::string(payload));
    return goes_on;
  }
  void on_close(websocket::CloseCode code, std::string_view reason) override {
    lines.push_back("close " + std::to_string(static_cast<int>(code)) + " " + std::string(reason));
  }
  void on_failure(const websocket::ReadError& error) {
    lines.push_back("failed " + std::to_string(static_cast<int>(error.code)));
  }

  std::vector<std::string> lines;
  std::span<char> message;
  bool goes_on = true;
};

using Cuts = std::function<size_t(size_t at)>;  // size of the piece at `at`

enum class Binary : uint8_t { refused, ignored };

std::vector<std::string> read(std::string bytes, const Cuts& piece_at,
                              Binary binary = Binary::refused) {
  StoragePool storages;
  websocket::MessageReader reader(storages, kLimit);
  if (binary == Binary::ignored) reader.ignore_binary();
  Transcript transcript;
  for (size_t at = 0; at < bytes.size();) {
    const size_t piece = std::min(piece_at(at), bytes.size() - at);
    const auto taken = reader.feed({bytes.data() + at, piece}, transcript);
    if (!taken) {
      transcript.on_failure(taken.error());
      EXPECT_EQ(reader.feed({bytes.data(), bytes.size()}, transcript), 0u) << "it is done";
      break;
    }
    if (*taken < piece) break;
    at += piece;
  }
  return transcript.lines;
}

void check(const std::string& what, const std::string& bytes,
           const std::vector<std::string>& wanted, Binary binary = Binary::refused) {
  EXPECT_EQ(read(
                bytes, [&](size_t) { return bytes.size(); }, binary),
            wanted)
      << what << ", whole";
  EXPECT_EQ(read(
                bytes, [](size_t) { return 1; }, binary),
            wanted)
      << what << ", byte by byte";
  for (size_t cut = 1; cut < bytes.size(); ++cut) {
    EXPECT_EQ(read(
                  bytes, [cut](size_t at) { return at == 0 ? cut : SIZE_MAX; }, binary),
              wanted)
        << what << ", cut at " << cut;
  }
}

std::string text(std::string_view payload, bool final = true) {
  return client_frame(websocket::Opcode::text, payload, final);
}
std::string more(std::string_view payload, bool final = true) {
  return client_frame(websocket::Opcode::continuation, payload, final);
}
std::string close_frame(std::string_view payload) {
  return client_frame(websocket::Opcode::close, payload);
}

// Section 5.7; a client's frames are the masked ones.
TEST(MessageReader, ExamplesOfTheSpecification) {
  check("text", std::string("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"), {"message Hello"});
  check("pong", std::string("\x8a\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"), {});
  EXPECT_EQ(text("Hello"), "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58");
}

TEST(MessageReader, Messages) {
  check("empty", text(""), {"message "});
  check("two", text("one") + text("two"), {"message one", "message two"});
  check("fragments", text("a", false) + more("b", false) + more("c"), {"message abc"});
  check("empty fragments", text("", false) + more("", false) + more(""), {"message "});
  check("an empty end", text("abc", false) + more(""), {"message abc"});
  check("after fragments", text("a", false) + more("b") + text("c"), {"message ab", "message c"});
  check("16-bit length", text(std::string(200, 'x')), {"message " + std::string(200, 'x')});
}

// Between the two close frames a client may still send messages. None of them are kept.
TEST(MessageReader, KeepsNothingOfMessagesThatAreDiscarded) {
  const std::string begun = text("begun", false);
  const std::string rest = more("\xff more") + client_frame(websocket::Opcode::ping, "p") +
                           text(std::string(kLimit, 'x')) + close_frame("\x03\xe8");
  for (size_t cut = 1; cut < rest.size(); ++cut) {
    StoragePool storages;
    websocket::MessageReader reader(storages, kLimit);
    Transcript transcript;
    std::string bytes = begun;
    ASSERT_EQ(reader.feed({bytes.data(), bytes.size()}, transcript), bytes.size());
    ASSERT_GE(reader.held(), 5u);
    reader.discard_messages();
    EXPECT_EQ(reader.held(), 0u);
    bytes = rest;
    ASSERT_EQ(reader.feed({bytes.data(), cut}, transcript), cut);
    EXPECT_LE(reader.held(), 16u) << "a part of a control frame at most, cut at " << cut;
    ASSERT_EQ(reader.feed({bytes.data() + cut, bytes.size() - cut}, transcript), rest.size() - cut);
    EXPECT_EQ(transcript.lines, (std::vector<std::string>{"ping p", "close 1000 "})) << cut;
  }
}

TEST(MessageReader, IgnoresBinaryMessagesWhereTheProtocolSaysSo) {
  const auto binary = [](std::string_view payload, bool final = true) {
    return client_frame(websocket::Opcode::binary, payload, final);
  };
  const auto ping = client_frame(websocket::Opcode::ping, "p");
  check("one", binary("\xff\xfe") + text("x"), {"message x"}, Binary::ignored);
  check("an empty one", binary("") + text("x"), {"message x"}, Binary::ignored);
  check("fragments", text("a") + binary("\xff", false) + ping + more("\xff") + text("b"),
        {"message a", "ping p", "message b"}, Binary::ignored);
  check("inside of a message", text("x", false) + binary("y"), {"failed 1002"}, Binary::ignored);
  check("at the limit", binary(std::string(kLimit, 'x')) + text("x"), {"message x"},
        Binary::ignored);
  check("above the limit", binary(std::string(kLimit + 1, 'x')), {"failed 1009"}, Binary::ignored);
  check("then bad text", binary("\xff") + text("\xff"), {"failed 1007"}, Binary::ignored);
}

TEST(MessageReader, ControlFramesStandAnywhere) {
  const auto ping = [](std::string_view payload) {
    return client_frame(websocket::Opcode::ping, payload);
  };
  check("ping", ping("p"), {"ping p"});
  check("empty ping", ping(""), {"ping "});
  check("the longest", ping(std::string(125, 'p')), {"ping " + std::string(125, 'p')});
  check("between fragments",
        text("a", false) + ping("1") + more("b", false) +
            client_frame(websocket::Opcode::pong, "x") + ping("2") + more("c"),
        {"ping 1", "ping 2", "message abc"});
  check("bytes that are no text", ping("\xff\xfe"), {"ping \xff\xfe"});
}

TEST(MessageReader, CloseFrames) {
  check("without code", close_frame(""), {"close 1005 "});
  check("with code", close_frame(close_payload(1000)), {"close 1000 "});
  check("with a reason", close_frame(close_payload(1001, "b\u00e9")), {"close 1001 b\u00e9"});
  check("between fragments", text("a", false) + close_frame(""), {"close 1005 "});
  check("nothing is read after it", close_frame("") + text("x") + "\xff\xff", {"close 1005 "});
  check("half a code", close_frame("\x03"), {"failed 1002"});
  check("a reason that is no text", close_frame(close_payload(1000, "\xff")), {"failed 1007"});
  check("a reason that is cut", close_frame(close_payload(1000, "\xc3")), {"failed 1007"});
}

TEST(MessageReader, CodesThatMayBeSent) {
  const auto answer = [](uint16_t code) {
    return read(close_frame(close_payload(code)), [](size_t) { return SIZE_MAX; }).front();
  };
  for (const int good : {1000, 1001, 1002, 1003, 1007, 1011, 1014, 3000, 3999, 4000, 4999}) {
    EXPECT_EQ(answer(static_cast<uint16_t>(good)), "close " + std::to_string(good) + " ");
  }
  for (const int bad : {0, 999, 1004, 1005, 1006, 1015, 1016, 2000, 2999, 5000, 65535}) {
    EXPECT_EQ(answer(static_cast<uint16_t>(bad)), "failed 1002") << bad;
  }
}

TEST(MessageReader, WhatIsNotAllowed) {
  struct Case {
    std::string what;
    std::string bytes;
    int code;
  };
  std::vector<Case> cases = {
      {"not masked", client_frame("x", {.masked = false}), 1002},
      {"continuation without a message", more("x"), 1002},
      {"a continuation after a whole message", text("x") + more("y"), 1002},
      {"text inside of a message", text("x", false) + text("y"), 1002},
      {"binary", client_frame(websocket::Opcode::binary, "x"), 1003},
      {"binary inside of a message",
       text("x", false) + client_frame(websocket::Opcode::binary, "x"), 1002},
      {"a fragmented ping", client_frame(websocket::Opcode::ping, "x", false), 1002},
      {"a fragmented close", client_frame(websocket::Opcode::close, "", false), 1002},
      {"too long a ping", client_frame(websocket::Opcode::ping, std::string(126, 'x')), 1002},
      {"too long a close", client_frame(websocket::Opcode::close, std::string(126, 'x')), 1002},
      {"125 in two bytes", client_frame(std::string(125, 'x'), {.length_bytes = 2}), 1002},
      {"126 in eight bytes", client_frame(std::string(126, 'x'), {.length_bytes = 8}), 1002},
      {"a negative length", std::string("\x81\xff\xff\0\0\0\0\0\0\0\1\2\3\4", 14), 1002},
      {"a huge length", std::string("\x81\xff\x7f\0\0\0\0\0\0\0\1\2\3\4", 14), 1009},
      {"bad text", text("a\xff"), 1007},
      {"text that is cut", text("a\xc3"), 1007},
      {"bad text in a fragment that is not complete", text("a\xed\xa0", false), 1007},
      {"fragments that do not fit together", text("\xc3", false) + more("x"), 1007},
      {"fragments that end too early", text("\xe2", false) + more("\x82"), 1007},
  };
  for (uint8_t bits = 1; bits < 8; ++bits) {
    cases.push_back(
        {"reserved bits " + std::to_string(bits), client_frame("x", {.reserved = bits}), 1002});
  }
  for (const uint8_t opcode : std::initializer_list<uint8_t>{3, 4, 5, 6, 7, 11, 12, 13, 14, 15}) {
    cases.push_back(
        {"opcode " + std::to_string(opcode), client_frame("x", {.opcode = opcode}), 1002});
  }
  for (const Case& c : cases) {
    std::vector<std::string> wanted = {"failed " + std::to_string(c.code)};
    if (c.what == "a continuation after a whole message")
      wanted.insert(wanted.begin(), "message x");
    check(c.what, c.bytes, wanted);
  }
}

TEST(MessageReader, CharactersMayBeCutByFragments) {
  const std::string all = "\u00e9\u20ac\U0001f600";
  for (size_t cut = 0; cut <= all.size(); ++cut) {
    check("cut at " + std::to_string(cut), text(all.substr(0, cut), false) + more(all.substr(cut)),
          {"message " + all});
  }
}

// Invalid text is found before the frame or the message is complete.
TEST(MessageReader, BadTextFailsAtItsFirstByte) {
  StoragePool storages;
  websocket::MessageReader reader(storages, kLimit);
  Transcript transcript;
  std::string bytes = text("a\xed" + std::string(100, 'x')).substr(0, 6 + 2);
  ASSERT_TRUE(reader.feed({bytes.data(), bytes.size()}, transcript)) << "it could be a character";
  char next = static_cast<char>(0xa0 ^ 0x21);  // now it is a surrogate
  const auto taken = reader.feed({&next, 1}, transcript);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, websocket::CloseCode::invalid_data);
  EXPECT_EQ(reader.held(), 0u);
}

TEST(MessageReader, TheLimit) {
  const std::string most(kLimit, 'x');
  check("at the limit", text(most), {"message " + most});
  check("at the limit, fragments", text(most.substr(1), false) + more("x"), {"message " + most});
  check("beyond it", text(most + "x"), {"failed 1009"});
  check("beyond it, fragments", text(most, false) + more("x"), {"failed 1009"});
  check("beyond it by nothing", text(most, false) + more(""), {"message " + most});
  check("a long message is no burden for the next", text(most) + text(most),
        {"message " + most, "message " + most});
}

// The header alone shows that the message is too long, so nothing of it is kept.
TEST(MessageReader, TooLongIsKnownBeforeItComes) {
  StoragePool storages;
  websocket::MessageReader reader(storages, kLimit);
  Transcript transcript;
  std::string header = text(std::string(kLimit + 1, 'x')).substr(0, 8);
  const auto taken = reader.feed({header.data(), header.size()}, transcript);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, websocket::CloseCode::too_big);
}

TEST(MessageReader, AWholeMessageIsNotCopied) {
  StoragePool storages;
  websocket::MessageReader reader(storages, kLimit);
  Transcript transcript;
  std::string bytes = text("first") + text("second");
  ASSERT_EQ(reader.feed({bytes.data(), bytes.size()}, transcript), bytes.size());
  EXPECT_EQ(transcript.message.data(), bytes.data() + text("first").size() + 6);
  EXPECT_EQ(reader.held(), 0u);
}

TEST(MessageReader, OffersTheStorageOfAMessageInParts) {
  struct Taker final : websocket::MessageSink {
    bool on_message(std::span<char> text) override {
      taken = storages.take_over({text.data(), text.size()});
      return true;
    }
    bool on_ping(std::string_view /*payload*/) override { return true; }
    void on_close(websocket::CloseCode /*code*/, std::string_view /*reason*/) override {}
    StoragePool storages;
    ByteQueue taken;
  } taker;
  websocket::MessageReader reader(taker.storages, kLimit);
  const std::string half(kLimit / 2, 'x');
  std::string bytes = text(half, false) + more(half) + text(half + "next");
  ASSERT_EQ(reader.feed({bytes.data(), bytes.size() - 1}, taker), bytes.size() - 1);
  EXPECT_EQ(taker.taken.view(), half + half);
  ASSERT_EQ(reader.feed({bytes.data() + bytes.size() - 1, 1}, taker), 1U);
  EXPECT_EQ(taker.taken.view(), half + "next");
}

TEST(MessageReader, HoldsWhatIsNotComplete) {
  StoragePool storages;
  websocket::MessageReader reader(storages, kLimit);
  Transcript transcript;
  std::string bytes = text("abc", false) + more("defgh").substr(0, 8);
  ASSERT_EQ(reader.feed({bytes.data(), bytes.size()}, transcript), bytes.size());
  EXPECT_GE(reader.held(), 5u);
  EXPECT_LE(reader.held(), 16u);
  std::string rest = more("defgh").substr(8);
  ASSERT_EQ(reader.feed({rest.data(), rest.size()}, transcript), rest.size());
  EXPECT_EQ(reader.held(), 0u);
  EXPECT_EQ(transcript.lines, std::vector<std::string>{"message abcdefgh"});
}

TEST(MessageReader, StopsWhereTheSinkWantsIt) {
  StoragePool storages;
  websocket::MessageReader reader(storages, kLimit);
  Transcript transcript;
  transcript.goes_on = false;
  const std::vector<std::string> frames = {text("a"), client_frame(websocket::Opcode::ping, "b"),
                                           text("c")};
  std::string bytes = frames[0] + frames[1] + frames[2];
  size_t at = 0;
  for (const std::string& frame : frames) {
    const auto taken = reader.feed({bytes.data() + at, bytes.size() - at}, transcript);
    ASSERT_EQ(taken, frame.size());
    at += *taken;
  }
  EXPECT_EQ(transcript.lines, (std::vector<std::string>{"message a", "ping b", "message c"}));
}

}  // namespace

namespace {

using namespace std::string_view_literals;

// RFC 6455, section 5.7: the frames of a server.
TEST(Frame, HeadsOfTheSpecification) {
  EXPECT_EQ(websocket::FrameHead(websocket::Opcode::text, 5).view(), "\x81\x05"sv);
  EXPECT_EQ(websocket::FrameHead(websocket::Opcode::ping, 5).view(), "\x89\x05"sv);
  EXPECT_EQ(websocket::FrameHead(websocket::Opcode::binary, 256).view(), "\x82\x7e\x01\x00"sv);
  EXPECT_EQ(websocket::FrameHead(websocket::Opcode::binary, 65536).view(),
            "\x82\x7f\0\0\0\0\0\x01\0\0"sv);
}

TEST(Frame, HeadsAtTheBoundariesOfTheirForms) {
  struct Case {
    size_t size;
    std::string_view head;
  };
  const Case cases[] = {
      {0, "\x81\x00"sv},
      {125, "\x81\x7d"sv},
      {126, "\x81\x7e\x00\x7e"sv},
      {65535, "\x81\x7e\xff\xff"sv},
      {65536, "\x81\x7f\0\0\0\0\0\x01\0\0"sv},
      {0x0102030405060708, "\x81\x7f\x01\x02\x03\x04\x05\x06\x07\x08"sv},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(websocket::FrameHead(websocket::Opcode::text, c.size).view(), c.head) << c.size;
    const websocket::FrameHeader header = websocket::parse_frame_header(c.head);
    EXPECT_EQ(header.length, c.size);
    EXPECT_TRUE(header.has_good_length()) << c.size;
    EXPECT_EQ(websocket::frame_header_size(header), c.head.size());
  }
}

TEST(Frame, ReadsEveryFieldOfAHeader) {
  const websocket::FrameHeader header = websocket::parse_frame_header("\x59\x83\x37\xfa\x21\x3d"sv);
  EXPECT_FALSE(header.final);
  EXPECT_EQ(header.reserved, 5);
  EXPECT_EQ(header.opcode, 9);
  EXPECT_TRUE(header.is_control());
  EXPECT_TRUE(header.masked);
  EXPECT_EQ(header.length, 3u);
  EXPECT_EQ(websocket::frame_header_size(header), 6u);
}

TEST(Frame, LengthsHaveToBeInTheShortestForm) {
  EXPECT_FALSE(websocket::parse_frame_header("\x81\x7e\x00\x7d"sv).has_good_length());
  EXPECT_FALSE(websocket::parse_frame_header("\x81\x7f\0\0\0\0\0\0\xff\xff"sv).has_good_length());
  EXPECT_TRUE(websocket::parse_frame_header("\x81\x7f\x7f\xff\xff\xff\xff\xff\xff\xff"sv)
                  .has_good_length());
  EXPECT_FALSE(websocket::parse_frame_header("\x81\x7f\x80\0\0\0\0\x01\0\0"sv).has_good_length());
}

TEST(Frame, UnmasksAnyLengthFromAnyPlace) {
  std::string text;
  for (int i = 0; i < 64; ++i) text += static_cast<char>(i * 37);
  for (size_t begin = 0; begin < 9; ++begin) {
    for (size_t size = 0; begin + size <= text.size(); ++size) {
      const std::string part = text.substr(begin, size);
      std::string masked = client_frame(part);
      const websocket::FrameHeader header = websocket::parse_frame_header(masked);
      // The address is odd, and the text is unmasked in two pieces.
      const size_t cut = size / 3;
      char* const payload = masked.data() + websocket::frame_header_size(header);
      websocket::unmask(payload, payload, cut, header.mask);
      websocket::unmask(payload + cut, payload + cut, size - cut,
                        websocket::rotate_mask(header.mask, cut));
      EXPECT_EQ(std::string_view(payload, size), part) << begin << " " << size;
    }
  }
}

}  // namespace

namespace {

struct Case {
  const char* what;
  std::string text;
  // The number of bytes that can begin valid UTF-8; npos: all bytes.
  size_t good = std::string::npos;
  bool complete = true;
};

const Case kCases[] = {
    {"empty", ""},
    {"ASCII", "plain text, longer than any word of the machine that checks it"},
    {"two bytes", "\u00e9\u0080\u07ff"},
    {"three bytes", "\u0800\u20ac\ud7ff\ue000\uffff"},
    {"four bytes", "\U00010000\U0001f600\U0010ffff"},
    {"the example of Autobahn", "\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5"},
    {"a character that begins", "a\xc3", std::string::npos, false},
    {"two of three", "a\xe2\x82", std::string::npos, false},
    {"three of four", "a\xf0\x9f\x98", std::string::npos, false},
    {"one of four", "\xf4", std::string::npos, false},
    {"a lone continuation",
     "ab\x80"
     "c",
     2},
    {"a continuation too many", "\xc3\xa9\xa9", 2},
    {"overlong two", "a\xc0\x80", 1},
    {"overlong two, c1", "a\xc1\xbf", 1},
    {"overlong three", "a\xe0\x9f\xbf", 2},
    {"overlong four", "a\xf0\x8f\xbf\xbf", 2},
    {"first surrogate", "a\xed\xa0\x80", 2},
    {"last surrogate", "a\xed\xbf\xbf", 2},
    {"above U+10FFFF", "a\xf4\x90\x80\x80", 2},
    {"f5", "a\xf5\x80\x80\x80", 1},
    {"ff", "a\xff", 1},
    {"a character cut by ASCII", "a\xe2\x82z", 3},
    {"a character cut by another", "a\xf0\x9f\xc3\xa9", 3},
    {"bad after much that is good", std::string(200, 'x') + "\xed\xa0\x80", 201},
};

// The number of bytes that are accepted, in pieces of `piece` bytes, before one is refused; npos:
// all bytes.
size_t good_bytes(std::string_view text, size_t piece, bool* complete) {
  websocket::Utf8Validator validator;
  for (size_t at = 0; at < text.size(); at += piece) {
    if (!validator.feed(text.substr(at, piece))) return at;
  }
  *complete = validator.complete();
  return std::string::npos;
}

TEST(Utf8Validator, FailsAtTheFirstByteThatCannotBe) {
  for (const Case& c : kCases) {
    bool complete = true;
    EXPECT_EQ(good_bytes(c.text, 1, &complete), c.good) << c.what;
    EXPECT_EQ(complete, c.complete) << c.what;
  }
}

// The piece with the invalid byte is refused, and no earlier piece, wherever the text is cut.
TEST(Utf8Validator, CutAnywhere) {
  for (const Case& c : kCases) {
    for (size_t cut = 0; cut <= c.text.size(); ++cut) {
      websocket::Utf8Validator validator;
      const bool first = validator.feed(std::string_view(c.text).substr(0, cut));
      EXPECT_EQ(first, c.good == std::string::npos || cut <= c.good) << c.what << " " << cut;
      if (!first) continue;
      const bool second = validator.feed(std::string_view(c.text).substr(cut));
      EXPECT_EQ(second, c.good == std::string::npos) << c.what << " " << cut;
      EXPECT_EQ(second && validator.complete(), second && c.complete) << c.what << " " << cut;
    }
  }
}

}  // namespace

}  // namespace stdgate::test

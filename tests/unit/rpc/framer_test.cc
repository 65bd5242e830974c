// Framers: messages out of a stream that arrives in pieces of any size.

#include "gateway/rpc/framer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace stdgate {
namespace {

using Strings = std::vector<std::string>;

class RecordingSink final : public rpc::FrameSink {
 public:
  void on_frame(std::span<char> message) override {
    events.emplace_back(message.data(), message.size());
    places.push_back(message.data());
  }
  void on_oversized_frame(const rpc::OversizedFrame& frame) override {
    events.push_back("oversized " + std::to_string(frame.size) + " id=" + std::string(frame.id));
    beginnings.emplace_back(frame.beginning);
  }
  void on_broken_framing(const char* reason) override {
    events.push_back(std::string("broken: ") + reason);
  }

  Strings events;
  Strings beginnings;               // of oversized messages
  std::vector<const char*> places;  // address of each valid message
};

Strings frames(rpc::Framing framing, size_t limit, std::string stream,
               const std::vector<size_t>& cuts) {
  RecordingSink sink;
  StoragePool storages;
  const auto framer = rpc::make_framer(framing, limit, storages);
  size_t begin = 0;
  for (const size_t end : cuts) {
    framer->feed(std::span<char>(stream).subspan(begin, end - begin), sink);
    begin = end;
  }
  framer->feed(std::span<char>(stream).subspan(begin), sink);
  framer->finish(sink);
  EXPECT_EQ(framer->buffered(), 0u);
  return sink.events;
}

// Feeds the stream in one piece, byte by byte, and cut in two at every position.
void check(rpc::Framing framing, size_t limit, const std::string& stream, const Strings& expected) {
  EXPECT_EQ(frames(framing, limit, stream, {}), expected) << stream;
  std::vector<size_t> everywhere;
  for (size_t at = 1; at < stream.size(); ++at) {
    everywhere.push_back(at);
    EXPECT_EQ(frames(framing, limit, stream, {at}), expected) << stream << " cut at " << at;
  }
  EXPECT_EQ(frames(framing, limit, stream, everywhere), expected) << stream << " byte by byte";
}

TEST(NewlineFramerTest, Lines) {
  struct Case {
    std::string stream;
    Strings expected;
  };
  const Case cases[] = {
      {"", {}},
      {"\n", {}},
      {"\r\n", {}},
      {"\r", {}},
      {"\n\n\r\n\n", {}},
      {"a\n", {"a"}},
      {"a", {"a"}},
      {"a\r", {"a"}},
      {"a\r\n", {"a"}},
      {"a\nb\nc\n", {"a", "b", "c"}},
      {"a\nb\nc", {"a", "b", "c"}},
      {"\n\na\n\n\nb\n\n", {"a", "b"}},
      {"a\r\nb\r\n", {"a", "b"}},
      {"a\rb\n", {"a\rb"}},
      {"a\r\r\n", {"a\r"}},
      {" \n", {" "}},
      {"{\"x\":\"\\n\"}\n[1]\n", {"{\"x\":\"\\n\"}", "[1]"}},
      {std::string("\0a\n\0", 4), {std::string("\0a", 2), std::string("\0", 1)}},
  };
  for (const Case& c : cases) check(rpc::Framing::newline, 100, c.stream, c.expected);
}

TEST(NewlineFramerTest, LimitAndTheIdOfWhatIsSkipped) {
  struct Case {
    std::string stream;
    Strings expected;
  };
  // Lines of 20 bytes fit, and lines of 21 bytes do not, whichever line end they have.
  const Case cases[] = {
      {"{\"id\":1,\"x\":\"123456\"}\n", {"oversized 21 id=1"}},
      {"{\"id\":1,\"x\":\"12345\"}\n", {"{\"id\":1,\"x\":\"12345\"}"}},
      {"{\"id\":1,\"x\":\"12345\"}\r\n", {"{\"id\":1,\"x\":\"12345\"}"}},
      {"{\"id\":1,\"x\":\"12345\"}", {"{\"id\":1,\"x\":\"12345\"}"}},
      {"{\"id\":1,\"x\":\"12345\"}\r", {"{\"id\":1,\"x\":\"12345\"}"}},
      {"{\"id\":1,\"x\":\"12345\"} \n", {"oversized 21 id=1"}},
      {"{\"id\":1,\"x\":\"12345\"} \r\n", {"oversized 21 id=1"}},
      {"{\"id\":1,\"x\":\"12345\"}\r\r\n", {"oversized 21 id=1"}},
      {"{\"id\":1,\"x\":\"123456\"}", {"oversized 21 id=1"}},
      {"{\"x\":\"123456\",\"id\":\"a\"}\n", {"oversized 23 id=\"a\""}},
      {"{\"x\":{\"id\":2},\"y\":[3]}\n", {"oversized 22 id="}},
      {"{\"x\":{\"id\":2},\"y\":\"}\\\",\",\"id\":5}\nok\n", {"oversized 32 id=5", "ok"}},
      {"[{\"id\":1},{\"id\":2},3]\n", {"oversized 21 id="}},
      {"no json at all, only text\nok\n", {"oversized 25 id=", "ok"}},
      {"a\n{\"id\":1,\"x\":\"123456\"}\nb\n{\"x\":\"123456\",\"id\":2}\r\nc",
       {"a", "oversized 21 id=1", "b", "oversized 21 id=2", "c"}},
  };
  for (const Case& c : cases) check(rpc::Framing::newline, 20, c.stream, c.expected);
}

TEST(NewlineFramerTest, TheBeginningOfWhatIsSkippedIsKept) {
  const std::string text = R"({"id":1,"x":")" + std::string(1000, 'y') + "\"}";
  const std::string start = text.substr(0, rpc::SkippedMessage::kMaxBeginning);
  for (const size_t split : {0, 1, 20, 21, 255, 256, 257, 1000}) {
    SCOPED_TRACE(split);
    RecordingSink sink;
    StoragePool storages;
    const auto framer = rpc::make_framer(rpc::Framing::newline, 20, storages);
    std::string stream = text + "\n";
    framer->feed(std::span(stream).first(split), sink);
    framer->feed(std::span(stream).subspan(split), sink);
    EXPECT_EQ(sink.beginnings, Strings{start});
  }
}

TEST(NewlineFramerTest, ALineWithinAFeedIsNotCopied) {
  RecordingSink sink;
  StoragePool storages;
  const auto framer = rpc::make_framer(rpc::Framing::newline, 100, storages);
  std::string stream = "one\ntwo\r\nthr";
  framer->feed(stream, sink);
  ASSERT_EQ(sink.events, (Strings{"one", "two"}));
  EXPECT_EQ(sink.places[0], stream.data());
  EXPECT_EQ(sink.places[1], stream.data() + 4);
  EXPECT_EQ(framer->buffered(), 3u);
}

// A sink may overwrite its message; the rest of the stream must not change.
class ScribblingSink final : public rpc::FrameSink {
 public:
  void on_frame(std::span<char> message) override {
    events.emplace_back(message.data(), message.size());
    std::fill(message.begin(), message.end(), '\n');
  }
  void on_oversized_frame(const rpc::OversizedFrame&) override {}
  void on_broken_framing(const char*) override {}
  Strings events;
};

TEST(NewlineFramerTest, TheSinkMayChangeTheBytes) {
  ScribblingSink sink;
  StoragePool storages;
  const auto framer = rpc::make_framer(rpc::Framing::newline, 100, storages);
  for (std::string piece : {"a\nbc\nd", "e\nf", "\ng\n"}) framer->feed(piece, sink);
  EXPECT_EQ(sink.events, (Strings{"a", "bc", "de", "f", "g"}));
}

// Large messages in small pieces. If a byte were read or moved more than a bounded number of times,
// this test would take minutes.
TEST(NewlineFramerTest, BigLinesInSmallPieces) {
  constexpr size_t kLimit = 16 << 20;
  RecordingSink sink;
  StoragePool storages;
  const auto framer = rpc::make_framer(rpc::Framing::newline, kLimit, storages);
  std::string piece(512, 'x');
  for (size_t sent = 0; sent < kLimit; sent += piece.size()) framer->feed(piece, sink);
  EXPECT_EQ(framer->buffered(), kLimit);
  std::string end = "\n";
  framer->feed(end, sink);
  ASSERT_EQ(sink.events.size(), 1u);
  EXPECT_EQ(sink.events[0].size(), kLimit);

  std::string head = R"({"x":")";
  framer->feed(head, sink);
  for (size_t sent = 0; sent < 2 * kLimit; sent += piece.size()) {
    framer->feed(piece, sink);
    ASSERT_LE(framer->buffered(), kLimit);
  }
  EXPECT_EQ(framer->buffered(), 0u);
  std::string tail = "\",\"id\":9}\n";
  framer->feed(tail, sink);
  EXPECT_EQ(sink.events.back(),
            "oversized " + std::to_string(2 * kLimit + head.size() + tail.size() - 1) + " id=9");
}

// The rest of a message that is given up is skipped, as with an oversized message. Its call can be
// answered, and the stream continues.
TEST(FramerTest, WhatIsGivenUpIsSkipped) {
  struct {
    rpc::Framing framing;
    std::string begin;
    std::string rest;
    std::string next;
  } cases[] = {
      {rpc::Framing::newline, R"({"id":7,"x":)", "1}\n", "{}\n"},
      {rpc::Framing::content_length,
       "Content-Length: 14\r\n\r\n"
       R"({"id":7,"x":)",
       "1}", "Content-Length: 2\r\n\r\n{}"},
  };
  for (auto& item : cases) {
    RecordingSink sink;
    StoragePool storages;
    const auto framer = rpc::make_framer(item.framing, 100, storages);
    framer->give_up();  // has nothing to give up
    framer->feed(item.begin, sink);
    EXPECT_GE(framer->held(), 12U);
    framer->give_up();
    EXPECT_EQ(framer->held(), 0U);
    framer->feed(item.rest, sink);
    framer->feed(item.next, sink);
    EXPECT_EQ(sink.events, (std::vector<std::string>{"oversized 14 id=7", "{}"}));
  }
}

TEST(FramerTest, OffersTheStorageOfAMessageInParts) {
  struct Taker final : rpc::FrameSink {
    void on_frame(std::span<char> message) override {
      taken = storages.take_over({message.data(), message.size()});
    }
    void on_oversized_frame(const rpc::OversizedFrame&) override {}
    void on_broken_framing(const char*) override {}
    StoragePool storages;
    ByteQueue taken;
  };
  for (const rpc::Framing framing : {rpc::Framing::newline, rpc::Framing::content_length}) {
    Taker taker;
    const auto framer = rpc::make_framer(framing, 1000, taker.storages);
    for (const char letter : {'a', 'b'}) {
      const std::string message(600, letter);
      std::string scratch;
      const rpc::FrameEnds ends = rpc::frame_ends(framing, message.size(), scratch);
      std::string bytes = std::string(ends.head) + message + std::string(ends.tail);
      for (char& byte : bytes) framer->feed({&byte, 1}, taker);
      EXPECT_EQ(taker.taken.view(), message);
      EXPECT_EQ(framer->buffered(), 0U);
    }
  }
}

TEST(NewlineFramerTest, FinishTwiceTellsOnce) {
  RecordingSink sink;
  StoragePool storages;
  const auto framer = rpc::make_framer(rpc::Framing::newline, 4, storages);
  std::string piece = "ab";
  framer->feed(piece, sink);
  framer->finish(sink);
  framer->finish(sink);
  EXPECT_EQ(sink.events, Strings{"ab"});
  std::string big = "abcdef";
  framer->feed(big, sink);
  framer->finish(sink);
  framer->finish(sink);
  EXPECT_EQ(sink.events, (Strings{"ab", "oversized 6 id="}));
}

std::string with_length(const std::string& body) {
  std::string scratch;
  return std::string(rpc::frame_ends(rpc::Framing::content_length, body.size(), scratch).head) +
         body;
}

TEST(ContentLengthFramerTest, Messages) {
  struct Case {
    std::string stream;
    Strings expected;
  };
  const Case cases[] = {
      {"", {}},
      {"Content-Length: 2\r\n\r\n{}", {"{}"}},
      {with_length("{\"a\":1}") + with_length("[2]") + with_length("3"), {"{\"a\":1}", "[2]", "3"}},
      {"content-length: 2\r\n\r\n{}", {"{}"}},
      {"CONTENT-LENGTH:2\r\n\r\n{}", {"{}"}},
      {"Content-Length \t: \t2 \t\r\n\r\n{}", {"{}"}},
      {"Content-Length: 2\n\n{}", {"{}"}},
      {"Content-Length: 2\n\r\n{}", {"{}"}},
      {"Content-Length: 002\r\n\r\n{}", {"{}"}},
      {"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\n\r\n{}",
       {"{}"}},
      {"Content-Length: 2\r\ncontent-type: x\r\nX-Other:\r\n\r\n{}", {"{}"}},
      {"Content-Length: 0\r\n\r\n" + with_length("1"), {"1"}},
      {"\r\n\n" + with_length("1") + "\r\n" + with_length("2"), {"1", "2"}},
      {"Content-Length: 4\r\n\r\n\r\n\n ", {"\r\n\n "}},
      {with_length("Content-Length: 2\r\n\r\n{}"), {"Content-Length: 2\r\n\r\n{}"}},
      // A message that the end of the stream cuts off is dropped.
      {"Content-Length: 3\r\n\r\n{}", {}},
      {with_length("1") + "Content-Le", {"1"}},
  };
  for (const Case& c : cases) check(rpc::Framing::content_length, 100, c.stream, c.expected);
}

TEST(ContentLengthFramerTest, BrokenHeaders) {
  struct Case {
    std::string header;
    std::string reason;
  };
  const Case cases[] = {
      {"Content-Type: x\r\n\r\n", "no Content-Length"},
      {"Content-Length: 2\r\nContent-Length: 2\r\n\r\n", "more than one Content-Length"},
      {"Content-Length: 2\r\ncontent-length: 3\r\n\r\n", "more than one Content-Length"},
      {"Content-Length: \r\n\r\n", "Content-Length is no number"},
      {"Content-Length: x\r\n\r\n", "Content-Length is no number"},
      {"Content-Length: -1\r\n\r\n", "Content-Length is no number"},
      {"Content-Length: +1\r\n\r\n", "Content-Length is no number"},
      {"Content-Length: 1.0\r\n\r\n", "Content-Length is no number"},
      {"Content-Length: 0x1\r\n\r\n", "Content-Length is no number"},
      {"Content-Length: 1 2\r\n\r\n", "Content-Length is no number"},
      {"Content-Length: 1,1\r\n\r\n", "Content-Length is no number"},
      {"Content-Length: 18446744073709551616\r\n\r\n", "Content-Length is no number"},
      {"Content-Length: 99999999999999999999999\r\n\r\n", "Content-Length is no number"},
      {"{\"jsonrpc\":\"2.0\"}\n", "no Content-Length"},
      {"Starting up\n", "header line without colon"},
      {"Content-Length 2\r\n\r\n", "header line without colon"},
  };
  for (const Case& c : cases) {
    // This line contains a colon and counts as a header, so an empty line must end the block.
    const std::string end = c.header[0] == '{' ? "\n" : "";
    check(rpc::Framing::content_length, 100, with_length("1") + c.header + end + with_length("2"),
          {"1", "broken: " + c.reason});
  }
}

TEST(ContentLengthFramerTest, HeaderBlockAtTheLimit) {
  const auto block = [](size_t size) {
    const std::string start = "Content-Length: 1\r\nX: ";
    return start + std::string(size - start.size() - 4, 'x') + "\r\n\r\n";
  };
  const auto fed_whole_and_bytewise = [](const std::string& stream) {
    std::vector<size_t> everywhere;
    for (size_t at = 1; at < stream.size(); ++at) everywhere.push_back(at);
    const Strings whole = frames(rpc::Framing::content_length, 100, stream, {});
    EXPECT_EQ(frames(rpc::Framing::content_length, 100, stream, everywhere), whole);
    return whole;
  };
  EXPECT_EQ(fed_whole_and_bytewise(block(4096) + "1" + block(4096) + "2"), (Strings{"1", "2"}));
  EXPECT_EQ(fed_whole_and_bytewise(block(4097) + "1"),
            Strings{"broken: header block over the limit"});
  EXPECT_EQ(fed_whole_and_bytewise(std::string(5000, 'x')),
            Strings{"broken: header block over the limit"});
  EXPECT_EQ(fed_whole_and_bytewise(std::string(4097, '\n')),
            Strings{"broken: header block over the limit"});
}

TEST(ContentLengthFramerTest, LimitAndTheIdOfWhatIsSkipped) {
  const std::string fits = R"({"id":1,"x":"12345"})";
  const std::string big = R"({"id":1,"x":"123456"})";
  const std::string late = R"({"x":{"id":7,"y":"}\""},"id":"b"})";
  check(rpc::Framing::content_length, 20,
        with_length(fits) + with_length(big) + with_length(late) + with_length("[]"),
        {fits, "oversized 21 id=1", "oversized 33 id=\"b\"", "[]"});
  // The message is incomplete, so it is not reported.
  check(rpc::Framing::content_length, 20, "Content-Length: 18446744073709551615\r\n\r\n{\"id\":1}",
        {});
}

TEST(ContentLengthFramerTest, AMessageWithinAFeedIsNotCopied) {
  RecordingSink sink;
  StoragePool storages;
  const auto framer = rpc::make_framer(rpc::Framing::content_length, 100, storages);
  const std::string head = "Content-Length: 3\r\n\r\n";
  std::string stream = head + "one" + head + "two" + head + "th";
  framer->feed(stream, sink);
  ASSERT_EQ(sink.events, (Strings{"one", "two"}));
  EXPECT_EQ(sink.places[0], stream.data() + head.size());
  EXPECT_EQ(sink.places[1], stream.data() + 2 * head.size() + 3);
  EXPECT_EQ(framer->buffered(), 2u);
}

TEST(ContentLengthFramerTest, NothingIsLeftAfterFinish) {
  for (const std::string cut_off :
       {"Content-Len", "Content-Length: 1\r\n", "Content-Length: 9\r\n\r\n{",
        "Content-Length: 999\r\n\r\n{\"id\":1}"}) {
    RecordingSink sink;
    StoragePool storages;
    const auto framer = rpc::make_framer(rpc::Framing::content_length, 100, storages);
    std::string stream = cut_off;
    framer->feed(stream, sink);
    framer->finish(sink);
    EXPECT_EQ(framer->buffered(), 0u);
    std::string good = with_length("1");
    framer->feed(good, sink);
    EXPECT_EQ(sink.events, Strings{"1"}) << cut_off;
  }
}

TEST(ContentLengthFramerTest, ABrokenStreamStaysBroken) {
  RecordingSink sink;
  StoragePool storages;
  const auto framer = rpc::make_framer(rpc::Framing::content_length, 100, storages);
  std::string garbage = "garbage\n";
  std::string good = with_length("1");
  framer->feed(garbage, sink);
  framer->feed(good, sink);
  framer->finish(sink);
  framer->feed(good, sink);
  EXPECT_EQ(sink.events, Strings{"broken: header line without colon"});
  EXPECT_EQ(framer->buffered(), 0u);
}

TEST(FrameEndsTest, BothFramings) {
  std::string scratch;
  const rpc::FrameEnds newline = rpc::frame_ends(rpc::Framing::newline, 12, scratch);
  EXPECT_EQ(newline.head, "");
  EXPECT_EQ(newline.tail, "\n");
  const rpc::FrameEnds length = rpc::frame_ends(rpc::Framing::content_length, 1234567, scratch);
  EXPECT_EQ(length.head, "Content-Length: 1234567\r\n\r\n");
  EXPECT_EQ(length.tail, "");
}

}  // namespace
}  // namespace stdgate

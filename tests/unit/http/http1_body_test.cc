#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "transports/http/http1_request.h"

namespace stdgate {
namespace {

constexpr size_t kLimit = 64;

struct Reading {
  http::Http1Body::State state = http::Http1Body::State::reading;
  std::string body;
  size_t taken = 0;
};

// Feeds copies of the pieces of `text`, which end at `cuts` and at the end of the text.
Reading feed(http::Http1Body& reader, const std::string& text, std::vector<size_t> cuts) {
  Reading outcome;
  cuts.push_back(text.size());
  size_t begin = 0;
  for (const size_t end : cuts) {
    std::string piece = text.substr(begin, end - begin);
    outcome.taken += reader.feed({piece.data(), piece.size()});
    outcome.state = reader.state();
    if (outcome.state == http::Http1Body::State::complete) {
      outcome.body.assign(reader.body().data(), reader.body().size());
    }
    if (outcome.state != http::Http1Body::State::reading) break;
    begin = end;
  }
  reader.clear();
  return outcome;
}

Reading chunked(const std::string& text, const std::vector<size_t>& cuts, size_t limit = kLimit) {
  StoragePool storages;
  http::Http1Body reader(storages);
  reader.start_chunked(limit);
  return feed(reader, text, cuts);
}

std::vector<size_t> every_byte(const std::string& text) {
  std::vector<size_t> cuts;
  for (size_t cut = 1; cut < text.size(); ++cut) cuts.push_back(cut);
  return cuts;
}

TEST(Http1Body, LengthHoweverItIsCut) {
  const std::string text = "0123456789NEXT";
  StoragePool storages;
  http::Http1Body reader(storages);
  for (size_t cut = 1; cut < text.size(); ++cut) {
    reader.start_length(10);
    const Reading outcome = feed(reader, text, {cut});
    EXPECT_EQ(outcome.state, http::Http1Body::State::complete);
    EXPECT_EQ(outcome.body, "0123456789");
    EXPECT_EQ(outcome.taken, 10u);
  }
  reader.start_length(10);
  EXPECT_EQ(feed(reader, text, every_byte(text)).body, "0123456789");
}

TEST(Http1Body, BodyWithinOneReadStaysInPlace) {
  StoragePool storages;
  http::Http1Body reader(storages);
  std::string text = "0123456789";
  reader.start_length(text.size());
  reader.feed({text.data(), text.size()});
  EXPECT_EQ(reader.body().data(), text.data());
  EXPECT_EQ(reader.held(), 0u);
}

TEST(Http1Body, LargeBodyInPieces) {
  std::string text(300000, 'x');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 26);
  StoragePool storages;
  http::Http1Body reader(storages);
  reader.start_length(text.size());
  const Reading outcome = feed(reader, text, {1, 65536, 65537, 299999});
  EXPECT_EQ(outcome.body, text);
  EXPECT_EQ(reader.held(), 0u);
}

TEST(Http1Body, ChunksHoweverTheyAreCut) {
  const std::vector<std::string> texts = {
      "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n",
      "b\r\nhello world\r\n0\r\n\r\n",
      "B\r\nhello world\r\n000\r\n\r\n",
      "0005\r\nhello\r\n6\r\n world\r\n0\r\n\r\n",
      "5;a\r\nhello\r\n6;b=\"c d\"\r\n world\r\n0;g=h\r\n\r\n",
      "5\r\nhello\r\n6\r\n world\r\n0\r\nA: b\r\nContent-Length: 3\r\n\r\n",
      "5\r\nhello\r\n6\r\n world\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n",
  };
  for (const std::string& body : texts) {
    const std::string text = body + "GET / HTTP/1.1\r\n";
    for (size_t cut = 1; cut < text.size(); ++cut) {
      const Reading outcome = chunked(text, {cut});
      EXPECT_EQ(outcome.state, http::Http1Body::State::complete) << body << cut;
      EXPECT_EQ(outcome.body, "hello world") << body << cut;
      EXPECT_EQ(outcome.taken, body.size()) << body << cut;
    }
    const Reading outcome = chunked(text, every_byte(text));
    EXPECT_EQ(outcome.body, "hello world") << body;
    EXPECT_EQ(outcome.taken, body.size()) << body;
  }
}

TEST(Http1Body, EmptyChunkedBody) {
  const Reading outcome = chunked("0\r\n\r\n", {});
  EXPECT_EQ(outcome.state, http::Http1Body::State::complete);
  EXPECT_EQ(outcome.body, "");
}

TEST(Http1Body, MalformedChunks) {
  const std::vector<std::string> cases = {
      "5 \r\nhello\r\n0\r\n\r\n",
      " 5\r\nhello\r\n0\r\n\r\n",
      "5\t\r\nhello\r\n0\r\n\r\n",
      "5 ;a=b\r\nhello\r\n0\r\n\r\n",
      "5;\r\nhello\r\n0\r\n\r\n",
      "5\nhello\r\n0\r\n\r\n",
      "5\rhello\r\n0\r\n\r\n",
      "5\r\nhello\n0\r\n\r\n",
      "5\r\nhelloXX0\r\n\r\n",
      "5\r\nhell\r\n0\r\n\r\n",
      "5\r\nhello\r\n\r\n0\r\n\r\n",
      "5\r\nhello\r\n0\n\r\n",
      "5\r\nhello\r\n0\r\n\n",
      "5\r\nhello\r\n0\r\nA: b\n\r\n",
      "5\r\nhello\r\n0\r\nA: b\r\n folded\r\n\r\n",
      "5\r\nhello\r\n0\r\nA : b\r\n\r\n",
      "5\r\nhello\r\n0\r\nA: b\rc\r\n\r\n",
      "5\r\nhello\r\n0\r\n\rX\n",
      "0x5\r\nhello\r\n0\r\n\r\n",
      "+5\r\nhello\r\n0\r\n\r\n",
      "-5\r\nhello\r\n0\r\n\r\n",
      "5g\r\nhello\r\n0\r\n\r\n",
      "\r\nhello\r\n0\r\n\r\n",
      ";a=b\r\nhello\r\n0\r\n\r\n",
      "5;a\nhello\r\n0\r\n\r\n",
      "5;a=b\rX\r\nhello\r\n0\r\n\r\n",
      "5;a=\"b\r\n\"\r\nhello\r\n0\r\n\r\n",
      "5;a=\x01\r\nhello\r\n0\r\n\r\n",
      "10000000000000005\r\nhello\r\n0\r\n\r\n",
  };
  for (const std::string& text : cases) {
    EXPECT_EQ(chunked(text, {}).state, http::Http1Body::State::failed)
        << testing::PrintToString(text);
    EXPECT_EQ(chunked(text, every_byte(text)).state, http::Http1Body::State::failed)
        << testing::PrintToString(text);
  }
}

TEST(Http1Body, LimitOfChunkedBody) {
  const std::string two = "20\r\n" + std::string(32, 'x') + "\r\n";
  for (const size_t limit : {64u, 63u}) {
    const auto expected =
        limit == 64 ? http::Http1Body::State::complete : http::Http1Body::State::too_large;
    EXPECT_EQ(chunked(two + two + "0\r\n\r\n", {}, limit).state, expected);
    EXPECT_EQ(chunked("40\r\n" + std::string(64, 'x') + "\r\n0\r\n\r\n", {}, limit).state,
              expected);
  }
  // The size alone exceeds the limit.
  EXPECT_EQ(chunked("41\r\n", {}).state, http::Http1Body::State::too_large);
  EXPECT_EQ(chunked("ffffffffffffffff\r\n", {}).state, http::Http1Body::State::too_large);
}

TEST(Http1Body, LimitOfFraming) {
  const std::string at_limit = "1;a=" + std::string(http::Http1Body::kMaxFraming - 4, 'b');
  EXPECT_EQ(chunked(at_limit, {}).state, http::Http1Body::State::reading);
  EXPECT_EQ(chunked(at_limit + "b", {}).state, http::Http1Body::State::failed);
  EXPECT_EQ(chunked(std::string(http::Http1Body::kMaxFraming + 1, '0'), {}).state,
            http::Http1Body::State::failed);
}

TEST(Http1Body, LimitOfTrailers) {
  const auto with_trailers = [](size_t size) {  // with the empty line
    return "0\r\nA: " + std::string(size - 7, 'b') + "\r\n\r\n";
  };
  EXPECT_EQ(chunked(with_trailers(http::Http1Body::kMaxTrailer), {}).state,
            http::Http1Body::State::complete);
  EXPECT_EQ(chunked(with_trailers(http::Http1Body::kMaxTrailer + 1), {}).state,
            http::Http1Body::State::failed);
}

TEST(Http1Body, ManySmallChunksAreNotTooMuchFraming) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "1\r\nx\r\n";
  text += "0\r\n\r\n";
  const Reading outcome = chunked(text, {7, 4000}, 2000);
  EXPECT_EQ(outcome.state, http::Http1Body::State::complete);
  EXPECT_EQ(outcome.body, std::string(2000, 'x'));
}

}  // namespace
}  // namespace stdgate

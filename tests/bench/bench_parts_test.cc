#include <gmock/gmock.h>

#include <cstdint>
#include <string>

#include "tests/bench/http_dialogue.h"
#include "tests/bench/tally.h"

namespace stdgate::bench {

// Responses of servers, cut at every position.

namespace {

std::string body_of(const HttpAnswer& answer) { return {answer.body.data(), answer.body.size()}; }

void check(const std::string& text, int status, const std::string& body) {
  const std::string next = "HTTP/1.1 500 next\r\n";
  for (size_t size = 0; size < text.size(); ++size) {
    std::string part = text.substr(0, size);
    const auto answer = read_http_answer(part);
    ASSERT_TRUE(answer) << answer.error();
    EXPECT_EQ(answer->size, 0U) << "complete with " << size << " bytes";
    EXPECT_EQ(part, text.substr(0, size)) << "changed before it was complete";
    if (answer->needed > 0) {
      EXPECT_EQ(answer->needed, text.size());
    }
  }
  std::string whole = text + next;
  const auto answer = read_http_answer(whole);
  ASSERT_TRUE(answer) << answer.error();
  EXPECT_EQ(answer->status, status);
  EXPECT_EQ(answer->size, text.size());
  EXPECT_EQ(body_of(*answer), body);
  EXPECT_EQ(whole.substr(text.size()), next);
}

TEST(HttpAnswer, ByLength) {
  check("HTTP/1.1 200 OK\r\ncontent-LENGTH:  5 \r\nX: y\r\n\r\nhello", 200, "hello");
  check("HTTP/1.1 502 Bad\r\nContent-Length: 0\r\n\r\n", 502, "");
  check("HTTP/1.1 204 No Content\r\n\r\n", 204, "");
}

TEST(HttpAnswer, InChunks) {
  check("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n",
        200, "hello");
  check("HTTP/1.1 202 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", 202, "");
}

TEST(HttpAnswer, WhatIsNoneIsAnError) {
  for (std::string text : {"HTTP/1.0 200 OK\r\n\r\n", "hello\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n",
                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n"}) {
    EXPECT_FALSE(read_http_answer(text)) << text;
  }
}

TEST(HttpAnswer, FieldsAreFoundByTheirWholeName) {
  const std::string head = "HTTP/1.1 200 OK\r\nAB: 1\r\nb: 2\r\nB-c:3\r\n";
  EXPECT_EQ(http_field(head, "ab"), "1");
  EXPECT_EQ(http_field(head, "b"), "2");
  EXPECT_EQ(http_field(head, "b-c"), "3");
  EXPECT_EQ(http_field(head, "a"), "");
}

}  // namespace

// Recorded values are read back with an error of at most 1.6 %.

namespace {

TEST(LatencyHistogram, AnEmptyOneSaysNothing) {
  const LatencyHistogram histogram;
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(histogram.quantile_ns(0.5), 0U);
  EXPECT_EQ(histogram.max_ns(), 0U);
}

TEST(LatencyHistogram, EachValueIsNearTheRecordedOne) {
  for (uint64_t value = 1; value < UINT64_MAX / 3; value = value * 3 + 1) {
    LatencyHistogram histogram;
    histogram.record(value);
    histogram.record(UINT64_MAX);
    EXPECT_NEAR(static_cast<double>(histogram.quantile_ns(0.5)), static_cast<double>(value),
                static_cast<double>(value) * 0.016);
  }
}

TEST(LatencyHistogram, QuantilesAreOfAllValues) {
  LatencyHistogram histogram;
  for (uint64_t value = 1; value <= 100; ++value) histogram.record(value);
  EXPECT_EQ(histogram.count(), 100U);
  EXPECT_EQ(histogram.quantile_ns(0), 1U);
  EXPECT_EQ(histogram.quantile_ns(0.5), 50U);
  EXPECT_EQ(histogram.quantile_ns(0.99), 99U);
  EXPECT_EQ(histogram.quantile_ns(1), 100U);
  histogram.clear();
  EXPECT_EQ(histogram.count(), 0U);
}

TEST(LatencyHistogram, NoQuantileIsAboveTheMaximum) {
  LatencyHistogram histogram;
  histogram.record(1'000'001);
  EXPECT_EQ(histogram.quantile_ns(0.99), 1'000'001U);
}

}  // namespace

}  // namespace stdgate::bench

#include "transports/http/http1_head.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "gateway/base/text.h"

namespace stdgate {
namespace {

constexpr size_t kHeadLimit = 1024;

struct Verdict {
  int status = 200;  // 200: valid; 0: incomplete
  std::string block;
};

// Scans `text` in pieces, which end at `cuts` and at the end of the text.
Verdict scan(const std::string& text, const std::vector<size_t>& cuts, size_t limit = kHeadLimit) {
  http::HeadScanner scanner;
  scanner.start(http::HeadScanner::Kind::request, limit);
  std::vector<size_t> ends = cuts;
  ends.push_back(text.size());
  for (const size_t end : ends) {
    const std::string_view so_far = std::string_view(text).substr(0, end);
    switch (scanner.scan(so_far)) {
      case http::HeadScanner::Result::incomplete:
        break;
      case http::HeadScanner::Result::failed:
        return {scanner.error().status, {}};
      case http::HeadScanner::Result::complete:
        return {200,
                text.substr(scanner.block_begin(), scanner.block_end() - scanner.block_begin())};
    }
  }
  return {0, {}};
}

// A head, and the block that its views point into.
struct Request {
  http::Http1Head head;
  std::string block;

  int read(const std::string& text, size_t limit = kHeadLimit) {
    Verdict verdict = scan(text, {}, limit);
    if (verdict.status != 200) return verdict.status;
    block = std::move(verdict.block);
    const auto parsed = head.parse(block);
    return parsed ? 200 : parsed.error().status;
  }
};

int status_of(const std::string& text, size_t limit = kHeadLimit) {
  Request request;
  return request.read(text, limit);
}

std::string post(const std::string& fields) {
  return "POST /rpc HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
}

TEST(HeadScanner, FindsTheEndHoweverTheBlockIsCut) {
  const std::string block = "POST /rpc HTTP/1.1\r\nHost: a\r\nA: b c \r\n\r\n";
  for (const std::string& before : {std::string(), std::string("\r\n")}) {
    const std::string text = before + block + "{\"body\":1}\r\n\r\n";
    std::vector<size_t> every;
    for (size_t cut = 1; cut < text.size(); ++cut) {
      EXPECT_EQ(scan(text, {cut}).block, block) << cut;
      every.push_back(cut);
    }
    EXPECT_EQ(scan(text, every).block, block);
  }
}

TEST(HeadScanner, IncompleteUntilTheLastByte) {
  const std::string block = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  for (size_t size = 0; size < block.size(); ++size) {
    EXPECT_EQ(scan(block.substr(0, size), {}).status, 0) << size;
  }
  EXPECT_EQ(scan(block, {}).status, 200);
}

TEST(HeadScanner, LimitOfTheBlock) {
  const std::string block = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  EXPECT_EQ(scan(block, {}, block.size()).status, 200);
  EXPECT_EQ(scan(block, {}, block.size() - 1).status, 431);
  EXPECT_EQ(scan("\r\n" + block, {}, block.size()).status, 200);
  // The limit also holds when the end of the block has not arrived.
  const std::string open_end = "GET / HTTP/1.1\r\nA: ";
  EXPECT_EQ(scan(open_end + "b", {}, open_end.size()).status, 431);
  EXPECT_EQ(scan(open_end, {}, open_end.size()).status, 0);
}

// The line exceeds the limit before its LF, which is a separate piece.
TEST(HeadScanner, WhatIsWrongFirstIsSaidHoweverTheBlockIsCut) {
  const std::string text = "GET / HTTP/1.1\r\nA: 12345\n\r\n";
  const size_t line_feed = text.find("5\n") + 1;
  for (const size_t limit : {line_feed - 1, line_feed, line_feed + 1}) {
    const int status = limit < line_feed ? 431 : 400;
    EXPECT_EQ(scan(text, {}, limit).status, status) << limit;
    std::vector<size_t> every;
    for (size_t cut = 1; cut < text.size(); ++cut) {
      EXPECT_EQ(scan(text, {cut}, limit).status, status) << limit << ", cut at " << cut;
      every.push_back(cut);
    }
    EXPECT_EQ(scan(text, every, limit).status, status) << limit;
  }
}

TEST(HeadScanner, LimitOfTheTarget) {
  const auto request = [](size_t target) {
    return "GET /" + std::string(target - 1, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n";
  };
  EXPECT_EQ(status_of(request(http::RequestHead::kMaxTarget), 64 << 10), 200);
  EXPECT_EQ(status_of(request(http::RequestHead::kMaxTarget + 1), 64 << 10), 414);
  const std::string endless(http::RequestHead::kMaxTarget + http::HeadScanner::kLineSlack, 'a');
  EXPECT_EQ(scan(endless, {}, 64 << 10).status, 0);
  EXPECT_EQ(scan(endless + "a", {}, 64 << 10).status, 414);
  EXPECT_EQ(scan(endless + "a", {}, 2048).status, 431) << "the smaller limit, as byte by byte";
}

TEST(HeadScanner, RejectsWhatPeersReadDifferently) {
  const std::vector<std::string> cases = {
      "GET / HTTP/1.1\nHost: a\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\n\n",
      "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
      "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET / HTTP/1.1\rHost: a\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n",
      "GET / HTTP/1.1\r\r\nHost: a\r\n\r\n",
      "GET / HTTP/1.1\r\nA: b\r\r\nHost: a\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\n\tfolded\r\n\r\n",
      "GET / HTTP/1.1\r\n Host: a\r\n\r\n",
      "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
      "GET / HTTP/1.1\r\nHost\t: a\r\n\r\n",
      "GET / HTTP/1.1\r\nHost a\r\n\r\n",
      "GET / HTTP/1.1\r\n: a\r\n\r\n",
      "GET / HTTP/1.1\r\nHo st: a\r\n\r\n",
      "GET / HTTP/1.1\r\nHo(st: a\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nMcp_Session_Id: b\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: a\r\nContent_Length: 2\r\n\r\n",
      "GET / HTTP/1.1\r\nHo\x80st: a\r\n\r\n",
      "GET / HTTP/1.1\r\nA: b\x01\r\n\r\n",
      "GET / HTTP/1.1\r\nA: b\x7f\r\n\r\n",
      "GET / HTTP/1.1\r\nA: b\x0b\r\n\r\n",
      std::string("GET / HTTP/1.1\r\nA: b\0\r\n\r\n", 24),
      std::string("GET / HTTP/1.1\r\nA\0: b\r\n\r\n", 24),
      std::string("GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n", 28),
      "GET /\t HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET /\x80 HTTP/1.1\r\nHost: a\r\n\r\n",
  };
  for (const std::string& text : cases) {
    EXPECT_EQ(scan(text, {}).status, 400) << testing::PrintToString(text);
    std::vector<size_t> every;
    for (size_t cut = 1; cut < text.size(); ++cut) every.push_back(cut);
    EXPECT_EQ(scan(text, every).status, 400) << testing::PrintToString(text);
  }
}

TEST(Http1Head, TakesApart) {
  Request request;
  const http::Http1Head& head = request.head;
  const std::string text =
      "POST /a/rpc?x=%201 HTTP/1.1\r\nhOST: example.org:8080\r\nX-Empty:\r\n"
      "Content-Type: \t application/json \t\r\nContent-Length: 12\r\nX-Bytes: \xc3\xa9\r\n\r\n";
  ASSERT_EQ(request.read(text), 200);
  EXPECT_EQ(head.method(), http::Method::post);
  EXPECT_EQ(head.path(), "/a/rpc");
  EXPECT_EQ(head.query(), "x=%201");
  EXPECT_EQ(head.authority(), "example.org:8080");
  EXPECT_EQ(head.body_kind(), http::BodyKind::length);
  EXPECT_EQ(head.content_length(), 12u);
  EXPECT_FALSE(head.http_1_0());
  EXPECT_TRUE(head.keep_alive());
  EXPECT_FALSE(head.expects_continue());
  ASSERT_EQ(head.fields().size(), 5u);
  EXPECT_EQ(head.find("content-type")->value, "application/json");
  EXPECT_EQ(head.find("x-empty")->value, "");
  EXPECT_EQ(head.find("x-bytes")->value, "\xc3\xa9");
  EXPECT_EQ(head.find("accept"), nullptr);
  // A head that is used again keeps nothing of the former request.
  ASSERT_EQ(request.read("GET / HTTP/1.1\r\nHost: b\r\n\r\n"), 200);
  EXPECT_EQ(head.body_kind(), http::BodyKind::none);
  EXPECT_EQ(head.content_length(), 0u);
  EXPECT_EQ(head.query(), "");
  EXPECT_EQ(head.find("content-type"), nullptr);
}

TEST(Http1Head, Statuses) {
  struct Case {
    std::string text;
    int status;
  };
  const std::string get = "GET / HTTP/1.1\r\nHost: a\r\n";
  const std::vector<Case> cases = {
      {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 200},
      // Request line (RFC 9112 section 3).
      {"BREW / HTTP/1.1\r\nHost: a\r\n\r\n", 501},
      {"get / HTTP/1.1\r\nHost: a\r\n\r\n", 501},
      {"DESCRIBE / HTTP/1.1\r\nHost: a\r\n\r\n", 501},
      {"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", 501},
      {"PUT / HTTP/1.1\r\nHost: a\r\n\r\n", 200},
      {"G(T / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505},
      {"GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505},
      {"GET / HTTP/0.9\r\nHost: a\r\n\r\n", 505},
      {"GET / HTTP/1.2\r\nHost: a\r\n\r\n", 505},
      {"PRI * HTTP/2.0\r\n\r\n", 505},
      {"GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400},
      {"GET / HTTP/11\r\nHost: a\r\n\r\n", 400},
      {"GET / http/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET / HTTP/1.10\r\nHost: a\r\n\r\n", 400},
      {"GET / ICE/1.0\r\nHost: a\r\n\r\n", 400},
      {"GET /\r\nHost: a\r\n\r\n", 400},
      {"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET /  HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {" GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET\r\nHost: a\r\n\r\n", 400},
      // Target.
      {"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 200},
      {"GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET rpc HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET /%2 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET /?q=% HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET /%2f?q=%00 HTTP/1.1\r\nHost: a\r\n\r\n", 200},
      {"GET /#f HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET http://b:1/x HTTP/1.1\r\nHost: a\r\n\r\n", 200},
      {"GET https://b HTTP/1.1\r\nHost: a\r\n\r\n", 200},
      {"GET ftp://b/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET http://u@b/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      // Host (section 3.2).
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET http://b/ HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.0\r\n\r\n", 200},
      {"GET / HTTP/1.1\r\nHost:\r\n\r\n", 200},
      {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400},
      {"GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a:b\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: [::1]:65535\r\n\r\n", 200},
      {"GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", 400},
      // Expect (RFC 9110 section 10.1.1).
      {get + "Expect: 100-Continue\r\n\r\n", 200},
      {get + "Expect: a-miracle\r\n\r\n", 417},
      {"GET / HTTP/1.0\r\nExpect: a-miracle\r\n\r\n", 200},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(status_of(c.text), c.status) << testing::PrintToString(c.text);
  }
}

TEST(Http1Head, FieldsOfMcpThatAreThereTwiceAreNoted) {
  const auto is_ambiguous = [](const std::string& fields) {
    http::Http1Head head;
    EXPECT_TRUE(head.parse("GET / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n")) << fields;
    return head.is_ambiguous();
  };
  for (const std::string name :
       {"Mcp-Session-Id", "Last-Event-ID", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"}) {
    EXPECT_FALSE(is_ambiguous(name + ": a\r\n"));
    EXPECT_TRUE(is_ambiguous(name + ": a\r\n" + to_lower_ascii(name) + ": a\r\n")) << name;
  }
  EXPECT_FALSE(is_ambiguous("Mcp-Method: a\r\nMcp-Name: a\r\nAccept: a\r\nAccept: a\r\n"));
  http::Http1Head again;
  EXPECT_TRUE(again.parse("GET / HTTP/1.1\r\nHost: a\r\nMcp-Name: a\r\nMcp-Name: b\r\n\r\n"));
  EXPECT_TRUE(again.parse("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_FALSE(again.is_ambiguous());
}

TEST(Http1Head, BodyLength) {
  struct Case {
    std::string fields;
    int status;
    http::BodyKind kind = http::BodyKind::none;
    uint64_t length = 0;
  };
  const std::vector<Case> cases = {
      {"", 200},
      {"Content-Length: 0\r\n", 200},
      {"Content-Length: 5\r\n", 200, http::BodyKind::length, 5},
      {"content-LENGTH:5 \r\n", 200, http::BodyKind::length, 5},
      {"Content-Length: 18446744073709551615\r\n", 200, http::BodyKind::length, UINT64_MAX},
      {"Content-Length: 18446744073709551616\r\n", 400},
      {"Content-Length: 99999999999999999999999\r\n", 400},
      {"Content-Length:\r\n", 400},
      {"Content-Length: +5\r\n", 400},
      {"Content-Length: -5\r\n", 400},
      {"Content-Length: 0x5\r\n", 400},
      {"Content-Length: 5,5\r\n", 400},
      {"Content-Length: 5, 5\r\n", 400},
      {"Content-Length: 5 5\r\n", 400},
      {"Content-Length: 5.0\r\n", 400},
      {"Content-Length: 5;a\r\n", 400},
      {"Content-Length: \"5\"\r\n", 400},
      {"Content-Length: 5\r\nContent-Length: 5\r\n", 400},
      {"Content-Length: 5\r\nContent-Length: 6\r\n", 400},
      {"Content-Length: 5\r\nX: y\r\ncontent-length: 6\r\n", 400},
      {"Transfer-Encoding: chunked\r\n", 200, http::BodyKind::chunked},
      {"transfer-encoding: ChunKed\r\n", 200, http::BodyKind::chunked},
      {"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", 400},
      {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 400},
      {"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", 400},
      {"Transfer-Encoding: chunked\r\nContent-Length: 0\r\n", 400},
      {"Transfer-Encoding: gzip, chunked\r\n", 501},
      {"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", 501},
      {"Transfer-Encoding: identity, chunked\r\n", 501},
      {"Transfer-Encoding: gzip\r\n", 400},
      {"Transfer-Encoding: identity\r\n", 400},
      {"Transfer-Encoding:\r\n", 400},
      {"Transfer-Encoding: chunked, gzip\r\n", 400},
      {"Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n", 400},
      {"Transfer-Encoding: chunked, chunked\r\n", 400},
      {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400},
      {"Transfer-Encoding: chunked,\r\n", 400},
      {"Transfer-Encoding: chunked;q=1\r\n", 400},
      {"Transfer-Encoding: xchunked\r\n", 400},
      {"Transfer-Encoding: chunkedx\r\n", 400},
      {"Transfer-Encoding: \"chunked\"\r\n", 400},
      {"Transfer-Encoding: chunked chunked\r\n", 400},
  };
  for (const Case& c : cases) {
    Request request;
    const http::Http1Head& head = request.head;
    EXPECT_EQ(request.read(post(c.fields)), c.status) << c.fields;
    if (c.status != 200) continue;
    EXPECT_EQ(head.body_kind(), c.kind) << c.fields;
    EXPECT_EQ(head.content_length(), c.length) << c.fields;
  }
  EXPECT_EQ(status_of("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
}

TEST(Http1Head, KeepAlive) {
  struct Case {
    const char* version;
    const char* connection;
    bool keep_alive;
  };
  const std::vector<Case> cases = {
      {"1.1", "", true},
      {"1.1", "Connection: close\r\n", false},
      {"1.1", "Connection: CLOSE\r\n", false},
      {"1.1", "Connection: foo, close\r\n", false},
      {"1.1", "Connection: foo\r\nConnection: close\r\n", false},
      {"1.1", "Connection: keep-alive, close\r\n", false},
      {"1.1", "Connection: closed\r\n", true},
      {"1.0", "", false},
      {"1.0", "Connection: keep-alive\r\n", true},
      {"1.0", "Connection: Keep-Alive, close\r\n", false},
  };
  for (const Case& c : cases) {
    Request request;
    const http::Http1Head& head = request.head;
    const std::string text =
        std::string("GET / HTTP/") + c.version + "\r\nHost: a\r\n" + c.connection + "\r\n";
    ASSERT_EQ(request.read(text), 200) << text;
    EXPECT_EQ(head.keep_alive(), c.keep_alive) << text;
    EXPECT_EQ(head.http_1_0(), c.version[2] == '0') << text;
  }
}

TEST(Http1Head, AbsoluteTargetWinsOverHost) {
  Request request;
  const http::Http1Head& head = request.head;
  ASSERT_EQ(request.read("GET http://b.example:81?x=1 HTTP/1.1\r\nHost: a\r\n\r\n"), 200);
  EXPECT_EQ(head.authority(), "b.example:81");
  EXPECT_EQ(head.path(), "/");
  EXPECT_EQ(head.query(), "x=1");
}

TEST(Http1Head, KnowsTheBlockThatItHasParsed) {
  Request request;
  const std::string text = post("Content-Length: 3\r\n");
  EXPECT_FALSE(request.head.is_repeated_by(text)) << "before the first one";
  ASSERT_EQ(request.read(text), 200);
  EXPECT_EQ(request.head.block(), text);
  EXPECT_TRUE(request.head.is_repeated_by(text));
  EXPECT_TRUE(request.head.is_repeated_by(text + "abcGET / HTTP/1.1"));
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(request.head.is_repeated_by(text.substr(0, size))) << size;
    std::string other = text;
    other[size] ^= 1;
    EXPECT_FALSE(request.head.is_repeated_by(other)) << size;
  }
  request.block.assign(request.block.size(), '-');
  EXPECT_EQ(request.head.path(), "/rpc") << "views are into its own copy";
  EXPECT_EQ(request.head.find("host")->value, "a");

  EXPECT_NE(request.read("GET / HTTP/1.1\r\n\r\n"), 200);
  EXPECT_FALSE(request.head.is_repeated_by("GET / HTTP/1.1\r\n\r\n")) << "a bad block";
  EXPECT_FALSE(request.head.is_repeated_by(text)) << "it is not the last one any more";
}

TEST(Http1Head, ForgetsALongBlock) {
  Request request;
  const std::string text = post("X: " + std::string(4000, 'x') + "\r\n");
  ASSERT_EQ(request.read(text, 8000), 200);
  request.head.forget_long_block();
  EXPECT_FALSE(request.head.is_repeated_by(text));
  ASSERT_EQ(request.read(post("")), 200);
  request.head.forget_long_block();
  EXPECT_TRUE(request.head.is_repeated_by(post("")));
}

TEST(Http1Head, UpgradeIsIgnored) {
  Request request;
  const http::Http1Head& head = request.head;
  const std::string fields = "Connection: upgrade\r\nUpgrade: websocket\r\n";
  ASSERT_EQ(request.read("GET / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n"), 200);
  ASSERT_EQ(request.read(post(fields + "Content-Length: 3\r\n")), 200);
  EXPECT_EQ(head.content_length(), 3u);
}

TEST(Http1Head, LimitOfFields) {
  const auto with_fields = [](size_t count) {
    std::string fields;
    for (size_t i = 1; i < count; ++i) fields += "A:\r\n";
    return "GET / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
  };
  EXPECT_EQ(status_of(with_fields(http::Http1Head::kMaxField)), 200);
  EXPECT_EQ(status_of(with_fields(http::Http1Head::kMaxField + 1)), 431);
}

}  // namespace
}  // namespace stdgate

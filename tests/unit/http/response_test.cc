#include "transports/http/response.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <climits>
#include <string>

#include "transports/http/http1_response.h"
#include "transports/http/router.h"

namespace stdgate {
namespace {

constexpr std::string_view kDate = "Sun, 06 Nov 1994 08:49:37 GMT";
constexpr std::string_view kTwoParts[] = {"{\"a\"", ":1}"};

std::string head_of(const http::Response& response, const http::Http1Frame& frame) {
  return std::string(http::Http1ResponseHead(response, frame).view());
}

TEST(Http1ResponseHead, Whole) {
  EXPECT_EQ(head_of({.content_type = http::kJsonType, .body = kTwoParts}, {.date = kDate}),
            "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
            "X-Content-Type-Options: nosniff\r\n"
            "Content-Type: application/json\r\nContent-Length: 7\r\n\r\n");
  EXPECT_EQ(head_of({.status = 204}, {.date = kDate, .close = true}),
            "HTTP/1.1 204 No Content\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
            "X-Content-Type-Options: nosniff\r\n"
            "Connection: close\r\n\r\n");
  EXPECT_EQ(head_of({.status = 405, .allow = "GET"}, {.date = kDate, .http_1_0 = true}),
            "HTTP/1.1 405 Method Not Allowed\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
            "X-Content-Type-Options: nosniff\r\n"
            "Allow: GET\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n");
}

TEST(Http1ResponseHead, RetryAfterIsRoundedUp) {
  const auto line = [](Duration after) {
    const std::string head = head_of({.status = 503, .retry_after = after}, {.date = kDate});
    const size_t begin = head.find("Retry-After");
    return begin == std::string::npos ? std::string()
                                      : head.substr(begin, head.find('\r', begin) - begin);
  };
  EXPECT_EQ(line(Duration{0}), "");
  EXPECT_EQ(line(Duration{1}), "Retry-After: 1");
  EXPECT_EQ(line(std::chrono::seconds(1)), "Retry-After: 1");
  EXPECT_EQ(line(std::chrono::milliseconds(1001)), "Retry-After: 2");
}

http::Response stream(std::string_view more_fields) {
  return {.content_type = "text/event-stream",
          .type_fields = "Cache-Control: no-store\r\n",
          .more_fields = more_fields};
}

TEST(Http1ResponseHead, InPieces) {
  EXPECT_EQ(head_of(stream("Mcp-Session-Id: s\r\n"), {.date = kDate, .is_in_pieces = true}),
            "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
            "X-Content-Type-Options: nosniff\r\n"
            "Content-Type: text/event-stream\r\nCache-Control: no-store\r\nMcp-Session-Id: "
            "s\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_EQ(
      head_of(stream(""), {.date = kDate, .http_1_0 = true, .close = true, .is_in_pieces = true}),
      "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
      "X-Content-Type-Options: nosniff\r\n"
      "Content-Type: text/event-stream\r\nCache-Control: no-store\r\n"
      "Connection: close\r\n\r\n");
}

// The longest form of every line together must fit the buffer.
TEST(Http1ResponseHead, HoldsTheLongestLines) {
  const std::string fields = "X: " + std::string(http::kMaxFieldBytes - 5, 'x') + "\r\n";
  const std::string head = head_of({.status = 431,
                                    .content_type = "text/plain; version=0.0.4; charset=utf-8",
                                    .allow = http::kAllowAll,
                                    .retry_after = Duration::max(),
                                    .more_fields = fields},
                                   {.date = kDate, .http_1_0 = true});
  EXPECT_TRUE(head.ends_with(fields + "Content-Length: 0\r\nConnection: keep-alive\r\n\r\n"));
  const std::string in_pieces =
      head_of(stream(fields), {.date = kDate, .close = true, .is_in_pieces = true});
  EXPECT_TRUE(
      in_pieces.ends_with(fields + "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"));
}

TEST(HttpErrorBody, Members) {
  EXPECT_EQ(http::http_error_body({404, "nothing here"}, R"("paths":["/rpc"])"),
            "{\"error\":{\"code\":\"not_found\",\"message\":\"nothing here\","
            "\"paths\":[\"/rpc\"]}}\n");
  EXPECT_EQ(http::http_error_body({403, "no"}, ""),
            "{\"error\":{\"code\":\"forbidden\",\"message\":\"no\"}}\n");
}

TEST(DateHeader, Format) {
  const auto date = [](int64_t seconds) {
    std::array<char, 29> text{};
    http::write_http_date(seconds, text.data());
    return std::string(text.data(), text.size());
  };
  EXPECT_EQ(date(784111777), kDate);
  EXPECT_EQ(date(0), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(date(1709210096), "Thu, 29 Feb 2024 12:34:56 GMT");
  EXPECT_EQ(date(1798761599), "Thu, 31 Dec 2026 23:59:59 GMT");
}

TEST(DateHeader, IsReadAgainAfterASecond) {
  http::DateHeader header;
  const TimePoint start{std::chrono::hours(1)};
  const char* const text = header.at(start).data();
  ASSERT_EQ(header.at(start).size(), kDate.size());
  const_cast<char*>(text)[0] = '?';  // shows whether the text is written again
  EXPECT_EQ(header.at(start + std::chrono::milliseconds(999))[0], '?');
  EXPECT_NE(header.at(start + std::chrono::seconds(1))[0], '?');
}

std::string wire(const session::StreamEvent& event) {
  const http::EventFrame frame(event);
  std::string text(frame.head());
  for (const std::string_view part : event.data) text += part;
  text += http::kEventEnd;
  return text;
}

TEST(ChunkSize, IsInHexadecimal) {
  EXPECT_EQ(http::ChunkSize(1).view(), "1\r\n");
  EXPECT_EQ(http::ChunkSize(0x1b).view(), "1b\r\n");
  EXPECT_EQ(http::ChunkSize(SIZE_MAX).view(), std::string(2 * sizeof(size_t), 'f') + "\r\n");
}

TEST(EventFrame, Fields) {
  constexpr std::string_view kData[] = {"{}"};
  const std::string longest(http::EventFrame::kMaxField, 'i');
  EXPECT_EQ(wire({.data = kData}), "data: {}\n\n");
  EXPECT_EQ(wire({.id = "7-1"}), "id: 7-1\ndata: \n\n");
  EXPECT_EQ(wire({.id = "7-1", .retry_ms = 500}), "id: 7-1\nretry: 500\ndata: \n\n");
  EXPECT_EQ(wire({.name = "endpoint", .data = kData}), "event: endpoint\ndata: {}\n\n");
  EXPECT_EQ(wire({.name = longest, .id = longest, .retry_ms = UINT_MAX, .data = kData}),
            "event: " + longest + "\nid: " + longest + "\nretry: 4294967295\ndata: {}\n\n");
}

struct NamedEndpoint final : http::Endpoint {
  explicit NamedEndpoint(http::AllowedMethods allowed = http::AllowedMethods::read)
      : allowed_(allowed) {}
  [[nodiscard]] http::AllowedMethods allowed_methods() const override { return allowed_; }
  std::optional<http::HttpError> admit(http::Exchange& /*exchange*/) override {
    return std::nullopt;
  }
  void serve(http::Exchange& /*exchange*/, std::span<char> /*body*/) override {}

 private:
  const http::AllowedMethods allowed_;
};

TEST(Router, FindsExactPathsButForASlashAtTheEnd) {
  const http::AdmissionPolicy policy{http::OriginRules{}};
  http::Router router(policy);
  EXPECT_EQ(router.find("/"), nullptr);
  for (const char* path : {"/rpc", "/b/rpc", "/rpc/stream", "/a/rpc"}) {
    router.add(path, "about", std::make_unique<NamedEndpoint>());
  }
  EXPECT_THAT(router.hints("/x", http::RouteAudience::operators).paths,
              testing::ElementsAre("/a/rpc", "/b/rpc", "/rpc", "/rpc/stream"));
  for (const char* path : {"/rpc", "/b/rpc", "/rpc/stream", "/a/rpc"}) {
    EXPECT_NE(router.find(path), nullptr) << path;
    EXPECT_EQ(router.find(path + std::string("/")), router.find(path)) << path;
  }
  for (const char* path :
       {"", "/", "//", "/rpc//", "/RPC", "/c/rpc", "/rp", "/z", "//rpc", "/a/../rpc"}) {
    EXPECT_EQ(router.find(path), nullptr) << path;
  }
  router.add("/", "index", std::make_unique<NamedEndpoint>());
  EXPECT_NE(router.find("/"), nullptr);
  EXPECT_EQ(router.find("//"), nullptr);
}

TEST(Router, SaysWhereToPost) {
  const http::AdmissionPolicy policy{http::OriginRules{}};
  http::Router router(policy);
  EXPECT_EQ(router.post_hint("/nothing"), "");
  router.add("/rpc/stream", "", std::make_unique<NamedEndpoint>());
  EXPECT_EQ(router.post_hint("/nothing"), "");
  for (const char* path : {"/a/rpc", "/rpc"}) {
    router.add(path, "", std::make_unique<NamedEndpoint>(http::AllowedMethods::post));
  }
  EXPECT_EQ(router.post_hint("/nothing"), "; POST JSON-RPC to /rpc or /a/rpc");
  router.add("/mcp", "", std::make_unique<NamedEndpoint>(http::AllowedMethods::session));
  EXPECT_EQ(router.post_hint("/nothing"), "; POST JSON-RPC to /mcp, /rpc or /a/rpc");
  std::string hint = "; POST JSON-RPC to /mcp, /rpc, /a/rpc";
  for (size_t i = 3; i < http::Router::kMaxHintPaths; ++i) {
    const std::string path = "/b" + std::to_string(i) + "/rpc";
    router.add(path, "", std::make_unique<NamedEndpoint>(http::AllowedMethods::post));
    hint += (i + 1 == http::Router::kMaxHintPaths ? " or " : ", ") + path;
  }
  EXPECT_EQ(router.post_hint("/nothing"), hint);
  router.add("/z/rpc", "", std::make_unique<NamedEndpoint>(http::AllowedMethods::post));
  EXPECT_EQ(router.post_hint("/nothing"), hint.replace(hint.find(" or "), 4, ", ") + ", ...");
  EXPECT_TRUE(router.post_hint("/z/rcp").starts_with("; POST JSON-RPC to /z/rpc, /mcp, /rpc,"))
      << router.post_hint("/z/rcp");
}

}  // namespace
}  // namespace stdgate

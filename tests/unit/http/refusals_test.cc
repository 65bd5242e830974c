// Refused requests: a count for each reason, and a log line with the sender and the request,
// whatever the request contains.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "tests/unit/http/http_world.h"

namespace stdgate::test {
namespace {

using namespace std::string_view_literals;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;

// The log lines about refused requests.
std::vector<std::string> refusal_lines(const HttpWorld& world) {
  std::vector<std::string> lines;
  for (const std::string& line : world.log.lines) {
    if (line.starts_with("request refused ")) lines.push_back(line);
  }
  return lines;
}

struct Case {
  std::string request;
  int status;
  Refusal reason;
  const char* method = nullptr;  // null: unknown
  const char* path = nullptr;
};

void check(const Case& wanted) {
  SCOPED_TRACE(wanted.request.substr(0, 200));
  WorldOptions options;
  options.limits.headers = 16 << 10;
  HttpWorld world(options);
  TestClient client(world);
  const Answer answer = client.ask(wanted.request);
  EXPECT_EQ(answer.status, wanted.status);
  EXPECT_THAT(answer.body, EndsWith("\n"));
  EXPECT_THAT(world.observer.refusals, ElementsAre(wanted.reason));
  const auto lines = refusal_lines(world);
  ASSERT_EQ(lines.size(), 1U);
  const auto field = [](const char* name, const char* value) {
    return value == nullptr ? std::string() : " " + std::string(name) + "=" + value;
  };
  const std::string rest = lines[0].substr(lines[0].find(' ', lines[0].find("port=")));
  EXPECT_THAT(lines[0], MatchesRegex("request refused client=127\\.0\\.0\\.1 port=[0-9]+ .*"));
  EXPECT_THAT(rest,
              testing::StartsWith(field("method", wanted.method) + field("path", wanted.path) +
                                  " status=" + std::to_string(wanted.status) + " reason=" +
                                  std::string(refusal_name(wanted.reason)) + " detail="));
  EXPECT_THAT(lines[0], EndsWith(" connection=1"));
}

// The id of a session is a credential, so the log shows the beginning of its digest instead.
TEST(Refusals, NameTheSessionThatIsMeant) {
  HttpWorld world;
  TestClient client(world);
  client.ask("GET /nothing HTTP/1.1\r\nHost: 127.0.0.1\r\nMcp-Session-Id: abc\r\n\r\n");
  const auto lines = refusal_lines(world);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], HasSubstr(" session=ba7816bf "));
  EXPECT_THAT(lines[0], testing::Not(HasSubstr("abc")));
}

TEST(Refusals, WhatBrowsersAndCrawlersAskForIsNone) {
  HttpWorld world;
  TestClient client(world);
  for (const char* path : {"/favicon.ico", "/robots.txt"}) {
    const Answer answer = client.ask(get(path));
    EXPECT_EQ(answer.status, 404);
    EXPECT_EQ(answer.field("Cache-Control"), "max-age=86400");
  }
  EXPECT_THAT(world.observer.refusals, IsEmpty());
  EXPECT_THAT(refusal_lines(world), IsEmpty());
}

TEST(Refusals, ThePagesOfTheAdminAddressAreSaidToBeThere) {
  HttpWorld world;
  TestClient client(world);
  EXPECT_THAT(client.ask(get("/metrics")).body, testing::Not(HasSubstr("admin")));
  world.router.set_admin("127.0.0.1:9464");
  for (const char* path : {"/healthz", "/readyz/a", "/metrics"}) {
    EXPECT_THAT(client.ask(get(path)).body,
                HasSubstr("the address of the key admin (127.0.0.1:9464)"))
        << path;
  }
  EXPECT_THAT(client.ask(get("/metricsx")).body, testing::Not(HasSubstr("admin")));
}

TEST(Refusals, AreCountedByReasonAndLogged) {
  const std::string json = "Host: localhost\r\nContent-Type: application/json\r\n";
  const Case cases[] = {
      {get("/nowhere?token=secret"), 404, Refusal::not_found, "GET", "/nowhere"},
      {get("/rpc"), 405, Refusal::method_not_allowed, "GET", "/rpc"},
      {"PUT /rpc HTTP/1.1\r\nHost: localhost\r\n\r\n", 405, Refusal::method_not_allowed, "PUT",
       "/rpc"},
      {post("{}", "Origin: https://evil.example\r\n"), 403, Refusal::bad_origin, "POST", "/rpc"},
      {"GET /rpc/stream?method=m HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403, Refusal::bad_host,
       "GET", "/rpc/stream"},
      {"POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}", 415,
       Refusal::unsupported_media_type, "POST", "/rpc"},
      {get("/rpc/stream?method=m", "Accept: text/html\r\n"), 406, Refusal::not_acceptable, "GET",
       "/rpc/stream"},
      {get("/rpc/stream", "Accept: text/event-stream\r\n"), 400, Refusal::bad_request, "GET",
       "/rpc/stream"},
      {"POST /rpc HTTP/1.1\r\n" + json + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", 400,
       Refusal::bad_body, "POST", "/rpc"},
      {"POST /rpc HTTP/1.1\r\n" + json + "Expect: tea\r\n\r\n", 417, Refusal::expectation_failed},
      {"GET /\n\n", 400, Refusal::bad_head},
      {"nonsense\r\n\r\n", 400, Refusal::bad_head},
      {"GET / HTTP/1.1\r\n\r\n", 400, Refusal::bad_head},
      {"BREW / HTTP/1.1\r\nHost: localhost\r\n\r\n", 501, Refusal::not_implemented},
      {"GET / HTTP/2.0\r\nHost: localhost\r\n\r\n", 505, Refusal::version_not_supported},
      {"GET /" + std::string(9000, 'x'), 414, Refusal::uri_too_long},
      {get("/", "X: " + std::string(17 << 10, 'x') + "\r\n"), 431, Refusal::headers_too_large},
      {std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"sv), 400,
       Refusal::tls_on_plain_port},
  };
  for (const Case& wanted : cases) check(wanted);
}

TEST(Refusals, TlsOnThePlainPortIsToldByteByByte) {
  HttpWorld world;
  TestClient client(world);
  client.send("\x16");
  ASSERT_TRUE(world.until([&] { return world.observer.bytes_in == 1; }));
  EXPECT_THAT(world.observer.refusals, IsEmpty());
  client.send("\x03");
  const Answer answer = client.answer();
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr("this port speaks plain HTTP, not TLS"));
  EXPECT_THAT(world.observer.refusals, ElementsAre(Refusal::tls_on_plain_port));
  EXPECT_TRUE(client.wait_closed());
}

TEST(Refusals, OneAtATimeAreOneLineEach) {
  HttpWorld world;
  TestClient client(world);
  client.send(get("/a") + get("/b"));
  client.answer();
  client.answer();
  const auto lines = refusal_lines(world);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_THAT(lines[0], HasSubstr(" path=/a "));
  EXPECT_THAT(lines[1], HasSubstr(" path=/b "));
}

// A head that cannot be read must not be shown as the head of the former request.
TEST(Refusals, DoNotShowTheRequestBefore) {
  HttpWorld world;
  TestClient client(world);
  EXPECT_EQ(client.ask(get("/")).status, 200);
  EXPECT_EQ(client.ask("x\n").status, 400);
  EXPECT_THAT(refusal_lines(world), ElementsAre(Not(HasSubstr(" path="))));
}

TEST(Refusals, LongPathsAreCut) {
  HttpWorld world;
  TestClient client(world);
  client.ask(get("/" + std::string(http::RefusalLog::kMaxPath - 1, 'x')));
  client.ask(get("/" + std::string(http::RefusalLog::kMaxPath, 'y')));
  const auto lines = refusal_lines(world);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_THAT(lines[0], HasSubstr("/" + std::string(http::RefusalLog::kMaxPath - 1, 'x') + " "));
  EXPECT_THAT(lines[1], HasSubstr("/" + std::string(http::RefusalLog::kMaxPath - 1, 'y') + " "));
}

// Beyond the limit of lines in a second, refusals are only counted. Their number is logged even if
// no further refusal comes.
TEST(Refusals, AFloodIsSummedUp) {
  HttpWorld world;
  TestClient client(world);
  constexpr size_t kFlood = 3 * http::RefusalLog::kMaxLinesPerSecond;
  std::string requests;
  for (size_t i = 0; i < kFlood; ++i) requests += get("/flood");
  client.send(requests);
  for (size_t i = 0; i < kFlood; ++i) EXPECT_EQ(client.answer().status, 404);
  EXPECT_EQ(world.observer.refusals.size(), kFlood);
  size_t left_out = 0;
  const auto sum_up = [&] {
    left_out = 0;
    for (const std::string& line : world.log.lines) {
      if (line.starts_with("more requests refused count=")) {
        left_out += std::stoul(line.substr(line.find('=') + 1));
      }
    }
    return left_out + refusal_lines(world).size() == kFlood;
  };
  EXPECT_TRUE(world.until(sum_up));
  EXPECT_GT(left_out, 0U);
}

TEST(Refusals, OneTooManyConnectionIsOne) {
  WorldOptions options;
  options.limits.connections = 1;
  HttpWorld world(options);
  TestClient first(world);
  ASSERT_TRUE(world.until([&] { return world.server->connections() == 1; }));
  TestClient second(world);
  EXPECT_EQ(second.answer().status, 503);
  EXPECT_THAT(world.observer.refusals, ElementsAre(Refusal::overloaded));
}

// A fault of a call is no refusal: the call has a line and an outcome of its own.
TEST(Refusals, FaultsOfCallsAreNone) {
  HttpWorld world;
  TestClient client(world);
  const Answer answer = client.ask(post("no json"));
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.body, EndsWith("}\n"));
  EXPECT_THAT(world.observer.refusals, IsEmpty());
  EXPECT_THAT(world.observer.outcomes, ElementsAre("parse_error"));
}

}  // namespace
}  // namespace stdgate::test

// Which pages may read answers: the rules as a table, then the header lines on the wire.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/unit/http/http_world.h"
#include "transports/http/admission.h"
#include "transports/http/http1_head.h"

namespace stdgate::test {
namespace {

using testing::HasSubstr;

constexpr const char* kLoopbackPage = "Origin: http://localhost:3000\r\n";
constexpr const char* kAllowOrigin = "Access-Control-Allow-Origin";
constexpr const char* kExposed =
    "Acp-Connection-Id, Mcp-Session-Id, MCP-Protocol-Version, Retry-After, WWW-Authenticate";

// An origin of `size` bytes, by the length of its host name.
std::string origin_of(size_t size) {
  const std::string scheme = "https://";
  return scheme + std::string(size - scheme.size(), 'h');
}

TEST(Cors, Origins) {
  struct Case {
    std::vector<std::string> allowed_origins;
    bool loopback;
    std::string fields;
    std::string origin;
  };
  const std::string listed = "https://App.example";
  const std::string longest = origin_of(http::kMaxOrigin);
  const std::string too_long = origin_of(http::kMaxOrigin + 1);
  const std::vector<Case> cases = {
      {{}, true, "", ""},
      {{}, true, "Origin: http://localhost:3000\r\n", "http://localhost:3000"},
      {{}, true, "Origin: http://127.0.0.1\r\n", "http://127.0.0.1"},
      {{}, true, "Origin: https://[::1]:1\r\n", "https://[::1]:1"},
      {{}, true, "Origin: https://evil.example\r\n", ""},
      {{}, true, "Origin: http://localhost.evil.example\r\n", ""},
      {{}, true, "Origin: null\r\n", ""},
      {{}, true, "Origin:\r\n", ""},
      // A page may read nothing unless the configuration allows it.
      {{}, false, "Origin: https://evil.example\r\n", ""},
      {{}, false, "Origin: http://localhost:3000\r\n", ""},
      {{listed}, false, "Origin: https://app.EXAMPLE\r\n", "https://app.EXAMPLE"},
      {{listed}, true, "Origin: https://app.example\r\n", "https://app.example"},
      {{listed}, false, "Origin: http://localhost\r\n", "http://localhost"},
      {{listed}, false, "Origin: https://app.example:444\r\n", ""},
      {{listed}, false, "Origin: https://evil.example\r\n", ""},
      {{listed}, false, "Origin: https://app.example\r\nOrigin: https://app.example\r\n", ""},
      {{listed}, false, "Origin: https://app.example\r\nOrigin: https://evil.example\r\n", ""},
      {{"*"}, false, "Origin: https://any.example\r\n", "https://any.example"},
      {{"*"}, true, "Origin: null\r\n", "null"},
      {{"*"}, true, "Origin: " + longest + "\r\n", longest},
      {{"*"}, true, "Origin: " + too_long + "\r\n", ""},
  };
  for (const Case& c : cases) {
    const std::string text = "GET / HTTP/1.1\r\nHost: localhost\r\n" + c.fields + "\r\n";
    http::Http1Head head;
    ASSERT_TRUE(head.parse(text));
    http::ConnectionTraits traits;
    if (!c.loopback) traits.reach = http::ConnectionTraits::Reach::network;
    EXPECT_EQ(http::cors_origin(head, {c.allowed_origins, {}}, traits), c.origin)
        << c.fields << c.loopback;
  }
}

TEST(Cors, Preflights) {
  const auto is = [](const std::string& text) {
    http::Http1Head head;
    EXPECT_TRUE(head.parse(text));
    return http::is_preflight(head);
  };
  const std::string fields =
      "Host: localhost\r\nOrigin: http://b\r\nAccess-Control-Request-Method: POST\r\n";
  EXPECT_TRUE(is("OPTIONS / HTTP/1.1\r\n" + fields + "\r\n"));
  EXPECT_FALSE(is("POST / HTTP/1.1\r\n" + fields + "\r\n"));
  EXPECT_FALSE(is("OPTIONS / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://b\r\n\r\n"));
  EXPECT_FALSE(
      is("OPTIONS / HTTP/1.1\r\nHost: localhost\r\nAccess-Control-Request-Method: POST\r\n\r\n"));
}

TEST(Cors, FieldsFitTheHead) {
  std::string fields;
  http::append_cors_fields(fields, origin_of(http::kMaxOrigin));
  EXPECT_LE(fields.size(), http::kMaxFieldBytes);
  fields.clear();
  std::string text =
      "OPTIONS / HTTP/1.1\r\nHost: localhost\r\nAccess-Control-Request-Headers: mcp-param-a";
  for (int i = 0; i < 500; ++i) text.append(",mcp-param-").append(std::to_string(i));
  http::Http1Head head;
  ASSERT_TRUE(head.parse(text.append("\r\n\r\n")));
  http::append_preflight_fields(fields, http::kAllowAll, head);
  EXPECT_NE(fields.find(", mcp-param-a, mcp-param-0,"), std::string::npos);
  EXPECT_LE(fields.size(), http::kMaxFieldBytes);
}

TEST(Cors, EveryAnswerToAnAllowedPage) {
  WorldOptions options;
  options.limits.message = 1000;
  HttpWorld world(options);
  struct Case {
    std::string request;
    int status;
  };
  const std::string events = std::string(kLoopbackPage) + "Accept: text/event-stream\r\n";
  const std::vector<Case> cases = {
      {post(call("1", "echo", "[]"), kLoopbackPage), 200},
      {post(call("1", "echo", "[]"), events), 200},
      {get("/rpc/stream?method=echo", events), 200},
      {post(R"({"jsonrpc":"2.0","method":"echo"})", kLoopbackPage), 204},
      {post("{", kLoopbackPage), 400},
      {post(std::string(1001, ' '), kLoopbackPage), 413},
      {get("/rpc", kLoopbackPage), 405},
      {get("/nothing", kLoopbackPage), 404},
      {"OPTIONS /rpc HTTP/1.1\r\nHost: localhost\r\n" + std::string(kLoopbackPage) + "\r\n", 204},
  };
  for (const Case& c : cases) {
    TestClient client(world);
    const Answer answer = client.ask(c.request);
    EXPECT_EQ(answer.status, c.status) << c.request;
    EXPECT_EQ(answer.field(kAllowOrigin), "http://localhost:3000") << c.request;
    EXPECT_EQ(answer.field("Vary"), "Origin") << c.request;
    EXPECT_EQ(answer.field("Access-Control-Expose-Headers"), kExposed) << c.request;
    EXPECT_EQ(answer.field("Access-Control-Allow-Methods"), "") << c.request;
  }
}

TEST(Cors, OneAnswerSaysNothingAboutTheNext) {
  HttpWorld world;
  TestClient client(world);
  EXPECT_NE(client.ask(post(call("1", "echo", "[]"), kLoopbackPage)).field(kAllowOrigin), "");
  EXPECT_EQ(client.ask(post(call("1", "echo", "[]"))).field(kAllowOrigin), "");
  EXPECT_EQ(client.ask(get("/")).field("Vary"), "");
}

TEST(Cors, NothingForOthers) {
  struct Case {
    std::vector<std::string> allowed_origins;
    std::string origin;
    int status;
  };
  const std::vector<Case> cases = {
      {{}, "https://evil.example", 403},
      {{}, "null", 403},
      {{"https://app.example"}, "https://evil.example", 403},
      {{"*"}, origin_of(http::kMaxOrigin + 1), 403},
  };
  for (const Case& c : cases) {
    WorldOptions options;
    options.rules.allowed_origins = c.allowed_origins;
    HttpWorld world(options);
    const std::string origin = "Origin: " + c.origin + "\r\n";
    for (const std::string& request : {post(call("1", "echo", "[]"), origin),
                                       "OPTIONS /rpc HTTP/1.1\r\nHost: localhost\r\n" + origin +
                                           "Access-Control-Request-Method: POST\r\n\r\n"}) {
      TestClient client(world);
      const Answer answer = client.ask(request);
      EXPECT_EQ(answer.status, c.status) << request;
      for (const auto& [name, value] : answer.fields) {
        EXPECT_FALSE(name.starts_with("Access-Control-")) << request << name;
      }
    }
  }
}

TEST(Cors, PreflightOfAnAllowedPage) {
  WorldOptions options;
  options.rules.allowed_origins = {"https://app.example"};
  HttpWorld world(options);
  TestClient client(world);
  const std::string page =
      "Host: localhost\r\nOrigin: https://app.example\r\nAccess-Control-Request-Headers: "
      "content-type,x-evil,mcp-param-region,Mcp-Param-x y\r\n";
  const Answer answer = client.ask("OPTIONS /rpc HTTP/1.1\r\n" + page +
                                   "Access-Control-Request-Method: POST\r\n\r\n");
  EXPECT_EQ(answer.status, 204);
  EXPECT_EQ(answer.field(kAllowOrigin), "https://app.example");
  EXPECT_EQ(answer.field("Access-Control-Allow-Methods"), "POST, OPTIONS");
  EXPECT_EQ(answer.field("Access-Control-Max-Age"), "600");
  EXPECT_EQ(answer.field("Access-Control-Allow-Credentials"), "");
  const std::string headers = ", " + answer.field("Access-Control-Allow-Headers") + ",";
  for (const std::string name :
       {"Content-Type", "Accept", "Authorization", "Mcp-Session-Id", "MCP-Protocol-Version",
        "Last-Event-ID", "traceparent", "tracestate", "baggage", "X-API-Key", "Mcp-Method",
        "Mcp-Name", "mcp-param-region"}) {
    EXPECT_THAT(headers, HasSubstr(", " + name + ","));
  }
  EXPECT_EQ(headers.find("x-evil"), std::string::npos);
  EXPECT_EQ(headers.find(" y"), std::string::npos);
}

// No origin is listed, and no browser reaches a Unix socket by a loopback name. So the answer has
// no CORS headers.
TEST(Cors, ElsewhereNothingIsSaidUntilSomethingIsListed) {
  WorldOptions options;
  options.address.kind = Address::Kind::unix_socket;
  options.address.path = testing::TempDir() + "cors_" + std::to_string(::getpid()) + ".sock";
  HttpWorld world(options);
  TestClient client(world);
  const std::string page = "Origin: https://a.example\r\n";
  const Answer called = client.ask(post(call("1", "echo", "[]"), page));
  EXPECT_EQ(called.status, 200);
  EXPECT_EQ(called.field(kAllowOrigin), "");
  const Answer asked = client.ask("OPTIONS /rpc HTTP/1.1\r\nHost: localhost\r\n" + page +
                                  "Access-Control-Request-Method: POST\r\n\r\n");
  EXPECT_EQ(asked.status, 204);
  EXPECT_EQ(asked.field("Allow"), "POST, OPTIONS");
  EXPECT_EQ(asked.field(kAllowOrigin), "");
  EXPECT_EQ(asked.field("Access-Control-Allow-Methods"), "");
}

}  // namespace
}  // namespace stdgate::test

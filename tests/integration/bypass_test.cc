// Attempts to get around the gateway's checks, against the real program. Every group has a control:
// the same request without the trick succeeds, so that no row passes for another reason. For
// attempts on what belongs to other clients see bypass_owners_test.cc. For WebSockets, streams and
// preflights see bypass_doors_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/integration/harness/http_client.h"
#include "tests/integration/harness/setups.h"
#include "tests/support/test_folder.h"

namespace stdgate::harness::bypass_test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kKey = "the-key-of-ada-1234";
// A part of the params of every call. A child that receives the call answers with its params.
constexpr const char* kMark = "\"REACHED\"";

std::string marked(const std::string& method) {
  return request(method, "[" + std::string(kMark) + "]");
}

struct Row {
  std::string name;
  std::string text;
};

// --- What rules deny ----------------------------------------------------------------------

std::vector<Row> bodies_with_a_denied_call() {
  const std::string denied = marked("secret");
  const std::string params = R"(,"params":["REACHED"]})";
  const std::string begin = R"({"jsonrpc":"2.0","id":1,"method":)";
  return {
      {"plain", denied},
      {"upper case", marked("Secret")},
      {"escape in the name", begin + R"("secr\u0065t")" + params},
      {"all escaped", begin + R"("\u0073\u0065\u0063\u0072\u0065\u0074")" + params},
      {"space behind", marked("secret ")},
      {"space before", marked(" secret")},
      {"tab", begin + R"("secret\t")" + params},
      {"zero byte", begin + R"("open\u0000secret")" + params},
      {"newline", begin + R"("open\nsecret")" + params},
      {"allowed name as prefix", marked("open/secret")},
      {"allowed name as suffix", marked("secret/open")},
      {"pattern", marked("*")},
      {"empty name", marked("")},
      {"fullwidth letters", marked("\uff53\uff45\uff43\uff52\uff45\uff54")},
      {"letters of another script", marked("\u043fpen")},
      {"invisible letter", marked("op\u200ben")},
      {"invalid UTF-8", marked("open\xc0\x80")},
      {"overlong UTF-8", marked("\xc1\xafpen")},
      {"allowed, then denied",
       R"({"jsonrpc":"2.0","id":1,"method":"open","method":"secret")" + params},
      {"denied, then allowed",
       R"({"jsonrpc":"2.0","id":1,"method":"secret","method":"open")" + params},
      {"escaped key", R"({"jsonrpc":"2.0","id":1,"m\u0065thod":"secret")" + params},
      {"escaped key beside",
       R"({"jsonrpc":"2.0","id":1,"method":"open","m\u0065thod":"secret")" + params},
      {"other case of the key", R"({"jsonrpc":"2.0","id":1,"Method":"secret")" + params},
      {"number as name", begin + "1" + params},
      {"list as name", begin + R"(["open"])" + params},
      {"object as name", begin + R"({"a":"open"})" + params},
      {"no name", R"({"jsonrpc":"2.0","id":1)" + params},
      {"no version", R"({"id":1,"method":"secret")" + params},
      {"version 1", R"({"jsonrpc":"1.0","id":1,"method":"secret")" + params},
      {"a batch of one", "[" + denied + "]"},
      {"a batch in a batch", "[[" + denied + "]]"},
      {"two documents", marked("secret") + marked("secret")},
      {"two lines", denied + "\n" + denied},
      {"behind a byte order mark", "\xef\xbb\xbf" + denied},
      {"comment", "/* x */" + denied},
      {"UTF-16", std::string("\xff\xfe{\0", 4) + denied},
      {"as a notification and a call", R"([{"jsonrpc":"2.0","method":"secret"},)" + denied + "]"},
      {"id as object", R"({"jsonrpc":"2.0","id":{},"method":"secret")" + params},
      {"escaped id key", R"({"jsonrpc":"2.0","\u0069d":1,"method":"secret")" + params},
      {"a text", "\"secret\""},
  };
}

TEST(Bypass, NoSpellingReachesADeniedMethod) {
  GatewayProcess gateway(serve_one(rogue({"rpc"}), "methods: [open]"));
  const auto post = [&](const std::string& path, const std::string& body) {
    return answer_to(gateway.url(), raw_request("POST", path, "Host: localhost\r\n", body));
  };
  for (const char* path : {"/rpc", "/main/rpc"}) {
    EXPECT_THAT(post(path, marked("open")), HasSubstr(kMark)) << path;
    for (const Row& row : bodies_with_a_denied_call()) {
      EXPECT_THAT(post(path, row.text), Not(HasSubstr(kMark))) << path << ": " << row.name;
    }
  }
  // A denied entry of a batch neither spoils the other entries, nor passes because of them.
  const std::string batch =
      post("/rpc", "[" + request("open", "[1]", "1") + "," + marked("secret") + "," +
                       request("open", "[3]", "3") + "]");
  EXPECT_THAT(batch, HasSubstr(result("1", "[1]")));
  EXPECT_THAT(batch, HasSubstr(result("3", "[3]")));
  EXPECT_THAT(batch, HasSubstr("-32601"));
  EXPECT_THAT(batch, Not(HasSubstr(kMark)));
}

// --- Without a credential -------------------------------------------------------------------

GatewaySetup with_a_key(const test::TestFolder& folder) {
  folder.write("key", std::string(kKey) + "\n");
  return serve_one(rogue({"rpc"}), "",
                   "auth: { api_keys: [{ name: ada, file: " + folder.path("key") + " }] }\n");
}

TEST(Bypass, NoPathNeedsNoCredential) {
  const test::TestFolder folder;
  GatewayProcess gateway(with_a_key(folder));
  const auto post = [&](const std::string& target, const std::string& fields) {
    return answer_to(gateway.url(),
                     raw_request("POST", target, "Host: localhost\r\n" + fields, marked("x")));
  };
  EXPECT_EQ(status_of(post("/rpc", std::string("Authorization: Bearer ") + kKey + "\r\n")), 200);
  for (const std::string target : {"//rpc",
                                   "/./rpc",
                                   "/x/../rpc",
                                   "/main/../rpc",
                                   "/main//rpc",
                                   "/main%2Frpc",
                                   "/main%2frpc",
                                   "/%2frpc",
                                   "/rpc%2f",
                                   "/rpc/.",
                                   "/rpc%00",
                                   "/rpc%20",
                                   "/rpc;a=b",
                                   "/rpc?a#b",
                                   "/RPC",
                                   "/Main/rpc",
                                   "/rpc/rpc",
                                   "/%2e/rpc",
                                   "/%2e%2e/rpc",
                                   "/..%2frpc",
                                   "/main\\rpc",
                                   "/rpc%252f",
                                   "/rpc%c0%af",
                                   "/main/rpc/..",
                                   "*",
                                   "rpc",
                                   "?rpc",
                                   "/",
                                   "/healthz",
                                   "/metrics",
                                   "/debug/state",
                                   "/admin",
                                   "/.well-known/x",
                                   "/favicon.ico",
                                   "/main",
                                   "http:///rpc",
                                   "http://a/rpc",
                                   "https://localhost/rpc",
                                   "/%72%70%63"}) {
    const std::string answer = post(target, "");
    EXPECT_GE(status_of(answer), 400) << target << "\n" << answer;
    EXPECT_THAT(answer, Not(HasSubstr(kMark))) << target;
  }
}

TEST(Bypass, NoFieldStandsForACredential) {
  const test::TestFolder folder;
  GatewayProcess gateway(with_a_key(folder));
  const std::string key = kKey;
  const auto post = [&](const std::string& fields) {
    return answer_to(gateway.url(),
                     raw_request("POST", "/rpc", "Host: localhost\r\n" + fields, marked("x")));
  };
  for (const std::string& field :
       {"Authorization: Bearer " + key, "AUTHORIZATION: bearer " + key, "X-API-Key: " + key}) {
    EXPECT_THAT(post(field + "\r\n"), HasSubstr(kMark)) << field;
  }
  for (const std::string& field : std::vector<std::string>{
           "Authorization: Basic " + key,
           "Authorization: " + key,
           "Authorization: Bearer",
           "Authorization: Bearer " + key + "x",
           "Authorization: Bearer " + key.substr(1),
           "Authorization: Bearer " + key + ", Bearer other-key-other-key",
           "Authorization: Bearer " + key + "\r\nAuthorization: Bearer " + key,
           "Authorization: Bearer " + key + "\r\nX-API-Key: " + key,
           "Authorization: Bearer\r\n " + key,
           "Authorization:\r\n Bearer " + key,
           "Authorization : Bearer " + key,
           " Authorization: Bearer " + key,
           "Author\xc4\xb1zation: Bearer " + key,
           "X_API_Key: " + key,
           "X_Api-Key: " + key,
           "HTTP_AUTHORIZATION: Bearer " + key,
           "X-API-Key: " + key + "\r\nX_API_KEY: " + key,
           "X-API-Key: " + key + "\r\nX-API-Key: " + key,
           "X-API-Key: \"" + key + "\"",
           "X-API-Key: THE-KEY-OF-ADA-1234",
           "X-Original-Authorization: Bearer " + key,
           "X-Forwarded-Authorization: Bearer " + key,
           "X-Auth-Token: " + key,
           "Api-Key: " + key,
           "Cookie: key=" + key + "; X-API-Key=" + key,
           std::string("X-Remote-User: ada"),
           std::string("X-Forwarded-For: 127.0.0.1\r\nX-Real-IP: 127.0.0.1"),
           std::string("Forwarded: for=127.0.0.1;by=ada"),
           std::string("X-HTTP-Method-Override: OPTIONS"),
           std::string("X-Original-URL: /healthz\r\nX-Rewrite-URL: /healthz"),
           "Trailer: Authorization\r\nTE: trailers",
       }) {
    const std::string answer = post(field + "\r\n");
    EXPECT_GE(status_of(answer), 400) << field << "\n" << answer;
    EXPECT_THAT(answer, Not(HasSubstr(kMark))) << field;
  }
}

// --- Web pages -------------------------------------------------------------------------------

struct Route {
  const char* name;
  bool is_admin;
  std::string method;
  std::string target;
  std::string fields;
  std::string body;
  int status;  // expected of the control
};

std::vector<Route> routes() {
  return {{"rpc", false, "POST", "/rpc", "", marked("x"), 200},
          {"mcp", false, "POST", "/mcp", "Accept: application/json, text/event-stream\r\n",
           marked("ping"), 404},
          {"websocket", false, "GET", "/ws",
           "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
           "", 101},
          {"landing page", false, "GET", "/", "", "", 200},
          {"state", true, "GET", "/debug/state", "", "", 200},
          {"metrics", true, "GET", "/metrics", "", "", 200}};
}

// Fields that a browser sends for a page of another site, with DNS rebinding and without.
std::vector<Row> foreign_fields() {
  std::vector<Row> rows;
  for (const char* host :
       {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example:8080",
        "evil.example.", "localhost@evil.example", "127.0.0.1.nip.io", "evil-localhost",
        "xlocalhost", "[::1].evil.example", "localhost:evil.example"}) {
    rows.push_back({std::string("Host ") + host, std::string("Host: ") + host + "\r\n"});
  }
  rows.push_back({"two Hosts", "Host: localhost\r\nHost: evil.example\r\n"});
  rows.push_back({"two Hosts, turned", "Host: evil.example\r\nHost: localhost\r\n"});
  rows.push_back({"no Host", ""});
  for (const char* origin :
       {"https://evil.example", "http://localhost.evil.example", "http://evil.example:8080",
        "https://localhost@evil.example", "http://127.0.0.1.evil.example", "file://evil"}) {
    rows.push_back({std::string("Origin ") + origin,
                    std::string("Host: localhost\r\nOrigin: ") + origin + "\r\n"});
  }
  rows.push_back(
      {"two Origins",
       "Host: localhost\r\nOrigin: http://localhost\r\nOrigin: https://evil.example\r\n"});
  rows.push_back({"forwarded Host",
                  "Host: evil.example\r\nX-Forwarded-Host: localhost\r\nForwarded: "
                  "host=localhost\r\n"});
  return rows;
}

TEST(Bypass, NoForeignPageIsServedAnywhere) {
  GatewayProcess gateway(serve_one(rogue({"rpc"})));
  for (const Route& route : routes()) {
    const std::string& url = route.is_admin ? gateway.admin_url() : gateway.url();
    const auto send = [&](const std::string& fields) {
      return answer_to(url,
                       raw_request(route.method, route.target, fields + route.fields, route.body));
    };
    EXPECT_EQ(status_of(send("Host: localhost\r\n")), route.status) << route.name;
    for (const Row& row : foreign_fields()) {
      const std::string answer = send(row.text);
      const int status = status_of(answer);
      EXPECT_TRUE(status == 403 || status == 400 || status == 421)
          << route.name << ", " << row.name << "\n"
          << answer;
      EXPECT_THAT(answer, Not(HasSubstr(kMark))) << route.name << ", " << row.name;
    }
  }
}

TEST(Bypass, NoPreflightOfAnotherSiteIsGranted) {
  GatewayProcess gateway(serve_one(rogue({"rpc"})));
  const auto preflight = [&](const std::string& target, const std::string& origin) {
    return answer_to(gateway.url(),
                     raw_request("OPTIONS", target,
                                 "Host: localhost\r\nOrigin: " + origin +
                                     "\r\nAccess-Control-Request-Method: POST\r\n"
                                     "Access-Control-Request-Headers: content-type\r\n"
                                     "Access-Control-Request-Private-Network: true\r\n",
                                 ""));
  };
  EXPECT_THAT(preflight("/rpc", "http://localhost"),
              HasSubstr("Access-Control-Allow-Origin: http://localhost"));
  for (const char* target : {"/rpc", "/main/rpc", "/rpc/stream", "/ws", "/", "/unknown", "*"}) {
    for (const char* origin :
         {"https://evil.example", "null", "http://localhost.evil.example", "*"}) {
      std::string answer = preflight(target, origin);
      std::ranges::transform(answer, answer.begin(),
                             [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      EXPECT_THAT(answer, Not(HasSubstr("access-control-allow-origin"))) << target << " " << origin;
    }
  }
}

// --- Limits and logs -------------------------------------------------------------------------

TEST(Bypass, NoForgedAddressHasALimitOfItsOwn) {
  GatewayProcess gateway(serve_one(rogue({"rpc"}), "calls_per_principal: { rate: 1/h, burst: 1 }"));
  HttpClient client = gateway.connect();
  EXPECT_EQ(client.post("/rpc", marked("x")).status, 200);
  for (const char* name : {"x-forwarded-for", "forwarded", "x-real-ip", "x-client-ip",
                           "true-client-ip", "cf-connecting-ip", "x-cluster-client-ip", "via"}) {
    const std::string value = std::string(name) == "forwarded" ? "for=10.9.8.7" : "10.9.8.7";
    EXPECT_EQ(client.post("/rpc", marked("x"), {{name, value}}).status, 429) << name;
  }
}

TEST(Bypass, NoTextOfAClientMakesALogLine) {
  GatewayProcess gateway(serve_one(rogue({"rpc"}), "", "log: { format: text, level: debug }"));
  const std::string forged = "2026-01-01T00:00:00.000Z info forged";
  const std::string escaped_newline = R"(\n)";
  for (const std::string& method :
       {"a" + escaped_newline + forged, "a\\r\\n" + forged, "a\\u001b[2J" + forged,
        "a\\u0085" + forged, "a\\u2028" + forged, std::string("a\\u202e") + forged}) {
    answer_to(gateway.url(), raw_request("POST", "/rpc", "Host: localhost\r\n",
                                         R"({"jsonrpc":"2.0","id":1,"method":")" + method + "\"}"));
  }
  for (const std::string& target : {"/%0a" + forged.substr(0, 10), std::string("/%1b[2J"),
                                    std::string("/%c2%85x"), std::string("/unknown%0d%0aforged")}) {
    answer_to(gateway.url(), raw_request("GET", target, "Host: localhost\r\n", ""));
  }
  answer_to(gateway.url(), raw_request("GET", "/", "Host: a\x1b[2Jb\r\n", ""));
  answer_to(gateway.url(), raw_request("GET", "/", "Host: localhost\r\nOrigin: \x1b[2J\r\n", ""));
  EXPECT_EQ(call(*std::make_unique<HttpClient>(gateway.connect()), "control").status, 200);
  EXPECT_TRUE(eventually("the control is logged",
                         [&] { return gateway.log().find("control") != std::string::npos; }));
  const std::string log = gateway.log();
  EXPECT_THAT(log, HasSubstr("forged"));  // the name is shown, but harmless
  EXPECT_THAT(log, Not(HasSubstr("\n" + forged)));
  EXPECT_THAT(log, Not(HasSubstr("\x1b")));
  EXPECT_THAT(log, Not(HasSubstr("\xc2\x85")));
  EXPECT_THAT(log, Not(HasSubstr("\xe2\x80\xae")));
}

}  // namespace
}  // namespace stdgate::harness::bypass_test

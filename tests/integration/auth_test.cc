// Authentication in the real program: listeners that want a credential, and requests that they must
// refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>

#include "gateway/base/encodings.h"
#include "tests/integration/harness/program_run.h"
#include "tests/integration/harness/setups.h"
#include "tests/integration/harness/tls_tunnel.h"
#include "tests/integration/harness/websocket_client.h"
#include "tests/support/test_folder.h"
#include "tests/support/test_issuer.h"

namespace stdgate::harness::auth_test {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

// The hash of this key: printf '%s' the-key-of-ada-1234 | stdgate hash-key
const std::string kAda = "the-key-of-ada-1234";
const std::string kBob = "the-key-of-bob-1234";

std::string key_file(const test::TestFolder& folder, const std::string& name,
                     const std::string& key) {
  folder.write(name, key + "\n");
  return folder.path(name);
}

// An `auth` section with two principals.
std::string two_people(const test::TestFolder& folder, const std::string& more_of_ada = "") {
  return "auth: { api_keys: [{ name: ada, file: " + key_file(folder, "ada", kAda) + more_of_ada +
         " }, { name: bob, roles: [ops], file: " + key_file(folder, "bob", kBob) + " }] }\n";
}

Headers as(const std::string& key, Headers more = {}) {
  more.emplace("authorization", "Bearer " + key);
  return more;
}

Headers for_mcp(Headers more = {}) {
  more.emplace("accept", "application/json, text/event-stream");
  return more;
}

std::string initialize(const std::string& id = "0") {
  return request("initialize",
                 R"({"protocolVersion":"2025-11-25","capabilities":{},)"
                 R"("clientInfo":{"name":"c","version":"1"}})",
                 id);
}

GatewaySetup mcp_setup(const std::string& root) {
  return serve_one(puppet("mcp"), "protocol: mcp", root);
}

class Auth : public testing::Test {
 protected:
  test::TestFolder folder_;
};

struct Attempt {
  std::string name;
  std::string request;  // the whole request as bytes
  int status;
};

std::string bytes(const std::string& method, const std::string& target,
                  const std::string& fields = "", const std::string& body = "") {
  return method + " " + target + " HTTP/1.1\r\nHost: localhost\r\n" + fields +
         (body.empty() ? "" : "Content-Type: application/json\r\n") +
         (body.empty() ? "" : "Content-Length: " + std::to_string(body.size()) + "\r\n") + "\r\n" +
         body;
}

std::vector<Attempt> attempts_without_a_header() {
  const std::string accept = "Accept: application/json, text/event-stream\r\n";
  const std::string upgrade =
      "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
  const std::string echo = request("echo", "[1]");
  return {
      // Without a credential, on every path.
      {"rpc", bytes("POST", "/rpc", "", echo), 401},
      {"rpc of the backend", bytes("POST", "/main/rpc", "", echo), 401},
      {"rpc with a slash", bytes("POST", "/rpc/", "", echo), 401},
      {"rpc, percent-encoded", bytes("POST", "/%72pc", "", echo), 401},
      {"rpc, absolute target", bytes("POST", "http://localhost/rpc", "", echo), 401},
      {"a batch", bytes("POST", "/rpc", "", "[" + echo + "]"), 401},
      {"a notification", bytes("POST", "/rpc", "", R"({"jsonrpc":"2.0","method":"x"})"), 401},
      {"no JSON", bytes("POST", "/rpc", "", "x"), 401},
      {"stream", bytes("GET", "/rpc/stream?method=echo", accept), 401},
      {"head of stream", bytes("GET", "/main/rpc/stream?method=echo", accept), 401},
      {"mcp", bytes("POST", "/mcp", accept, initialize()), 401},
      {"listen", bytes("GET", "/mcp", accept + "Mcp-Session-Id: x\r\n"), 401},
      {"resume", bytes("GET", "/mcp", accept + "Mcp-Session-Id: x\r\nLast-Event-ID: x-1-1\r\n"),
       401},
      {"end", bytes("DELETE", "/mcp", "Mcp-Session-Id: x\r\n"), 401},
      {"sse", bytes("GET", "/sse", accept), 401},
      {"messages", bytes("POST", "/messages?session=x", "", echo), 401},
      {"websocket", bytes("GET", "/ws", upgrade), 401},
      {"the other websocket", bytes("GET", "/rpc/ws", upgrade), 401},
      {"landing page", bytes("GET", "/"), 401},
      {"unknown path", bytes("GET", "/unknown"), 401},
      {"unknown method", bytes("PATCH", "/rpc"), 401},
      // A credential in places where the gateway does not look for credentials.
      {"query", bytes("POST", "/rpc?access_token=" + kAda + "&api_key=" + kAda, "", echo), 401},
      {"user information", bytes("POST", "http://ada:" + kAda + "@localhost/rpc", "", echo), 400},
      {"cookie", bytes("POST", "/rpc", "Cookie: Authorization=Bearer " + kAda + "\r\n", echo), 401},
      {"for proxies", bytes("POST", "/rpc", "Proxy-Authorization: Bearer " + kAda + "\r\n", echo),
       401},
      {"a subprotocol",
       bytes("GET", "/ws", upgrade + "Sec-WebSocket-Protocol: mcp, bearer." + kAda + "\r\n"), 401},
      {"a name of another", bytes("POST", "/rpc", "X-Forwarded-User: ada\r\n", echo), 401},
      {"forwarded", bytes("POST", "/rpc", "X-Forwarded-For: 127.0.0.1\r\n", echo), 401},
      {"trailer",
       "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
       "Transfer-Encoding: chunked\r\nTrailer: Authorization\r\n\r\n0\r\nAuthorization: Bearer " +
           kAda + "\r\n\r\n",
       401},
  };
}

std::vector<Attempt> attempts_with_a_header() {
  const std::string good = "Authorization: Bearer " + kAda + "\r\n";
  const std::string echo = request("echo", "[1]");
  return {
      // Wrong credentials.
      {"unknown key", bytes("POST", "/rpc", "Authorization: Bearer " + kAda + "x\r\n", echo), 401},
      {"its hash",
       bytes("POST", "/rpc",
             "X-API-Key: sha256:"
             "0000000000000000000000000000000000000000000000000000000000000000\r\n",
             echo),
       401},
      {"the name", bytes("POST", "/rpc", "Authorization: Bearer ada\r\n", echo), 401},
      {"in capitals", bytes("POST", "/rpc", "X-API-Key: THE-KEY-OF-ADA-1234\r\n", echo), 401},
      {"basic", bytes("POST", "/rpc", "Authorization: Basic " + kAda + "\r\n", echo), 401},
      {"without a scheme", bytes("POST", "/rpc", "Authorization: " + kAda + "\r\n", echo), 401},
      {"empty", bytes("POST", "/rpc", "Authorization: Bearer \r\n", echo), 400},
      {"a token of no issuer",
       bytes("POST", "/rpc", "Authorization: Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZGEifQ.\r\n",
             echo),
       401},
      {"huge", bytes("POST", "/rpc", "X-API-Key: " + std::string(15'000, 'k') + "\r\n", echo), 401},
      {"too huge", bytes("POST", "/rpc", "X-API-Key: " + std::string(17'000, 'k') + "\r\n", echo),
       431},
      // A good credential together with another credential.
      {"twice", bytes("POST", "/rpc", good + good, echo), 400},
      {"good and bad", bytes("POST", "/rpc", good + "Authorization: Bearer bad\r\n", echo), 400},
      {"bad and good", bytes("POST", "/rpc", "authorization: Basic x\r\n" + good, echo), 400},
      {"two kinds", bytes("POST", "/rpc", good + "X-API-Key: " + kBob + "\r\n", echo), 400},
      {"two in one", bytes("POST", "/rpc", "X-API-Key: " + kAda + ", " + kBob + "\r\n", echo), 400},
      {"folded", bytes("POST", "/rpc", "Authorization: Bearer\r\n " + kAda + "\r\n", echo), 400},
      {"underscore", bytes("POST", "/rpc", "X_API_Key: " + kAda + "\r\n", echo), 400},
      {"space before the colon", bytes("POST", "/rpc", "X-API-Key : " + kAda + "\r\n", echo), 400},
      {"a line feed alone", bytes("POST", "/rpc", "X-API-Key: " + kAda + "\nX-A: b\r\n", echo),
       400},
      {"of another host", "GET / HTTP/1.1\r\nHost: evil.example\r\n" + good + "\r\n", 403},
      // Good credentials.
      {"bearer", bytes("POST", "/rpc", good, echo), 200},
      {"key", bytes("POST", "/rpc", "X-API-Key: " + kAda + "\r\n", echo), 200},
      {"in any case", bytes("POST", "/rpc", "aUTHORIZATION: bEARER " + kAda + "\r\n", echo), 200},
      {"beside another's", bytes("POST", "/rpc", good + "Proxy-Authorization: Basic x\r\n", echo),
       200},
      {"the page", bytes("GET", "/", good), 200},
      {"a preflight",
       bytes("OPTIONS", "/rpc",
             "Origin: http://localhost:1\r\nAccess-Control-Request-Method: POST\r\n"),
       204},
  };
}

TEST_F(Auth, NothingGetsPast) {
  GatewayProcess gateway(mcp_setup(two_people(folder_)));
  std::vector<Attempt> attempts = attempts_without_a_header();
  std::ranges::move(attempts_with_a_header(), std::back_inserter(attempts));
  for (const Attempt& attempt : attempts) {
    HttpClient client = gateway.connect();
    client.send(attempt.request);
    const HttpResponse response = client.read_response();
    EXPECT_EQ(response.status, attempt.status) << attempt.name << ": " << response.body;
    if (response.status == 401) {
      EXPECT_THAT(response.header("www-authenticate"), testing::StartsWith("Bearer"))
          << attempt.name;
    }
    EXPECT_THAT(response.body, Not(AnyOf(HasSubstr(kAda), HasSubstr(kBob)))) << attempt.name;
  }
  EXPECT_THAT(gateway.log(), Not(AnyOf(HasSubstr(kAda), HasSubstr(kBob))));
  EXPECT_THAT(gateway.log(), HasSubstr(R"("reason":"unauthorized")"));
}

// Good and bad requests alternate on one connection.
TEST_F(Auth, EachRequestIsJudged) {
  GatewayProcess gateway(serve_one(demo_server(), "", two_people(folder_)));
  HttpClient client = gateway.connect();
  const std::string echo = request("echo", "[1]");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(client.post("/rpc", echo, as(kAda)).status, 200);
    const HttpResponse refused = client.post("/rpc", echo);
    EXPECT_EQ(refused.status, 401);
    EXPECT_THAT(refused.body,
                AllOf(HasSubstr(R"("jsonrpc":"2.0")"), HasSubstr(R"("code":-32002)")));
    EXPECT_EQ(client.post("/rpc", echo, as(kBob)).status, 200);
    EXPECT_EQ(client.post("/rpc", echo, as(kBob + "x")).status, 401);
  }
  EXPECT_EQ(gateway.metrics().sum("stdgate_http_refusals_total", {{"reason", "unauthorized"}}), 6);
  EXPECT_TRUE(eventually("calls are logged with their principals", [&] {
    const std::string log = gateway.log();
    return log.find(R"("principal":"ada")") != std::string::npos &&
           log.find(R"("principal":"bob")") != std::string::npos;
  }));
}

// Sessions, streams and events of another principal are answered as if they did not exist.
TEST_F(Auth, SessionsAreTheirPrincipals) {
  GatewaySetup setup = mcp_setup(two_people(folder_) +
                                 "listen: [\"127.0.0.1:0\", { address: \"127.0.0.1:0\", "
                                 "anonymous: true }]\nadmin: \"127.0.0.1:0\"\n");
  setup.listeners = 2;
  GatewayProcess gateway(setup);
  HttpClient ada = gateway.connect();
  const HttpResponse opened = ada.post("/mcp", initialize(), for_mcp(as(kAda)));
  ASSERT_EQ(opened.status, 200) << opened.body;
  const std::string session = opened.header("mcp-session-id");
  const Headers known = {{"mcp-session-id", session}};
  const HttpResponse invented =
      ada.post("/mcp", request("ping"), for_mcp(as(kAda, {{"mcp-session-id", "invented"}})));
  EXPECT_EQ(invented.status, 404);
  const auto ask = [&](HttpClient& client, const Headers& headers) {
    const HttpResponse posted = client.post("/mcp", request("ping"), for_mcp(headers));
    EXPECT_TRUE(posted.status == 200 || posted.body == invented.body) << posted.body;
    return posted.status;
  };
  EXPECT_EQ(ask(ada, as(kAda, known)), 200);
  HttpClient bob = gateway.connect();
  EXPECT_EQ(ask(bob, as(kBob, known)), 404);
  Headers resumes = as(kBob, known);
  resumes["last-event-id"] = session.substr(session.size() - 8) + "-0-0";
  for (const Headers& headers : {as(kBob, known), resumes}) {
    EXPECT_EQ(bob.get("/mcp", for_mcp(headers)).status, 404);
  }
  bob.send_request("DELETE", "/mcp", "", as(kBob, known));
  EXPECT_EQ(bob.read_response().status, 404);
  HttpClient nobody = gateway.connect(1);
  EXPECT_EQ(ask(nobody, known), 404) << "who says nothing is somebody else";
  EXPECT_EQ(ask(ada, as(kAda, known)), 200) << "it is still there";

  HttpClient events = gateway.connect();
  events.send_request("GET", "/sse", "", as(kAda, {{"accept", "text/event-stream"}}));
  ASSERT_EQ(events.read_head().status, 200);
  const std::string path = events.read_event()->data;
  EXPECT_EQ(bob.post(path, request("ping"), as(kBob)).status, 404);
  EXPECT_EQ(nobody.post(path, request("ping")).status, 404);
  EXPECT_EQ(ada.post(path, initialize(), as(kAda)).status, 202);
  EXPECT_THAT(gateway.log(), Not(HasSubstr(session)));
}

// A replica with the same keys takes a session over only for the session's principal.
TEST_F(Auth, SealedIdsAreTheirPrincipals) {
  folder_.write("sessions.key", std::string(64, '5') + "\n");
  const std::string root =
      two_people(folder_) + "sessions: { key_file: " + folder_.path("sessions.key") + " }\n";
  GatewayProcess first(mcp_setup(root));
  GatewayProcess second(mcp_setup(root));
  HttpClient ada = first.connect();
  const HttpResponse opened = ada.post("/mcp", initialize(), for_mcp(as(kAda)));
  ASSERT_EQ(opened.status, 200) << opened.body;
  const Headers known = {{"mcp-session-id", opened.header("mcp-session-id")}};
  HttpClient elsewhere = second.connect();
  EXPECT_EQ(elsewhere.post("/mcp", request("ping"), for_mcp(as(kBob, known))).status, 404);
  EXPECT_EQ(elsewhere.post("/mcp", request("ping"), for_mcp(as(kAda, known))).status, 200);
  EXPECT_EQ(elsewhere.post("/mcp", request("ping"), for_mcp(as(kBob, known))).status, 404);
}

std::string in_seconds(int seconds) {
  const std::time_t time = std::time(nullptr) + seconds;
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "\"%Y-%m-%dT%H:%M:%SZ\"", &parts);
  return text.data();
}

TEST_F(Auth, WhatIsOpenEndsWithItsCredential) {
  GatewayProcess gateway(mcp_setup(two_people(folder_, ", expires: " + in_seconds(8))));
  WebSocketClient socket(gateway.url(), {.headers = as(kAda)});
  WebSocketClient lasting(gateway.url(), {.headers = as(kBob)});
  HttpClient events = gateway.connect();
  events.send_request("GET", "/sse", "", as(kAda, {{"accept", "text/event-stream"}}));
  ASSERT_EQ(events.read_head().status, 200);
  const Closing closing = socket.read_closing();
  EXPECT_EQ(closing.code, 1008);
  EXPECT_EQ(closing.reason, "the credential has expired");
  while (events.read_event()) {
  }
  HttpClient client = gateway.connect();
  const HttpResponse refused = client.post("/rpc", request("ping"), as(kAda));
  EXPECT_EQ(refused.status, 401);
  EXPECT_THAT(refused.header("www-authenticate"),
              HasSubstr("error_description=\"this credential has expired\""));
  EXPECT_NE(lasting.call("ping"), "");
}

TEST_F(Auth, WebSocketsShakeHandsWithACredential) {
  GatewayProcess gateway(serve_one(demo_server(), "", two_people(folder_)));
  WebSocketClient socket(gateway.url(), {.headers = {{"x-api-key", kAda}}});
  EXPECT_EQ(socket.call("echo", "[1]"), result("1", "[1]"));
  EXPECT_THROW(WebSocketClient(gateway.url(), {.headers = {{"x-api-key", kAda + "x"}}}),
               std::runtime_error);
  EXPECT_TRUE(eventually("the session's line names it", [&] {
    const auto lines = log_of(gateway, "session opened");
    return lines.size() == 1 && lines[0].text("/principal") == "ada";
  }));
}

std::string bearer_protocol(const std::string& key) {
  return "stdgate.bearer." + encode_base64url(key);
}

TEST_F(Auth, PagesShowTheirCredentialAsASubprotocol) {
  GatewayProcess gateway(serve_one(puppet(), "", two_people(folder_)));
  const auto status_of = [&](const std::string& offered, Headers more = {}) {
    more.emplace("sec-websocket-protocol", offered);
    try {
      WebSocketClient socket(gateway.url(), {.headers = more});
      EXPECT_EQ(socket.handshake().header("sec-websocket-protocol"), "mcp");
      EXPECT_THAT(socket.call("cwd"), HasSubstr("result"));
      return 101;
    } catch (const std::exception& refusal) {
      const std::string text = refusal.what();
      for (const int status : {400, 401}) {
        if (text.find(std::to_string(status)) != std::string::npos) return status;
      }
      throw;
    }
  };
  EXPECT_EQ(status_of(bearer_protocol(kAda) + ", mcp"), 101);
  EXPECT_EQ(status_of("mcp, " + bearer_protocol(kBob)), 101);
  EXPECT_EQ(status_of(bearer_protocol(kAda + "x") + ", mcp"), 401);
  EXPECT_EQ(status_of("mcp"), 401);
  EXPECT_EQ(status_of(bearer_protocol(kAda)), 400) << "there is nothing to answer";
  EXPECT_EQ(status_of("stdgate.bearer., mcp"), 400);
  EXPECT_EQ(status_of("stdgate.bearer.=!, mcp"), 400);
  EXPECT_EQ(status_of(bearer_protocol(kAda) + ", mcp, " + bearer_protocol(kAda)), 400);
  EXPECT_EQ(status_of(bearer_protocol(kAda) + ", mcp", as(kAda)), 400) << "one credential, once";
  HttpClient client = gateway.connect();
  EXPECT_EQ(client
                .post("/rpc", request("echo", "[1]"),
                      {{"sec-websocket-protocol", bearer_protocol(kAda) + ", mcp"}})
                .status,
            401)
      << "of WebSockets only";
}

std::string ticket_for(HttpClient& client, const std::string& path, const std::string& key) {
  const HttpResponse answer = client.post("/ticket?path=" + path, "", as(key));
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.header("cache-control"), "no-store");
  const JsonValue ticket(answer.body);
  EXPECT_EQ(ticket.text("/path"), path);
  EXPECT_EQ(ticket.number("/expires_in"), 10);
  return ticket.text("/ticket");
}

TEST_F(Auth, TicketsOpenOneRequestEach) {
  GatewayProcess gateway(mcp_setup(two_people(folder_)));
  HttpClient client = gateway.connect();
  const Headers accept = {{"accept", "text/event-stream"}};
  const auto opens = [&](const std::string& target) {
    HttpClient stream = gateway.connect();
    stream.send_request("GET", target, "", accept);
    return stream.read_response_to_head().status;
  };
  const std::string ticket = ticket_for(client, "/sse", kAda);
  EXPECT_EQ(opens("/sse?ticket=" + ticket), 200);
  EXPECT_EQ(opens("/sse?ticket=" + ticket), 401) << "once";
  EXPECT_EQ(opens("/sse?ticket=" + ticket_for(client, "/main/sse", kAda)), 401) << "one path";
  EXPECT_EQ(opens("/sse?x=1&ticket=" + ticket_for(client, "/sse", kAda)), 200);
  const std::string stream = "/rpc/stream";
  EXPECT_EQ(opens(stream + "?method=ping&ticket=" + ticket_for(client, stream, kAda)), 200);
  EXPECT_EQ(opens("/mcp?ticket=" + ticket_for(client, "/mcp", kAda)), 400) << "no session";
  EXPECT_EQ(opens("/sse?ticket="), 401);
  EXPECT_EQ(opens("/sse?%74icket=" + ticket_for(client, "/sse", kAda)), 401);
  WebSocketClient socket(gateway.url(), {.path = "/ws?ticket=" + ticket_for(client, "/ws", kAda)});
  EXPECT_EQ(socket.handshake().status, 101);
  // A ticket is valid once, even on the same connection.
  const std::string once = ticket_for(client, stream, kAda);
  HttpClient kept = gateway.connect();
  const std::string target = stream + "?method=ping&ticket=" + once;
  EXPECT_EQ(kept.get(target, accept).status, 200);
  EXPECT_EQ(kept.get(target, accept).status, 401);
  // Tickets are not accepted for POST, nor together with a credential.
  EXPECT_EQ(client.post("/mcp?ticket=" + ticket_for(client, "/mcp", kAda), initialize(), for_mcp())
                .status,
            401);
  HttpClient two = gateway.connect();
  EXPECT_EQ(two.get("/sse?ticket=" + ticket_for(client, "/sse", kAda), as(kAda, accept)).status,
            400);
}

TEST_F(Auth, TicketsAreGivenToWhoIsKnownForPathsThatTakeThem) {
  GatewayProcess gateway(mcp_setup(two_people(folder_)));
  HttpClient client = gateway.connect();
  EXPECT_EQ(client.post("/ticket?path=/ws", "").status, 401);
  EXPECT_EQ(client.post("/ticket?path=/ws", "", as(kAda + "x")).status, 401);
  for (const char* const target : {"/ticket", "/ticket?path=/rpc", "/ticket?path=/nothing",
                                   "/ticket?path=ws", "/ticket?path=/ticket"}) {
    EXPECT_EQ(client.post(target, "", as(kAda)).status, 400) << target;
  }
  EXPECT_EQ(client.get("/ticket?path=/ws", as(kAda)).status, 405);
  for (int i = 0; i < 64; ++i) ticket_for(client, "/ws", kAda);
  const HttpResponse many = client.post("/ticket?path=/ws", "", as(kAda));
  EXPECT_EQ(many.status, 429);
  EXPECT_EQ(many.header("retry-after"), "10");
  ticket_for(client, "/ws", kBob);
  // Without `auth` there are no principals, so there are no tickets.
  GatewayProcess open(mcp_setup(""));
  EXPECT_EQ(open.connect().post("/ticket?path=/ws", "").status, 404);
}

TEST_F(Auth, PagesOfAllowedOriginsMayAskForTickets) {
  GatewayProcess gateway(
      mcp_setup(two_people(folder_) + "allowed_origins: [\"https://app.example\"]\n"));
  HttpClient client = gateway.connect();
  const Headers page = {{"origin", "https://app.example"}};
  const HttpResponse given = client.post("/ticket?path=/ws", "", as(kAda, page));
  EXPECT_EQ(given.status, 200);
  EXPECT_EQ(given.header("access-control-allow-origin"), "https://app.example");
  EXPECT_EQ(
      client.post("/ticket?path=/ws", "", as(kAda, {{"origin", "https://evil.example"}})).status,
      403);
}

std::string read_audit(const std::string& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Neither keys nor tickets appear in the access log, the audit, lines about refusals, or lines of
// level debug.
TEST_F(Auth, WhatPagesShowIsWrittenNowhere) {
  GatewayProcess gateway(mcp_setup(two_people(folder_) + "audit: { file: \"" +
                                   folder_.path("audit.jsonl") +
                                   "\" }\nlog: { level: debug, format: json, payloads: true }\n"));
  HttpClient client = gateway.connect();
  const std::string good = ticket_for(client, "/ws", kAda);
  const std::string wrong = ticket_for(client, "/main/ws", kAda);
  for (const std::string& ticket : {good, wrong, good}) {
    try {
      WebSocketClient socket(gateway.url(), {.path = "/ws?ticket=" + ticket});
      socket.call("tools/list");
    } catch (const std::exception&) {
      // The WebSocket is refused.
    }
  }
  for (const std::string& key : {kAda, kAda + "-wrong"}) {
    try {
      WebSocketClient socket(
          gateway.url(), {.headers = {{"sec-websocket-protocol", bearer_protocol(key) + ", mcp"}}});
      socket.call("tools/list");
    } catch (const std::exception&) {
      // The WebSocket is refused.
    }
  }
  const std::string state = HttpClient(gateway.admin_url()).get("/debug/state").body;
  gateway.signal(SIGTERM);
  gateway.wait_for_exit();
  const std::string all = gateway.log() + read_audit(folder_.path("audit.jsonl")) + state;
  EXPECT_THAT(all, HasSubstr("\"/ws\"")) << "the requests are there";
  for (const std::string& secret :
       {good, wrong, kAda, encode_base64url(kAda), encode_base64url(kAda + "-wrong")}) {
    EXPECT_THAT(all, Not(HasSubstr(secret)));
  }
}

TEST_F(Auth, CertificatesSayWhoClientsAre) {
  test::TestAuthority authority;
  const test::Credential server = authority.issue();
  folder_.write("server.crt", server.certificate);
  folder_.write("server.key", server.key);
  folder_.write("ca.crt", authority.certificate());
  GatewayProcess gateway(serve_one(
      demo_server(), "",
      "listen: [{ address: \"127.0.0.1:0\", tls: { certificate: " + folder_.path("server.crt") +
          ", key: " + folder_.path("server.key") + ", client_ca: " + folder_.path("ca.crt") +
          ", client_certificate: optional } }]\n"
          "auth: { mtls: { roles: { \"spiffe://c/ns/ci/*\": [ci] } }, api_keys: [{ name: ada, "
          "file: " +
          key_file(folder_, "ada", kAda) + " }] }\n"));
  const auto ask = [&](const test::TlsClientOptions& options, const Headers& headers = {}) {
    TlsTunnel tunnel(gateway.url(), options);
    HttpClient client(tunnel.url());
    client.post("/rpc", request("echo", "[1]"), headers);
    return client.post("/rpc", request("echo", "[1]"), headers).status;
  };
  const auto logs = [&](const std::string& principal) {
    return eventually("the log names " + principal, [&] {
      return gateway.log().find("\"principal\":\"" + principal + "\"") != std::string::npos;
    });
  };
  test::TlsClientOptions options{.authority = authority.certificate()};
  EXPECT_EQ(ask(options), 401) << "neither certificate nor key";
  EXPECT_EQ(ask(options, as(kAda)), 200);
  options.credential = authority.issue({.uris = {"spiffe://c/ns/ci/builder"}});
  EXPECT_EQ(ask(options), 200);
  EXPECT_TRUE(logs("spiffe://c/ns/ci/builder"));
  options.credential = authority.issue({.name = "build", .hosts = {"build.example"}});
  EXPECT_EQ(ask(options), 200);
  EXPECT_TRUE(logs("build.example"));
  options.credential = authority.issue({.name = "build", .hosts = {}});
  EXPECT_EQ(ask(options), 200);
  EXPECT_TRUE(logs("CN=build"));
  EXPECT_EQ(ask(options, as("a-wrong-key-1234")), 401) << "a bad key is not made good by it";
}

TEST_F(Auth, TokensAndWhoGivesThemOut) {
  const test::TestIssuer issuer(test::TestIssuer::Kind::p256);
  folder_.write("jwks.json", issuer.jwks());
  GatewayProcess gateway(mcp_setup(
      "auth: { public_url: \"https://tools.example\", jwt: [{ issuer: \"https://id.example\", "
      "audience: [\"https://tools.example/mcp\"], roles: roles, jwks: { file: " +
      folder_.path("jwks.json") +
      " } }], api_keys: [{ name: ada, file: " + key_file(folder_, "ada", kAda) + " }] }\n"));
  const auto token = [&](const std::string& subject, int64_t seconds) {
    return issuer.token(
        "ES256", R"({"iss":"https://id.example","aud":"https://tools.example/mcp","sub":")" +
                     subject + R"(","exp":)" + std::to_string(std::time(nullptr) + seconds) + "}");
  };
  HttpClient client = gateway.connect();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(client.post("/rpc", request("ping"), as(token("carol", 60))).status, 200);
    EXPECT_EQ(client.post("/rpc", request("ping"), as(kAda)).status, 200);
  }
  const std::string metadata = "https://tools.example/.well-known/oauth-protected-resource";
  const HttpResponse none = client.post("/mcp", initialize(), for_mcp());
  EXPECT_EQ(none.status, 401);
  EXPECT_EQ(none.header("www-authenticate"), "Bearer resource_metadata=\"" + metadata + "/mcp\"");
  EXPECT_THAT(none.body, HasSubstr(R"("code":-31401)"));
  const HttpResponse expired = client.post("/rpc", request("ping"), as(token("carol", -60)));
  EXPECT_EQ(expired.header("www-authenticate"),
            "Bearer error=\"invalid_token\", error_description=\"this credential has expired\", "
            "resource_metadata=\"" +
                metadata + "\"");
  const std::string described =
      R"("authorization_servers":["https://id.example"],"bearer_methods_supported":["header"]})";
  for (const std::string path : {"", "/mcp", "/main/mcp"}) {
    EXPECT_EQ(client.get("/.well-known/oauth-protected-resource" + path).body,
              R"({"resource":"https://tools.example)" + path + "\"," + described + "\n");
  }
  EXPECT_EQ(client.get("/.well-known/oauth-protected-resource/rpc").status, 401);
  HttpClient other = gateway.connect();
  const HttpResponse opened = other.post("/mcp", initialize(), for_mcp(as(token("carol", 60))));
  const Headers known = {{"mcp-session-id", opened.header("mcp-session-id")}};
  EXPECT_EQ(other.post("/mcp", request("ping"), for_mcp(as(token("carol", 90), known))).status, 200)
      << "a renewed token of the same one";
  EXPECT_EQ(other.post("/mcp", request("ping"), for_mcp(as(token("dave", 60), known))).status, 404);
  EXPECT_THAT(gateway.log(), AllOf(HasSubstr(R"("principal":"carol")"), Not(HasSubstr("eyJ"))));
}

TEST_F(Auth, BadFilesOfKeysAreSaid) {
  const TemporaryFolder folder;
  folder.write("jwks.json", "{}");
  folder.write(
      "gateway.yaml",
      "admin: \"off\"\nauth: { public_url: \"https://a\", jwt: [{ issuer: i, audience: [a], "
      "jwks: { file: jwks.json } }] }\nbackends: { a: { command: [cat] } }\n");
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"check"}, {}}) {
    const ProgramRun run = run_stdgate(folder, arguments);
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_THAT(run.err, HasSubstr("auth.jwt[0].jwks: jwks.json: expected a JSON Web Key Set"));
  }
}

TEST_F(Auth, AListenerOffLoopbackSaysWhoMayCall) {
  const TemporaryFolder folder;
  const std::string backends = "backends: { a: { command: [cat] } }\n";
  folder.write("gateway.yaml", "listen: \"0.0.0.0:0\"\nadmin: \"off\"\n" + backends);
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"check"}, {}}) {
    const ProgramRun run = run_stdgate(folder, arguments);
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_THAT(run.err, AllOf(HasSubstr("gateway.yaml:1:9: listen: "),
                               HasSubstr("{ address: \"0.0.0.0:0\", anonymous: true }")));
  }
  const ProgramRun flags = run_stdgate(folder, {"check", "--listen", ":0", "--", "cat"});
  EXPECT_EQ(flags.exit_code, 2);
  EXPECT_THAT(flags.err, testing::StartsWith("stdgate: --listen: "));
  EXPECT_EQ(run_stdgate(folder, {"check", "--anonymous"}).exit_code, 0);
  folder.write("keys", kAda + "\n");
  EXPECT_EQ(run_stdgate(folder, {"check", "--api-key-file", "keys"}).exit_code, 0);
}

TEST_F(Auth, HashKey) {
  const TemporaryFolder folder;
  const ProgramRun made = run_stdgate(folder, {"hash-key", "--new"});
  EXPECT_EQ(made.exit_code, 0);
  EXPECT_THAT(made.out,
              testing::MatchesRegex("key sg_[A-Za-z0-9_-]{43}\nhash sha256:[0-9a-f]{64}\n"));
  const std::string key = made.out.substr(4, made.out.find('\n') - 4);
  folder.write("key", key + "\n");
  EXPECT_NE(made.out, run_stdgate(folder, {"hash-key", "--new"}).out);
  EXPECT_EQ(run_stdgate(folder, {"hash-key", key}).exit_code, 2) << "others see arguments";
  FILE* pipe =
      ::popen((STDGATE_PROGRAM " hash-key < " + (folder.path() / "key").string()).c_str(), "r");
  std::array<char, 128> hash{};
  const size_t size = std::fread(hash.data(), 1, hash.size(), pipe);
  ::pclose(pipe);
  EXPECT_EQ("hash " + std::string(hash.data(), size), made.out.substr(made.out.find('\n') + 1));
}

}  // namespace
}  // namespace stdgate::harness::auth_test

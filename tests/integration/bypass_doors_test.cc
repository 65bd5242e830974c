// Attempts to get in by WebSockets, event streams and preflights instead of a POST. Every group has
// a control: the same request with a good credential in the right place succeeds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "tests/integration/harness/http_client.h"
#include "tests/integration/harness/setups.h"
#include "tests/integration/harness/websocket_client.h"
#include "tests/support/test_folder.h"

namespace stdgate::harness::bypass_doors_test {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kKey = "the-key-of-ada-1234";
const std::string kOther = "the-key-of-bob-1234";
const std::string kBearer = "Authorization: Bearer " + kKey + "\r\n";
// A part of the params of every call. A child that receives the call answers with its params.
constexpr const char* kMark = "REACHED";
const std::string kMarked = request("x", R"(["REACHED"])");

const std::string kUpgrade =
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
const std::string kEvents = "Accept: text/event-stream\r\n";

class BypassDoors : public testing::Test {
 protected:
  BypassDoors() {
    folder_.write("ada", kKey + "\n");
    folder_.write("bob", kOther + "\n");
  }
  [[nodiscard]] std::string auth() const {
    return "auth: { api_keys: [{ name: ada, file: " + folder_.path("ada") +
           " }, { name: bob, file: " + folder_.path("bob") + " }] }\n";
  }
  // A plain JSON-RPC backend and an MCP backend: they serve WebSockets and streams at different
  // paths.
  [[nodiscard]] GatewaySetup setup() const {
    return serve({backend("main", rogue({"rpc"}), "default: true"),
                  backend("tools", puppet("mcp"), "protocol: mcp")},
                 auth());
  }
  static std::string get(const GatewayProcess& gateway, const std::string& target,
                         const std::string& fields) {
    return answer_to(gateway.url(), raw_request("GET", target, "Host: localhost\r\n" + fields, ""));
  }

  test::TestFolder folder_;
};

// --- WebSockets ------------------------------------------------------------------------------

// Fields without a usable credential: it is wrong, or stands where the gateway does not look for
// credentials.
std::vector<std::string> useless_fields() {
  return {
      "",
      "Authorization: Bearer " + kKey + "x\r\n",
      "Authorization: Bearer " + kKey.substr(1) + "\r\n",
      "Authorization: Bearer ada\r\n",
      "Authorization: Basic " + kKey + "\r\n",
      "Authorization: " + kKey + "\r\n",
      "Authorization: Bearer \r\n",
      kBearer + kBearer,
      kBearer + "X-API-Key: " + kOther + "\r\n",
      kBearer + "Authorization: Bearer bad\r\n",
      "X_API_Key: " + kKey + "\r\n",
      "Api-Key: " + kKey + "\r\n",
      "Cookie: X-API-Key=" + kKey + "\r\n",
      "Proxy-Authorization: Bearer " + kKey + "\r\n",
      "Sec-WebSocket-Protocol: " + kKey + "\r\n",
      "Sec-WebSocket-Protocol: bearer, " + kKey + "\r\n",
      "Sec-WebSocket-Protocol: mcp, bearer." + kKey + "\r\n",
      "Sec-WebSocket-Protocol: authorization.bearer." + kKey + "\r\n",
      "Sec-WebSocket-Extensions: permessage-deflate; key=" + kKey + "\r\n",
      "Connection: Upgrade, Authorization\r\n",
      "Forwarded: for=127.0.0.1\r\nX-Forwarded-User: ada\r\n",
  };
}

std::vector<std::string> targets_of_websockets() {
  return {"/ws",
          "/rpc/ws",
          "/main/ws",
          "/main/rpc/ws",
          "/tools/ws",
          "/tools/rpc/ws",
          "/ws/",
          "//ws",
          "/%77s",
          "http://localhost/ws",
          "http://ada:" + kKey + "@localhost/ws",
          "/ws?access_token=" + kKey,
          "/ws?token=" + kKey + "&api_key=" + kKey + "&x-api-key=" + kKey,
          "/ws?authorization=Bearer%20" + kKey,
          "/ws#" + kKey};
}

TEST_F(BypassDoors, NoWebSocketOpensWithoutACredential) {
  GatewayProcess gateway(setup());
  for (const char* path : {"/ws", "/rpc/ws", "/main/ws", "/main/rpc/ws"}) {
    WebSocketClient good(gateway.url(),
                         {.path = path, .headers = {{"authorization", "Bearer " + kKey}}});
    good.send(kMarked);
    EXPECT_THAT(good.message(), HasSubstr(kMark)) << path;
  }
  const std::string frame = frame_bytes({.payload = kMarked});
  for (const std::string& target : targets_of_websockets()) {
    for (const std::string& fields : useless_fields()) {
      // The frame is sent before the answer, and would be the first message of the WebSocket.
      HttpClient client = gateway.connect();
      client.send("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + kUpgrade + fields +
                  "\r\n" + frame);
      EXPECT_GE(client.read_response().status, 400) << target << " " << fields;
      client.finish_sending();
      EXPECT_THAT(client.read_to_end(), Not(HasSubstr(kMark))) << target << " " << fields;
    }
  }
  EXPECT_TRUE(eventually("four sessions have been there",
                         [&] { return log_of(gateway, "session opened").size() == 4; }));
}

// Credentials of earlier requests on the connection do not count for an upgrade. After a refused
// upgrade the connection carries no WebSocket frames.
TEST_F(BypassDoors, NoConnectionLendsItsCredentialToAnUpgrade) {
  GatewayProcess gateway(setup());
  HttpClient client = gateway.connect();
  const std::string upgrade = "GET /ws HTTP/1.1\r\nHost: localhost\r\n" + kUpgrade + "\r\n";
  EXPECT_EQ(client.post("/rpc", kMarked, {{"authorization", "Bearer " + kKey}}).status, 200);
  client.send(upgrade);
  EXPECT_EQ(client.read_response().status, 401);
  EXPECT_EQ(client.post("/rpc", kMarked).status, 401);
  EXPECT_EQ(client.post("/rpc", kMarked, {{"authorization", "Bearer " + kKey}}).status, 200);
  client.send(upgrade + frame_bytes({.payload = kMarked}));
  EXPECT_EQ(client.read_response().status, 401);
  client.finish_sending();
  EXPECT_THAT(client.read_to_end(), Not(HasSubstr(kMark)));
}

// --- Event streams ---------------------------------------------------------------------------

std::vector<std::string> targets_of_streams() {
  const std::string call = "method=x&params=%5B%22REACHED%22%5D";
  const std::string key = "&access_token=" + kKey + "&api_key=" + kKey + "&x-api-key=" + kKey;
  return {"/rpc/stream?" + call,
          "/main/rpc/stream?" + call,
          "/rpc/stream/?" + call,
          "/rpc/strea%6d?" + call,
          "/rpc/stream?" + call + key,
          "http://ada:" + kKey + "@localhost/rpc/stream?" + call,
          "/tools/sse",
          "/tools/sse/",
          "/tools/%73se",
          "/tools/sse?session=x" + key,
          "/tools/mcp",
          "/tools/mcp?x=y" + key};
}

TEST_F(BypassDoors, NoStreamOpensWithoutACredential) {
  GatewayProcess gateway(setup());
  EXPECT_THAT(get(gateway, targets_of_streams()[0], kEvents), Not(HasSubstr(kMark)));
  HttpClient good = gateway.connect();
  good.send_request("GET", targets_of_streams()[0], "",
                    {{"authorization", "Bearer " + kKey}, {"accept", "text/event-stream"}});
  EXPECT_EQ(good.read_head().status, 200);
  EXPECT_THAT(good.read_event()->data, HasSubstr(kMark));
  for (const std::string& target : targets_of_streams()) {
    for (const std::string& fields : useless_fields()) {
      if (fields.starts_with("Connection")) continue;  // the request has such a field already
      const std::string answer = get(gateway, target, kEvents + fields);
      EXPECT_GE(status_of(answer), 400) << target << " " << fields << answer;
      EXPECT_THAT(answer, Not(HasSubstr(kMark))) << target << " " << fields;
    }
  }
}

// The stream of one principal accepts no messages of another principal, and sends nothing to the
// other.
TEST_F(BypassDoors, NoStreamOfAnotherTakesMessages) {
  GatewayProcess gateway(setup());
  HttpClient stream = gateway.connect();
  stream.send_request("GET", "/tools/sse", "",
                      {{"authorization", "Bearer " + kKey}, {"accept", "text/event-stream"}});
  ASSERT_EQ(stream.read_head().status, 200);
  const std::string place = stream.read_event()->data;
  const std::string session = place.substr(place.find('=') + 1);
  const auto post = [&](const std::string& target, const std::string& fields) {
    return status_of(answer_to(
        gateway.url(), raw_request("POST", target, "Host: localhost\r\n" + fields, kMarked)));
  };
  const std::string bob = "Authorization: Bearer " + kOther + "\r\n";
  for (const std::string& target :
       {place, place + "&x=y", place + "&session=x", "/tools/messages?x=y&session=" + session,
        "/main/messages?session=" + session}) {
    EXPECT_EQ(post(target, bob), 404) << target;
    EXPECT_EQ(post(target, ""), 401) << target;
    EXPECT_EQ(post(target, "Authorization: Bearer " + kKey + "x\r\n"), 401) << target;
  }
  for (const std::string target : {"/tools/sse?session=", "/tools/mcp?session="}) {
    const std::string answer =
        get(gateway, target + session, "Mcp-Session-Id: " + session + "\r\n" + kEvents);
    EXPECT_EQ(status_of(answer), 401) << target;
  }
  const std::string listened = get(
      gateway, "/tools/mcp",
      bob + "Mcp-Session-Id: " + session + "\r\nAccept: application/json, text/event-stream\r\n");
  EXPECT_EQ(status_of(listened), 404) << listened;
  HttpClient owner = gateway.connect();
  const Headers known = {{"authorization", "Bearer " + kKey}};
  const std::string initialize =
      request("initialize", R"({"protocolVersion":"2024-11-05","capabilities":{},)"
                            R"("clientInfo":{"name":"c","version":"1"}})");
  EXPECT_EQ(owner.post(place, initialize, known).status, 202);
  EXPECT_THAT(stream.read_event()->data, HasSubstr("serverInfo")) << "the first that it hears";
  owner.post(place, request("notifications/initialized", "", ""), known);
  EXPECT_EQ(owner.post(place, request("history"), known).status, 202);
  EXPECT_THAT(stream.read_event()->data, Not(HasSubstr(kMark)));
}

// --- Preflights ------------------------------------------------------------------------------

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// A preflight is answered without a credential. So it must change nothing and disclose nothing, not
// even which paths are served.
TEST_F(BypassDoors, NoPreflightOpensAnything) {
  GatewayProcess gateway(setup());
  const std::string asks =
      "Origin: http://localhost:3000\r\nAccess-Control-Request-Method: POST\r\n"
      "Access-Control-Request-Headers: authorization, content-type\r\n";
  const std::vector<std::string> tricks = {
      "",
      "X-HTTP-Method-Override: POST\r\n",
      "X-HTTP-Method: POST\r\nX-Method-Override: POST\r\n",
      kUpgrade,
      kEvents,
      "Accept: application/json, text/event-stream\r\nMcp-Session-Id: x\r\n",
      "Last-Event-ID: x-0-0\r\n",
      "Authorization: Bearer wrong-wrong-wrong-wrong\r\n",
      "Access-Control-Request-Private-Network: true\r\n",
  };
  for (const std::string target :
       {"/rpc", "/main/rpc", "/rpc/stream?method=x&params=%5B%22REACHED%22%5D", "/ws", "/tools/mcp",
        "/tools/sse", "/tools/messages?session=x", "/", "/unknown", "*"}) {
    for (const std::string& trick : tricks) {
      for (const std::string& body : {std::string(), kMarked}) {
        const std::string fields = "Host: localhost\r\n" + asks + trick;
        const std::string answer =
            answer_to(gateway.url(), raw_request("OPTIONS", target, fields, body));
        const int status = status_of(answer);
        EXPECT_TRUE(status == 204 || status >= 400) << target << " " << trick << answer;
        EXPECT_THAT(answer, Not(HasSubstr(kMark))) << target << " " << trick;
        EXPECT_THAT(answer, Not(HasSubstr("tools"))) << target << " " << trick;
        const std::string plain = lower(answer);
        EXPECT_THAT(plain, Not(HasSubstr("access-control-allow-credentials"))) << target;
        EXPECT_THAT(plain, Not(HasSubstr("access-control-allow-origin: *"))) << target;
        EXPECT_THAT(plain, Not(HasSubstr("mcp-session-id: "))) << target;
      }
    }
    // An OPTIONS request without the fields of a preflight needs a credential.
    for (const std::string fields :
         {"", "Origin: http://localhost:3000\r\n", "Access-Control-Request-Method: POST\r\n"}) {
      const std::string answer = answer_to(
          gateway.url(),
          raw_request("OPTIONS", target, std::string("Host: localhost\r\n") + fields, ""));
      EXPECT_TRUE(status_of(answer) >= 400 || std::string(target) == "*")
          << target << " " << fields << answer;
    }
  }
  EXPECT_TRUE(log_of(gateway, "session opened").empty());
}

// The request that follows a preflight on the same connection needs its own credential.
TEST_F(BypassDoors, NoPreflightLetsTheNextRequestIn) {
  GatewayProcess gateway(setup());
  HttpClient client = gateway.connect();
  const Headers asks = {{"origin", "http://localhost:3000"},
                        {"access-control-request-method", "POST"}};
  const Headers page = {{"origin", "http://localhost:3000"}};
  for (int i = 0; i < 3; ++i) {
    client.send_request("OPTIONS", "/rpc", "", asks);
    const HttpResponse preflight = client.read_response();
    EXPECT_EQ(preflight.status, 204);
    EXPECT_EQ(preflight.header("access-control-allow-origin"), "http://localhost:3000");
    EXPECT_EQ(client.post("/rpc", kMarked, page).status, 401);
    EXPECT_EQ(client.post("/rpc", kMarked, asks).status, 401);
    EXPECT_EQ(client.get("/", page).status, 401);
  }
  Headers with_key = page;
  with_key.emplace("authorization", "Bearer " + kKey);
  EXPECT_THAT(client.post("/rpc", kMarked, with_key).body, HasSubstr(kMark));
}

}  // namespace
}  // namespace stdgate::harness::bypass_doors_test

// RFC 6455 case by case, as bytes over real sockets, and JSON-RPC over WebSocket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <vector>

#include "tests/integration/harness/setups.h"
#include "tests/integration/harness/websocket_client.h"

namespace stdgate::harness::websocket_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using testing::UnorderedElementsAre;

constexpr Millis kSoon = Millis(5000);
constexpr size_t kLimit = 4096;  // limits.message

GatewaySetup demo() { return serve_one(demo_server(), "", "limits: { message: 4KiB }"); }

std::string text_frame(std::string_view text) {
  return frame_bytes({.payload = std::string(text)});
}

// How the gateway closes the connection of a client that sends these bytes after the handshake.
Closing closing_after(const GatewayProcess& gateway, std::string_view bytes) {
  WebSocketClient client(gateway.url());
  client.send_bytes(bytes);
  Closing closing = client.read_closing();
  EXPECT_TRUE(client.ended_within(kSoon)) << "the server is to close first (section 7.1.1)";
  return closing;
}

// --- Section 4: the handshake --------------------------------------------------------------------

TEST(Handshake, IsThatOfSection13) {
  GatewayProcess gateway(demo());
  for (const char* path : {"/ws", "/main/ws"}) {
    WebSocketClient client(
        gateway.url(),
        {.path = path, .headers = {{"sec-websocket-extensions", "permessage-deflate"}}});
    const HttpResponse& answer = client.handshake();
    EXPECT_EQ(answer.status, 101);
    EXPECT_EQ(answer.header("upgrade"), "websocket");
    EXPECT_EQ(answer.header("connection"), "Upgrade");
    EXPECT_EQ(answer.header("sec-websocket-accept"), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    for (const char* name : {"sec-websocket-protocol", "sec-websocket-extensions", "content-length",
                             "transfer-encoding", "content-type"}) {
      EXPECT_FALSE(answer.headers.contains(name)) << name;
    }
    EXPECT_EQ(client.call("math/add", "[1,2]"), result("1", "3"));
  }
}

TEST(Handshake, FieldsAreReadLeniently) {
  GatewayProcess gateway(demo());
  const Headers cases[] = {{{"upgrade", "WebSocket"}},
                           {{"connection", "keep-alive, upgrade"}},
                           {{"connection", "UPGRADE , close"}}};
  for (const Headers& headers : cases) {
    WebSocketClient client(gateway.url(), {.headers = headers});
    EXPECT_EQ(client.call("echo", "[1]"), result("1", "[1]"));
  }
}

struct Refusal {
  const char* what;
  Headers changed;
  const char* without;
  int status;
};

TEST(Handshake, IsRefused) {
  GatewayProcess gateway(demo());
  const Refusal cases[] = {
      {"no upgrade", {}, "upgrade", 426},
      {"another upgrade", {{"upgrade", "h2c"}}, "", 426},
      {"no connection", {}, "connection", 426},
      {"connection without upgrade", {{"connection", "keep-alive"}}, "", 426},
      {"version 12", {{"sec-websocket-version", "12"}}, "", 426},
      {"version 013", {{"sec-websocket-version", "013"}}, "", 426},
      {"no version", {}, "sec-websocket-version", 426},
      {"no key", {}, "sec-websocket-key", 400},
      {"short key", {{"sec-websocket-key", "dGhlIHNhbXBsZSBub25j"}}, "", 400},
      {"long key", {{"sec-websocket-key", "dGhlIHNhbXBsZSBub25jZXg="}}, "", 400},
      {"no base64", {{"sec-websocket-key", "dGhlIHNhbXBsZSBub25j!Q=="}}, "", 400},
      {"foreign origin", {{"origin", "https://evil.example"}}, "", 403},
      {"origin that looks local", {{"origin", "http://localhost.evil.example"}}, "", 403},
      {"origin of a file", {{"origin", "null"}}, "", 403},
      {"foreign host", {{"host", "evil.example"}}, "", 403},
  };
  for (const Refusal& refusal : cases) {
    SCOPED_TRACE(refusal.what);
    Headers headers = handshake_fields();
    for (const auto& [name, value] : refusal.changed) headers[name] = value;
    headers.erase(refusal.without);
    const HttpResponse answer = gateway.connect().get("/ws", headers);
    EXPECT_EQ(answer.status, refusal.status) << answer.body;
    const bool is_about_version = std::string(refusal.what).find("version") != std::string::npos;
    EXPECT_EQ(answer.header("sec-websocket-version"), is_about_version ? "13" : "");
    EXPECT_EQ(answer.header("upgrade"), refusal.status == 426 ? "websocket" : "");
  }
  EXPECT_EQ(gateway.metrics().sum("stdgate_connections", {{"transport", "websocket"}}), 0);
}

TEST(Handshake, IsAGet) {
  GatewayProcess gateway(demo());
  const HttpResponse answer =
      gateway.connect().post("/ws", request("echo", "[]"), handshake_fields());
  EXPECT_EQ(answer.status, 405);
  EXPECT_THAT(answer.header("allow"), HasSubstr("GET"));
  EXPECT_EQ(gateway.connect().get("/nothing/ws", handshake_fields()).status, 404);
}

TEST(Handshake, OriginsAndHostsThatAreAllowed) {
  GatewayProcess gateway(
      serve_one(demo_server(), "",
                "allowed_origins: [\"https://app.example\"]\nallowed_hosts: [\"gate.example\"]"));
  const Headers cases[] = {{{"origin", "http://localhost:3000"}},
                           {{"origin", "http://127.0.0.1"}},
                           {{"origin", "http://[::1]:8080"}},
                           {{"origin", "https://app.example"}, {"host", "gate.example"}}};
  for (const Headers& headers : cases) {
    WebSocketClient client(gateway.url(), {.headers = headers});
    EXPECT_EQ(client.call("echo", "[1]"), result("1", "[1]"));
  }
  Headers foreign = handshake_fields();
  foreign["origin"] = "https://other.example";
  EXPECT_EQ(gateway.connect().get("/ws", foreign).status, 403);
}

TEST(Handshake, ChoosesTheFirstSubprotocolThatIsKnown) {
  GatewayProcess gateway(demo());
  struct Case {
    const char* offered;
    const char* chosen;
  };
  for (const Case& given : {Case{"mcp", "mcp"}, Case{"chat, jsonrpc, mcp", "jsonrpc"},
                            Case{"chat", ""}, Case{"MCP", ""}}) {
    WebSocketClient client(gateway.url(), {.headers = {{"sec-websocket-protocol", given.offered}}});
    EXPECT_EQ(client.handshake().header("sec-websocket-protocol"), given.chosen);
  }
}

TEST(Handshake, FramesMayComeWithIt) {
  GatewayProcess gateway(demo());
  WebSocketClient client(gateway.url(), {.first_bytes = text_frame(request("echo", "[1]")) +
                                                        text_frame(request("echo", "[2]", "2"))});
  EXPECT_EQ(client.message(), result("1", "[1]"));
  EXPECT_EQ(client.message(), result("2", "[2]"));
}

TEST(Handshake, OverAUnixSocket) {
  GatewayProcess gateway(serve_one(demo_server(), "", "listen: [\"unix:@DIR@/s\"]"));
  WebSocketClient client(gateway.url());
  EXPECT_EQ(client.call("math/add", "[1,2]"), result("1", "3"));
}

// --- Section 5: frames ---------------------------------------------------------------------------

struct Violation {
  const char* what;
  std::string bytes;
  int code;
};

std::vector<Violation> violations() {
  const std::string good = request("echo", "[1]");
  std::vector<Violation> list = {
      {"unmasked", frame_bytes({.payload = good, .masked = false}), 1002},
      {"unmasked close", frame_bytes({.opcode = Frame::kClose, .masked = false}), 1002},
      {"fragmented ping", frame_bytes({.opcode = Frame::kPing, .final = false}), 1002},
      {"fragmented close", frame_bytes({.opcode = Frame::kClose, .final = false}), 1002},
      {"ping of 126 bytes", frame_bytes({.opcode = Frame::kPing, .payload = std::string(126, 'p')}),
       1002},
      {"continuation of nothing", frame_bytes({.opcode = Frame::kContinuation, .payload = good}),
       1002},
      {"continuation of a whole message",
       text_frame(good) + frame_bytes({.opcode = Frame::kContinuation, .payload = good}), 1002},
      {"text within a message", frame_bytes({.payload = good, .final = false}) + text_frame(good),
       1002},
      {"length of 16 bits for 5 bytes", std::string("\x81\xfe\x00\x05mask12345", 13), 1002},
      {"length of 64 bits for 200 bytes",
       std::string("\x81\xff\x00\x00\x00\x00\x00\x00\x00\xc8mask", 14), 1002},
      {"length with its top bit", std::string("\x81\xff\x80\x00\x00\x00\x00\x00\x00\x00mask", 14),
       1002},
      {"binary", frame_bytes({.opcode = Frame::kBinary, .payload = good}), 1003},
      {"close payload of one byte", frame_bytes({.opcode = Frame::kClose, .payload = "\x03"}),
       1002},
      {"close reason that is not UTF-8",
       frame_bytes({.opcode = Frame::kClose, .payload = close_payload(1000, "\xff")}), 1007},
      {"text cut within a character", text_frame("\"\xe2\x82"), 1007},
      {"character cut by the end of the message", fragment_bytes({"\"\xe2", "\x82"}), 1007},
      {"character with a wrong byte in the next fragment", fragment_bytes({"\"\xe2", "(\""}), 1007},
      {"fragment that no other can mend", frame_bytes({.payload = "\"\xff", .final = false}), 1007},
  };
  for (const uint8_t bit : std::array<uint8_t, 3>{1, 2, 4}) {
    list.push_back({"reserved bit", frame_bytes({.payload = good, .reserved = bit}), 1002});
  }
  for (const uint8_t opcode : std::array<uint8_t, 4>{3, 7, 11, 15}) {
    list.push_back({"unknown opcode", frame_bytes({.opcode = opcode, .payload = good}), 1002});
  }
  for (const char* text :
       {"\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\""}) {
    list.push_back({"not UTF-8", text_frame(text), 1007});
  }
  for (const int code : {0, 999, 1004, 1005, 1006, 1015, 2999, 5000, 65535}) {
    list.push_back({"close code that may not be sent",
                    frame_bytes({.opcode = Frame::kClose, .payload = close_payload(code)}), 1002});
  }
  return list;
}

TEST(Frames, ViolationsEndTheConnection) {
  GatewayProcess gateway(demo());
  for (const Violation& violation : violations()) {
    SCOPED_TRACE(violation.what);
    EXPECT_EQ(closing_after(gateway, violation.bytes).code, violation.code);
  }
  EXPECT_TRUE(eventually("all are gone", [&] {
    return gateway.metrics().sum("stdgate_connections", {{"transport", "websocket"}}) == 0;
  }));
  EXPECT_EQ(gateway.metrics().sum("stdgate_sessions"), 0);
}

TEST(Frames, WhatCameBeforeAViolationIsServed) {
  GatewayProcess gateway(demo());
  WebSocketClient client(gateway.url());
  EXPECT_EQ(client.call("math/add", "[1,2]"), result("1", "3"));
  client.send_bytes(frame_bytes({.opcode = 3}));
  EXPECT_EQ(client.read_closing().code, 1002);
}

TEST(Frames, MessagesUpToTheLimit) {
  GatewayProcess gateway(demo());
  std::string fits = request("echo", "[\"\"]");
  fits.insert(fits.size() - 3, std::string(kLimit - fits.size(), 'x'));
  ASSERT_EQ(fits.size(), kLimit);
  WebSocketClient client(gateway.url());
  client.send(fits);
  EXPECT_THAT(client.message(), StartsWith(R"({"jsonrpc":"2.0","id":1,"result":["xxx)"));
  client.send_bytes(fragment_bytes({fits.substr(0, 1), fits.substr(1, 1000), fits.substr(1001)}));
  EXPECT_THAT(client.message(), StartsWith(R"({"jsonrpc":"2.0","id":1,"result":["xxx)"));

  // The header alone is enough to refuse a frame that is too long.
  const std::string one_more = text_frame(fits + " ").substr(0, 8);
  EXPECT_EQ(closing_after(gateway, one_more).code, 1009);
  EXPECT_EQ(
      closing_after(gateway, std::string("\x81\xff\x00\x00\x00\x0f\x00\x00\x00\x00mask", 14)).code,
      1009);
  EXPECT_EQ(closing_after(gateway, fragment_bytes({fits, " "})).code, 1009);
}

TEST(Frames, ManyInOneSegment) {
  GatewayProcess gateway(demo());
  WebSocketClient client(gateway.url());
  std::string bytes;
  std::set<std::string> expected;
  for (int i = 0; i < 1000; ++i) {
    const std::string id = std::to_string(i);
    const std::string payload = "[" + id + "]";
    bytes += text_frame(request("echo", payload, id));
    expected.insert(result(id, payload));
  }
  client.send_bytes(bytes);
  std::set<std::string> received;
  for (int i = 0; i < 1000; ++i) received.insert(client.message());
  EXPECT_TRUE(received == expected);
}

TEST(Frames, CutAnywhere) {
  GatewayProcess gateway(demo());
  WebSocketClient client(gateway.url());
  const std::string text = request("echo", "[\"\xe2\x82\xac\"]");
  const size_t within_euro = text.find('\xe2') + 1;
  const std::string long_text = request("echo", "[\"" + std::string(300, 'x') + "\"]");
  const std::string bytes =
      fragment_bytes({text.substr(0, within_euro), text.substr(within_euro)}) +
      frame_bytes({.opcode = Frame::kPing, .payload = "p"}) + text_frame(long_text);
  for (const char byte : bytes) client.send_bytes({&byte, 1});
  // The pong may arrive before the child's answers.
  std::vector<std::string> payloads;
  for (int i = 0; i < 3; ++i) payloads.push_back(client.read_frame().value().payload);
  EXPECT_THAT(payloads, UnorderedElementsAre(result("1", "[\"\xe2\x82\xac\"]"), "p",
                                             result("1", "[\"" + std::string(300, 'x') + "\"]")));
}

TEST(Frames, PingsAreAnsweredAlsoWithinAMessage) {
  GatewayProcess gateway(demo());
  WebSocketClient client(gateway.url());
  const std::string text = request("echo", "[1]");
  client.send_frame({.payload = text.substr(0, 10), .final = false});
  const std::string payloads[] = {"", std::string("\xff\x00", 2), std::string(125, 'p')};
  for (const std::string& payload : payloads) {
    client.send_frame({.opcode = Frame::kPing, .payload = payload});
    const Frame pong = client.read_frame().value();
    EXPECT_EQ(pong.opcode, Frame::kPong);
    EXPECT_EQ(pong.payload, payload);
  }
  client.send_frame({.opcode = Frame::kPong, .payload = "not asked for"});
  client.send_frame({.opcode = Frame::kContinuation, .payload = "", .final = false});
  client.send_frame({.opcode = Frame::kContinuation, .payload = text.substr(10)});
  EXPECT_EQ(client.message(), result("1", "[1]"));
}

// --- Section 7: the end --------------------------------------------------------------------------

TEST(Close, IsEchoed) {
  GatewayProcess gateway(demo());
  for (const int code : {1000, 1001, 1003, 1007, 1011, 1014, 3000, 4999}) {
    WebSocketClient client(gateway.url());
    client.send_close(code, "bye");
    client.send(request("echo", "[\"late\"]"));
    const Frame frame = client.read_frame().value();
    EXPECT_EQ(frame.opcode, Frame::kClose);
    EXPECT_EQ(frame.payload.substr(0, 2), close_payload(code));
    EXPECT_TRUE(client.ended_within(kSoon));
  }
  WebSocketClient client(gateway.url());
  client.send_frame({.opcode = Frame::kClose});
  const Frame frame = client.read_frame().value();
  EXPECT_EQ(frame.opcode, Frame::kClose);
  EXPECT_EQ(frame.payload, "");
  EXPECT_TRUE(client.ended_within(kSoon));
}

TEST(Close, CancelsWhatIsUnderWay) {
  GatewayProcess gateway(serve_one(demo_server(), "pool: { min: 1, max: 1 }"));
  WebSocketClient client(gateway.url());
  client.send(request("sleep", "[600000]"));
  await_in_flight(gateway, 1);
  client.send_close(1000);
  EXPECT_EQ(client.read_closing().code, 1000);
  await_in_flight(gateway, 0);
  EXPECT_EQ(gateway.metrics().sum("stdgate_request_duration_seconds_count",
                                  {{"outcome", "cancelled"}, {"transport", "websocket"}}),
            1);
}

// --- JSON-RPC ------------------------------------------------------------------------------------

TEST(Messages, AreAnsweredAsOverHttp) {
  GatewayProcess gateway(demo());
  const std::string add = request("math/add", "[1,2]", "1");
  const std::string note = request("math/add", "[1,2]", "");
  const std::string invalid = R"({"jsonrpc":"2.0","id":null,"error":{"code":-32600,)";
  struct Case {
    std::string sent;
    std::string answer;  // beginning of the answer; empty: no answer
  };
  const Case cases[] = {
      {"", R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,)"},
      {"{\"jsonrpc\"", R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,)"},
      {"[" + add + ",", R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,)"},
      {"[]", invalid},
      {"1", invalid},
      {R"({"jsonrpc":"2.0","id":"x","method":1})",
       R"({"jsonrpc":"2.0","id":"x","error":{"code":-32600,)"},
      {"[1]", "[" + invalid},
      {note, ""},
      {"[" + note + "," + note + "]", ""},
      {result("5", "1"), ""},  // nothing was asked
      {"[" + add + "," + note + "]", "[" + result("1", "3") + "]"},
      {request("math/add", "[1,2]", R"("\u00e9")"), result(R"("\u00e9")", "3")},
      {request("math/add", "[1,2]", "12345678901234567890"), result("12345678901234567890", "3")},
      {request("math/add", "[1,2]", "1.0"), result("1.0", "3")},
      {"\r\n{\"jsonrpc\":\"2.0\",\n\"id\":7,\"method\":\"echo\",\"params\":[ ]}\n",
       result("7", "[ ]")},
      {request("unheard of"), R"({"jsonrpc":"2.0","id":1,"error":{"code":-32601,)"},
  };
  WebSocketClient client(gateway.url());
  for (const Case& given : cases) {
    SCOPED_TRACE(given.sent);
    client.send(given.sent);
    if (!given.answer.empty()) {
      EXPECT_THAT(client.message(), StartsWith(given.answer));
    }
    // There is at most one answer: the next message answers the next call.
    EXPECT_EQ(client.call("echo", "[]", "\"next\""), result("\"next\"", "[]"));
  }
}

TEST(Messages, OfABatchAreAnsweredTogether) {
  GatewayProcess gateway(demo());
  WebSocketClient client(gateway.url());
  client.send("[" + request("sleep", "[50]", "1") + "," + request("echo", "[2]", "2") + "," +
              request("math/add", "[1,2]", "\"3\"") + ",7]");
  EXPECT_EQ(client.call("echo", "[]", "4"), result("4", "[]"));  // answered before the batch
  const std::string batch = client.message();
  EXPECT_THAT(batch, AllOf(StartsWith("["), HasSubstr(result("1", R"({"slept_ms":50})")),
                           HasSubstr(result("2", "[2]")), HasSubstr(result("\"3\"", "3")),
                           HasSubstr("-32600")));
  EXPECT_EQ(JsonValue(batch).size(""), 4U);
}

TEST(Messages, OfManyMegabytesBothWays) {
  GatewayProcess gateway(serve_one(demo_server()));
  WebSocketClient client(gateway.url());
  const std::string payload = "[\"" + std::string(5'000'000, 'x') + "\"]";
  EXPECT_TRUE(client.call("echo", payload) == result("1", payload));
}

}  // namespace
}  // namespace stdgate::harness::websocket_test

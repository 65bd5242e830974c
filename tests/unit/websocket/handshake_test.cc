#include <gtest/gtest.h>

#include <string>

#include "transports/http/http1_head.h"
#include "transports/websocket/websocket_endpoint.h"

namespace stdgate::test {
namespace {

// The example of RFC 6455, section 1.3, in parts that a case may replace.
struct Request {
  std::string line = "GET /chat HTTP/1.1";
  std::string upgrade = "Upgrade: websocket\r\n";
  std::string connection = "Connection: Upgrade\r\n";
  std::string key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
  std::string version = "Sec-WebSocket-Version: 13\r\n";
  std::string more{};

  [[nodiscard]] std::string text() const {
    return line + "\r\nHost: server.example.com\r\n" + upgrade + connection + key + version + more +
           "\r\n";
  }
};

// 101, or the status of the refusal.
int status_of(const Request& request) {
  const std::string text = request.text();
  http::Http1Head head;
  EXPECT_TRUE(head.parse(text)) << text;
  const auto handshake = websocket::read_handshake(head);
  return handshake ? 101 : handshake.error().status;
}

std::string fields_of(const Request& request) {
  const std::string text = request.text();
  http::Http1Head head;
  EXPECT_TRUE(head.parse(text)) << text;
  const auto handshake = websocket::read_handshake(head);
  return handshake ? websocket::handshake_fields(*handshake)
                   : std::string(handshake.error().more_fields);
}

TEST(Handshake, TheExampleOfTheSpecification) {
  EXPECT_EQ(websocket::accept_value("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  EXPECT_EQ(fields_of({.more = "Origin: http://example.com\r\n"
                               "Sec-WebSocket-Protocol: chat, superchat\r\n"}),
            "Upgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n");
}

TEST(Handshake, WhatIsDemanded) {
  struct Case {
    const char* what;
    Request request;
    int status;
  };
  const Case cases[] = {
      {"all", {}, 101},
      {"any case",
       {.upgrade = "UPGRADE: WebSocket\r\n", .connection = "connection: UPGRADE\r\n"},
       101},
      {"lists",
       {.upgrade = "Upgrade: h2c, websocket\r\n",
        .connection = "Connection: keep-alive, Upgrade\r\n"},
       101},
      {"several fields", {.connection = "Connection: keep-alive\r\nConnection: Upgrade\r\n"}, 101},
      {"HEAD", {.line = "HEAD / HTTP/1.1"}, 426},
      {"no Upgrade", {.upgrade = ""}, 426},
      {"another Upgrade", {.upgrade = "Upgrade: websocket2\r\n"}, 426},
      {"no Connection", {.connection = ""}, 426},
      {"another Connection", {.connection = "Connection: close\r\n"}, 426},
      {"no version", {.version = ""}, 426},
      {"another version", {.version = "Sec-WebSocket-Version: 8\r\n"}, 426},
      {"two versions", {.version = "Sec-WebSocket-Version: 13, 8\r\n"}, 426},
      {"no key", {.key = ""}, 400},
      {"two keys",
       {.key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
               "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"},
       400},
      {"15 bytes", {.key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j\r\n"}, 400},
      {"17 bytes", {.key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZTE=\r\n"}, 400},
      {"no base64", {.key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j-Q==\r\n"}, 400},
      {"extensions", {.more = "Sec-WebSocket-Extensions: permessage-deflate\r\n"}, 101},
  };
  for (const Case& c : cases) EXPECT_EQ(status_of(c.request), c.status) << c.what;
}

TEST(Handshake, RefusalsSayWhatWouldDo) {
  EXPECT_EQ(fields_of({.upgrade = ""}), "Upgrade: websocket\r\nConnection: Upgrade\r\n");
  EXPECT_EQ(fields_of({.version = ""}),
            "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n");
}

TEST(Handshake, ACredentialAloneAmongTheSubprotocolsIsNotAnswered) {
  const auto status_with = [](const std::string& offered) {
    return status_of({.more = "Sec-WebSocket-Protocol: " + offered + "\r\n"});
  };
  EXPECT_EQ(status_with("stdgate.bearer.YQ"), 400);
  EXPECT_EQ(status_with("stdgate.bearer.YQ, stdgate.bearer.Yg"), 400);
  EXPECT_EQ(status_with("stdgate.bearer.YQ, " + std::string(64, 'a')), 101);
  EXPECT_EQ(status_with("stdgate.bearer.YQ, " + std::string(65, 'a')), 400);
  EXPECT_EQ(status_with("stdgate.bearer.YQ, no(token)"), 400);
}

TEST(Handshake, TheFirstKnownSubprotocolIsTaken) {
  struct Case {
    const char* offered;
    std::string taken;
  };
  const Case cases[] = {
      {"Sec-WebSocket-Protocol: mcp\r\n", "mcp"},
      {"Sec-WebSocket-Protocol: jsonrpc, mcp\r\n", "jsonrpc"},
      {"Sec-WebSocket-Protocol: chat, mcp, jsonrpc\r\n", "mcp"},
      {"Sec-WebSocket-Protocol: chat\r\nSec-WebSocket-Protocol: jsonrpc\r\n", "jsonrpc"},
      {"Sec-WebSocket-Protocol: MCP\r\n", ""},  // names are case-sensitive
      {"Sec-WebSocket-Protocol: chat\r\n", ""},
      {"", ""},
      // If a credential is offered, the answer names any other offered protocol, and never the
      // credential.
      {"Sec-WebSocket-Protocol: stdgate.bearer.YQ, mcp\r\n", "mcp"},
      {"Sec-WebSocket-Protocol: chat, stdgate.bearer.YQ\r\n", "chat"},
      {"Sec-WebSocket-Protocol: chat, stdgate.bearer.YQ, jsonrpc\r\n", "jsonrpc"},
  };
  for (const Case& c : cases) {
    const std::string fields = fields_of({.more = c.offered});
    const std::string wanted = "\r\nSec-WebSocket-Protocol: " + c.taken + "\r\n";
    EXPECT_EQ(fields.find("Sec-WebSocket-Protocol") != std::string::npos, !c.taken.empty());
    EXPECT_EQ(fields.ends_with(wanted), !c.taken.empty()) << c.offered;
  }
}

}  // namespace
}  // namespace stdgate::test

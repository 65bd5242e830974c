// The messages that the gateway makes itself, byte for byte.
#include "gateway/rpc/message_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "gateway/rpc/envelope.h"

namespace stdgate {

namespace {

TEST(MessageTextTest, Shapes) {
  struct Case {
    std::string text;
    std::string_view shape;
    rpc::MessageKind kind;
  };
  using Kind = rpc::MessageKind;
  Case cases[] = {
      {rpc::request_text(7, "ping"), R"({"jsonrpc":"2.0","id":7,"method":"ping"})", Kind::request},
      {rpc::request_text(UINT64_MAX, "m", "{}"),
       R"({"jsonrpc":"2.0","id":18446744073709551615,"method":"m","params":{}})", Kind::request},
      {rpc::request_text(R"("a\"b")", "a/b", R"({"c": [1]})"),
       R"({"jsonrpc":"2.0","id":"a\"b","method":"a/b","params":{"c": [1]}})", Kind::request},
      {rpc::request_text("1", ""), R"({"jsonrpc":"2.0","id":1,"method":""})", Kind::request},
      {rpc::request_text("1", "a\"\\\n\xff"),
       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\\\"\\\\\\n\\ufffd\"}", Kind::request},
      {rpc::spelled_request_text("1", R"(a\/\u0062)", "[]"),
       R"({"jsonrpc":"2.0","id":1,"method":"a\/\u0062","params":[]})", Kind::request},
      {rpc::spelled_request_text("1", "a", {}), R"({"jsonrpc":"2.0","id":1,"method":"a"})",
       Kind::request},
      {rpc::notification_text("exit"), R"({"jsonrpc":"2.0","method":"exit"})", Kind::notification},
      {rpc::notification_text("a\"", "[1]"), R"({"jsonrpc":"2.0","method":"a\"","params":[1]})",
       Kind::notification},
      {rpc::result_text("1.5", "null"), R"({"jsonrpc":"2.0","id":1.5,"result":null})",
       Kind::result},
      {rpc::error_text("1", R"({"code":1,"message":"m","data":2})"),
       R"({"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":2}})", Kind::error},
      {rpc::error_text("", R"({"code":1,"message":"m"})"),
       R"({"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}})", Kind::error},
      {rpc::error_text("\"x\"", -32601, "no \"m\""),
       R"({"jsonrpc":"2.0","id":"x","error":{"code":-32601,"message":"no \"m\""}})", Kind::error},
      {rpc::response_text("1", R"("result":{})"), R"({"jsonrpc":"2.0","id":1,"result":{}})",
       Kind::result},
      {rpc::response_text("1", R"("error":{"code":1,"message":"m"})"),
       R"({"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}})", Kind::error},
  };
  for (Case& c : cases) {
    EXPECT_EQ(c.text, c.shape);
    const rpc::KnownMessage known(c.text);
    EXPECT_EQ(known.envelope().kind, c.kind) << c.shape;
    const rpc::KnownMessage own(std::move(c.text));
    EXPECT_EQ(own.envelope().text, c.shape);
  }
}

}  // namespace

// Peers that omit "jsonrpc": how the parser reads their messages, and the messages to them.

namespace {

constexpr rpc::EnvelopeLimits kLenient{.version_optional = true};

std::string without(std::string_view text) { return rpc::without_version({&text, 1}); }

// The texts of the messages as the core sees them, with "-" before each refused message.
std::string read(std::string text, const rpc::EnvelopeLimits& limits) {
  rpc::EnvelopeParser parser(limits);
  const auto document = parser.parse(text);
  if (!document) return "!";
  std::string out = document->omits_version ? "omits " : "";
  for (const rpc::ParsedMessage& message : document->messages) {
    out.append(message.ok() ? "" : "-").append(message.envelope.text);
  }
  return out;
}

TEST(VersionMemberTest, AMissingVersionIsAdded) {
  struct Case {
    std::string text;
    std::string lenient;
  };
  const Case cases[] = {
      {R"({"id":1,"method":"a"})", R"(omits {"jsonrpc":"2.0","id":1,"method":"a"})"},
      {R"( { "method" : "a" } )", R"(omits {"jsonrpc":"2.0", "method" : "a" })"},
      {R"({"id":1,"result":{}})", R"(omits {"jsonrpc":"2.0","id":1,"result":{}})"},
      {R"({"id":1,"error":{"code":1,"message":"m"}})",
       R"(omits {"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}})"},
      {R"({"jsonrpc":"2.0","method":"a"})", R"({"jsonrpc":"2.0","method":"a"})"},
      {R"([{"method":"a"},{"jsonrpc":"2.0","method":"b"},{"id":1}])",
       R"(omits {"jsonrpc":"2.0","method":"a"}{"jsonrpc":"2.0","method":"b"}-{"id":1})"},
      // A version that is present must be right.
      {R"({"jsonrpc":"1.0","method":"a"})", R"(-{"jsonrpc":"1.0","method":"a"})"},
      {R"({"jsonrpc":null,"method":"a"})", R"(-{"jsonrpc":null,"method":"a"})"},
      {R"({"\u006asonrpc":"2.0","method":"a"})", R"(-{"\u006asonrpc":"2.0","method":"a"})"},
      {R"({"method":"a","method":"b"})", R"(-{"method":"a","method":"b"})"},
      {R"({})", R"(-{})"},
      {R"({"method":"a")", "!"},
  };
  for (const Case& c : cases) EXPECT_EQ(read(c.text, kLenient), c.lenient) << c.text;
}

TEST(VersionMemberTest, StrictBackendsRefuseIt) {
  EXPECT_EQ(read(R"({"id":1,"method":"a"})", {}), R"(-{"id":1,"method":"a"})");
  EXPECT_EQ(read(R"([{"method":"a"}])", {}), R"(-{"method":"a"})");
}

TEST(VersionMemberTest, TheParserCanBeUsedAgain) {
  rpc::EnvelopeParser parser(kLenient);
  for (const std::string method : {"first", "second"}) {
    std::string text = R"({"method":")" + method + "\"}";
    const auto document = parser.parse(text);
    ASSERT_TRUE(document && document->omits_version);
    EXPECT_EQ(document->messages[0].envelope.method, method);
    std::string strict = R"({"jsonrpc":"2.0","method":"x"})";
    EXPECT_FALSE(parser.parse(strict)->omits_version);
    parser.release();
  }
}

TEST(VersionMemberTest, ItIsTakenOut) {
  struct Case {
    std::string_view text;
    std::string_view expected;
  };
  constexpr Case kCases[] = {
      {R"({"jsonrpc":"2.0","id":1,"method":"a"})", R"({"id":1,"method":"a"})"},
      {R"({"id":1,"jsonrpc":"2.0","method":"a"})", R"({"id":1,"method":"a"})"},
      {R"({"id":1,"method":"a","jsonrpc":"2.0"})", R"({"id":1,"method":"a"})"},
      {R"({ "jsonrpc" : "2.0" , "id" : 1 })", R"({ "id" : 1 })"},
      {R"({"id":1,"params":{"jsonrpc":"2.0"}})", R"({"id":1,"params":{"jsonrpc":"2.0"}})"},
      {R"([{"jsonrpc":"2.0","id":1}, {"id":2,"jsonrpc":"2.0"}])", R"([{"id":1}, {"id":2}])"},
      {"{\"jsonrpc\":\"2.0\",\"id\":1}\n", "{\"id\":1}\n"},
      {R"({"id":"}","jsonrpc":"2.0","result":[1,{"a":2}]})", R"({"id":"}","result":[1,{"a":2}]})"},
  };
  for (const Case& c : kCases) EXPECT_EQ(without(c.text), c.expected) << c.text;
}

TEST(VersionMemberTest, WhatIsTakenOutIsAddedAgain) {
  const std::string text = R"({"jsonrpc":"2.0","id":1,"method":"a","params":[1]})";
  EXPECT_EQ(read(without(text), kLenient), "omits " + text);
}

}  // namespace

}  // namespace stdgate

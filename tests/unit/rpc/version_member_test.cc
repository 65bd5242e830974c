// Messages of peers that omit "jsonrpc": what the parser makes of them, and the way back.

#include <gtest/gtest.h>

#include <string>

#include "gateway/rpc/envelope.h"
#include "gateway/rpc/message_text.h"

namespace stdgate {
namespace {

constexpr rpc::EnvelopeLimits kLenient{.version_optional = true};

std::string without(std::string_view text) { return rpc::without_version({&text, 1}); }

// The texts of the messages, as the core sees them; "-" before one that is refused.
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
      // One that is there has to be right.
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

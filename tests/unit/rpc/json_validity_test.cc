// Valid and invalid JSON (RFC 8259): a table with verdicts, the same table judged by simdjson, and
// small changes of each text judged by both.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gateway/rpc/envelope.h"
#include "tests/fuzz/json_oracle.h"
#include "tests/fuzz/mutator.h"
#include "tests/fuzz/random_seed.h"

namespace stdgate {
namespace {

using namespace std::string_view_literals;
using test::oracle_accepts;

// The limit exceeds the depth of every text here, so the depth never decides.
bool is_json(std::string_view text) {
  rpc::EnvelopeParser parser({.depth = 10000, .batch = 10000});
  // No byte follows the text, so that the address sanitizer notices a read past the end.
  std::vector<char> copy(text.begin(), text.end());
  const auto document = parser.parse(copy);
  return document || document.error().fault != rpc::Fault::parse_error;
}

constexpr std::string_view kValid[] = {
    // Structure.
    "{}",
    "[]",
    "[[]]",
    "[{}]",
    "{\"\":0}",
    "{\"a\":{}}",
    "[[],[]]",
    "[1,2]",
    "[[1],{\"a\":[2]}]",
    "{\"a\":1,\"a\":2}",
    "{\"a\":[],\"b\":{}}",
    "[[[[[[[[[[]]]]]]]]]]",
    "[{},[],{}]",
    "{\"a\":{\"b\":{\"c\":[{\"d\":1}]}}}",
    // Space.
    " {}",
    "{} ",
    "\t[\n]\r",
    "{ \"a\" : 1 , \"b\" : 2 }",
    "\r\n{\r\n\"a\"\r\n:\r\n1\r\n}\r\n",
    "[ ]",
    "[\t1\t,\t2\t]",
    "    1    ",
    // Words.
    "null",
    "true",
    "false",
    "[null,true,false]",
    "{\"null\":null}",
    // Numbers.
    "0",
    "-0",
    "1",
    "-1",
    "10",
    "1234567890",
    "0.0",
    "-0.0",
    "0.1",
    "1.5",
    "10.01",
    "1e1",
    "1E1",
    "1e+1",
    "1e-1",
    "0e0",
    "0E+0",
    "-0e-0",
    "1.0e10",
    "123.456e-789",
    "1e400",
    "-1e400",
    "1e99999",
    "12345678901234567890",
    "123456789012345678901234567890",
    "0.00000000000000000000000000000001",
    "[0]",
    "[-0,0]",
    "{\"a\":0}",
    // Strings.
    "\"\"",
    "\"a\"",
    "\" \"",
    "\"\\\"\"",
    "\"\\\\\"",
    "\"\\/\"",
    "\"/\"",
    "\"\\b\\f\\n\\r\\t\"",
    "\"\\u0000\"",
    "\"\\u0041\"",
    "\"\\uAbCd\"",
    "\"\\ud83d\\ude00\"",
    "\"\\ud800\"",
    "\"\\udc00\"",
    "\"\\ud800\\ud800\"",
    "\"\\ud800x\"",
    "\"\\\\\\\\\"",
    "\"\\\\\\\"\"",
    "\"{}[],:\"",
    "\"\x7f\"",
    "[\"\",\"\"]",
    "{\"\\u0061\":1}",
    "{\"\\\"\":\"\\\"\"}",
    "\"0123456789abcde\"",
    "\"0123456789abcdef\"",
    "\"0123456789abcdef0\"",
    "\"0123456789abcdef0123456789abcdef\"",
    // UTF-8.
    "\"\xc2\x80\"",
    "\"\xc3\xa9\"",
    "\"\xdf\xbf\"",
    "\"\xe0\xa0\x80\"",
    "\"\xe2\x82\xac\"",
    "\"\xed\x9f\xbf\"",
    "\"\xee\x80\x80\"",
    "\"\xef\xbf\xbf\"",
    "\"\xf0\x90\x80\x80\"",
    "\"\xf0\x9f\x98\x80\"",
    "\"\xf4\x8f\xbf\xbf\"",
    "\"\xef\xbb\xbf\"",
    "{\"\xc3\xa9\":1}",
};

constexpr std::string_view kInvalid[] = {
    // No text, and more than one.
    "",
    " ",
    "\n",
    "{}{}",
    "[][]",
    "1 2",
    "{} x",
    "null null",
    "[1]]",
    "{}}",
    "\"a\" \"b\"",
    "{},",
    ",",
    ":",
    "}",
    "]",
    // Structure.
    "{",
    "[",
    "[1",
    "[1,",
    "[,",
    "[,1]",
    "[1,]",
    "[1,,2]",
    "[1 2]",
    "[1:2]",
    "[1}",
    "{1}",
    "{]",
    "{\"a\"}",
    "{\"a\":}",
    "{\"a\":1,}",
    "{,}",
    "{,\"a\":1}",
    "{\"a\" 1}",
    "{\"a\"::1}",
    "{\"a\":1 \"b\":2}",
    "{\"a\":1,,\"b\":2}",
    "{\"a\",1}",
    "{a:1}",
    "{'a':1}",
    "{1:1}",
    "{null:1}",
    "{[]:1}",
    "{\"a\":1]",
    "[{]}",
    "[\"a\":1]",
    "{\"a\":{}",
    "[[[]]",
    "[{\"a\":1]}",
    // Characters that are no JSON space, and comments.
    "\v1",
    "\f1",
    "1\v",
    "[\f1]",
    "\xc2\xa0{}",
    "{}\0"sv,
    "\0"sv,
    "\0{}"sv,
    "[1,\0 2]"sv,
    "{/**/}",
    "[1]//",
    "#\n1",
    // Words.
    "nul",
    "nulll",
    "Null",
    "NULL",
    "tru",
    "True",
    "truefalse",
    "fals",
    "falsee",
    "undefined",
    "NaN",
    "Infinity",
    "-Infinity",
    "nan",
    "[tru]",
    "[nul",
    "n",
    "t",
    "f",
    // Numbers.
    "-",
    "+1",
    "--1",
    "01",
    "-01",
    "00",
    "1.",
    ".1",
    "-.1",
    "1.e1",
    "1e",
    "1e+",
    "1e-",
    "1E+-1",
    "1.2.3",
    "1e1.5",
    "1e1e1",
    "0x1",
    "1_000",
    "1,000",
    "1a",
    "0b1",
    "1f",
    "[01]",
    "[1.]",
    "[-]",
    "0e",
    "0.",
    "-0.",
    "2.e",
    "1 .5",
    // Strings.
    "\"",
    "\"a",
    "a\"",
    "'a'",
    "\"\\\"",
    "\"\\",
    "\"\\a\"",
    "\"\\'\"",
    "\"\\x41\"",
    "\"\\0\"",
    "\"\\u\"",
    "\"\\u1\"",
    "\"\\u12\"",
    "\"\\u123\"",
    "\"\\u123g\"",
    "\"\\u 123\"",
    "\"\\U0041\"",
    "\"\\u004",
    "\"\\u",
    "\"\\u00:0\"",
    "\"\\u00`0\"",
    "\"\\u00@0\"",
    "\"\\ud800\\u\"",
    "\"\n\"",
    "\"\r\"",
    "\"\t\"",
    "\"\0\""sv,
    "\"\x01\"",
    "\"\x1f\"",
    "{\"a\nb\":1}",
    "\"0123456789abcdef\n\"",
    "\"0123456789abcdef\\x\"",
    "\"\\\n\"",
    // UTF-8.
    "\xef\xbb\xbf{}",
    "\xc3\xa9",
    "\"\x80\"",
    "\"\xbf\"",
    "\"\xc0\x80\"",
    "\"\xc0\xaf\"",
    "\"\xc1\xbf\"",
    "\"\xc3\"",
    "\"\xc3(\"",
    "\"\xe2\x82\"",
    "\"\xe2(\xac\"",
    "\"\xe0\x80\x80\"",
    "\"\xe0\x9f\xbf\"",
    "\"\xed\xa0\x80\"",
    "\"\xed\xbf\xbf\"",
    "\"\xf0\x80\x80\x80\"",
    "\"\xf0\x8f\xbf\xbf\"",
    "\"\xf4\x90\x80\x80\"",
    "\"\xf5\x80\x80\x80\"",
    "\"\xf8\x88\x80\x80\x80\"",
    "\"\xfe\"",
    "\"\xff\"",
    "[\"a\",\"0123456789abcdef\xff\"]",
    "{\"\xff\":1}",
    "\"\xc3\xa9\xc3\"",
    "[\xc3\xa9]",
};

TEST(JsonTextTest, Table) {
  for (const std::string_view text : kValid) {
    EXPECT_TRUE(is_json(text)) << text;
    EXPECT_TRUE(oracle_accepts(text)) << text;
  }
  for (const std::string_view text : kInvalid) {
    EXPECT_FALSE(is_json(text)) << text;
    EXPECT_FALSE(oracle_accepts(text)) << text;
  }
}

// Each text is also judged inside the params of a message, because other code reads it there.
TEST(JsonTextTest, TableInsideOfAMessage) {
  const auto nested = [](std::string_view text) {
    return R"({"jsonrpc":"2.0","method":"m","params":[)" + std::string(text) + "],\"id\":1}";
  };
  for (const std::string_view text : kValid) EXPECT_TRUE(is_json(nested(text))) << text;
  for (const std::string_view text : kInvalid) {
    EXPECT_EQ(is_json(nested(text)), oracle_accepts(nested(text))) << text;
  }
}

TEST(JsonTextTest, EveryPrefix) {
  for (const std::string_view text : kValid) {
    for (size_t size = 0; size < text.size(); ++size) {
      const std::string_view prefix = text.substr(0, size);
      EXPECT_EQ(is_json(prefix), oracle_accepts(prefix)) << prefix;
    }
  }
}

TEST(JsonTextTest, EveryByteReplaced) {
  constexpr std::string_view kBytes = "\"\\{}[],:0-.eu \n\0\x1f\x7f\x80\xff"sv;
  for (const std::string_view text : kValid) {
    for (size_t at = 0; at < text.size(); ++at) {
      std::string changed(text);
      for (const char byte : kBytes) {
        changed[at] = byte;
        ASSERT_EQ(is_json(changed), oracle_accepts(changed)) << changed;
      }
    }
  }
}

TEST(JsonTextTest, RandomChanges) {
  test::Mutator mutator(test::random_seed());
  std::vector<std::string> texts(std::begin(kValid), std::end(kValid));
  for (int round = 0; round < 20000; ++round) {
    const size_t chosen = mutator.below(texts.size());
    std::string changed = mutator.mutate(texts[chosen]);
    const bool accepted = oracle_accepts(changed);
    ASSERT_EQ(is_json(changed), accepted) << changed;
    // A changed text that is still valid is changed further, so that the texts become unusual.
    if (accepted && changed.size() < 200) texts[chosen] = std::move(changed);
  }
}

// The parser does not recurse, so no depth overflows the stack. An unclosed array is still invalid.
TEST(JsonTextTest, VeryDeep) {
  constexpr size_t kDepth = 1'000'000;
  rpc::EnvelopeParser unlimited({.depth = kDepth});
  std::string text = std::string(kDepth, '[') + std::string(kDepth, ']');
  EXPECT_TRUE(unlimited.parse(text));
  text.pop_back();
  ASSERT_FALSE(unlimited.parse(text));
  EXPECT_EQ(unlimited.parse(text).error().fault, rpc::Fault::parse_error);
}

}  // namespace
}  // namespace stdgate

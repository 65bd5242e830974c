#include "gateway/rpc/json_text.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_scanner.h"
#include "tests/fuzz/json_oracle.h"
#include "tests/fuzz/random_seed.h"

namespace stdgate {

// Reads and writes the escapes of JSON strings.

namespace {

using namespace std::string_view_literals;

struct DecodeCase {
  std::string_view raw;
  std::string_view decoded;
};

constexpr DecodeCase kDecodeCases[] = {
    {"", ""},
    {"plain", "plain"},
    {"\xc3\xa9 \xf0\x9f\x98\x80", "\xc3\xa9 \xf0\x9f\x98\x80"},
    {R"(\"\\\/\b\f\n\r\t)", "\"\\/\b\f\n\r\t"},
    {R"(a\nb)", "a\nb"},
    {R"(\\n)", "\\n"},
    {R"(\u0041\u0062)", "Ab"},
    {R"(\u0000x)", "\0x"sv},
    {R"(\u007f\u0080\u07ff\u0800\uffff)", "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf"},
    {R"(\u00e9\u00E9)", "\xc3\xa9\xc3\xa9"},
    {R"(\ud83d\ude00)", "\xf0\x9f\x98\x80"},
    {R"(\uD800\uDC00\uDBFF\uDFFF)", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"},
    {R"(\ud800)", "\xef\xbf\xbd"},
    {R"(\udc00)", "\xef\xbf\xbd"},
    {R"(\ud800x)", "\xef\xbf\xbdx"},
    {R"(\ud800\n)", "\xef\xbf\xbd\n"},
    {R"(\ud800\u0041)", "\xef\xbf\xbd\x41"},
    {R"(\ud800\ud83d\ude00)", "\xef\xbf\xbd\xf0\x9f\x98\x80"},
    {R"(\ude00\ud83d)", "\xef\xbf\xbd\xef\xbf\xbd"},
    {R"(tools\/call)", "tools/call"},
};

TEST(JsonStringTest, Decode) {
  std::string scratch;
  for (const DecodeCase& c : kDecodeCases) EXPECT_EQ(rpc::decode_string(c.raw, scratch), c.decoded);
}

TEST(JsonStringTest, DecodeCopiesOnlyWhatHasEscapes) {
  std::string scratch;
  const std::string_view raw = "initialize";
  EXPECT_EQ(rpc::decode_string(raw, scratch).data(), raw.data());
  EXPECT_EQ(rpc::decode_string(R"(a\u0062)", scratch).data(), scratch.data());
}

TEST(JsonStringTest, Equals) {
  for (const DecodeCase& c : kDecodeCases) {
    EXPECT_TRUE(rpc::json_string_equals(c.raw, c.decoded)) << c.raw;
    EXPECT_FALSE(rpc::json_string_equals(c.raw, std::string(c.decoded) + "x")) << c.raw;
    if (c.decoded.empty()) continue;
    EXPECT_FALSE(rpc::json_string_equals(c.raw, c.decoded.substr(1))) << c.raw;
    EXPECT_FALSE(rpc::json_string_equals(c.raw, c.decoded.substr(0, c.decoded.size() - 1)))
        << c.raw;
  }
  EXPECT_FALSE(rpc::json_string_equals("id", "ID"));
  EXPECT_FALSE(rpc::json_string_equals(R"(\n)", R"(\n)")) << "two characters";
  EXPECT_FALSE(rpc::json_string_equals(R"(a\u0062)", R"(a\u0062)"));
}

TEST(JsonStringTest, Resembles) {
  for (const char* raw : {"params", "Params", "PARAMS", "param\u017f", R"(\u0050arams)",
                          R"(param\u017F)", R"(p\u0041rams)"}) {
    EXPECT_TRUE(rpc::json_string_resembles(raw, "params")) << raw;
  }
  for (const char* raw : {"", "param", "paramss", "par\u00e4ms", "para_s", R"(param\u00df)"}) {
    EXPECT_FALSE(rpc::json_string_resembles(raw, "params")) << raw;
  }
  EXPECT_TRUE(rpc::json_string_resembles("uritemplate", "uriTemplate"));
  EXPECT_TRUE(rpc::json_string_resembles("\u212aey", "key"));
  EXPECT_TRUE(rpc::json_string_resembles("ur\u0130", "uri"));
  EXPECT_TRUE(rpc::json_string_resembles("ur\u0131", "uri"));
}

TEST(JsonStringTest, Append) {
  struct Case {
    std::string_view text;
    std::string_view json;
  };
  const Case cases[] = {
      {"", R"("")"},
      {"plain \x7f", R"("plain \u007f")"},
      // Characters with a meaning for terminals: controls, and changes of direction.
      {"\x1b[2J\xc2\x9b\xe2\x80\xae", R"("\u001b[2J\u009b\u202e")"},
      {"\"\\/", R"("\"\\/")"},
      {"a\nb\rc\td", R"("a\nb\rc\td")"},
      {"\0\x01\x1f\b"sv, R"("\u0000\u0001\u001f\u0008")"},
      {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
      {"\xc2\xa0\xdf\xbf", "\"\xc2\xa0\xdf\xbf\""},
      {"\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80", "\"\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\""},
      {"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", "\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\""},
      {"a\xff z", "\"a\\ufffd z\""},
      {"\x80", "\"\\ufffd\""},
      {"\xc0\xaf", "\"\\ufffd\\ufffd\""},
      {"\xc1\xbf", "\"\\ufffd\\ufffd\""},
      {"\xc3", "\"\\ufffd\""},
      {"\xc3(", "\"\\ufffd(\""},
      {"\xe2\x82", "\"\\ufffd\\ufffd\""},
      {"\xe0\x9f\xbf", "\"\\ufffd\\ufffd\\ufffd\""},
      {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""},
      {"\xf0\x8f\xbf\xbf", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
      {"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
      {"\xf5\x80\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
  };
  for (const Case& c : cases) {
    std::string out = "x";
    rpc::append_json_string(out, c.text);
    EXPECT_EQ(out, "x" + std::string(c.json));
  }
}

TEST(JsonStringTest, WhatIsAppendedIsDecodedAgain) {
  std::string text;
  for (int byte = 0; byte < 128; ++byte) text += static_cast<char>(byte);
  text += "\xc3\xa9\xf0\x9f\x98\x80";
  std::string json;
  rpc::append_json_string(json, text);
  std::string scratch;
  EXPECT_EQ(rpc::decode_string(std::string_view(json).substr(1, json.size() - 2), scratch), text);
}

// Each special byte stands at each distance from the start and the end. That covers the wide steps,
// the words and the single bytes.
TEST(JsonStringTest, FindSpecialAtEveryPlace) {
  for (size_t size = 0; size < 70; ++size) {
    std::string text(size, 'a');
    const char* end = text.data() + size;
    uint64_t non_ascii = 0;
    ASSERT_EQ(rpc::find_string_special(text.data(), end, non_ascii), end);
    for (size_t at = 0; at < size; ++at) {
      for (const char special : "\"\\\x00\x01\n\x1f"sv) {
        text[at] = special;
        ASSERT_EQ(rpc::find_string_special(text.data(), end, non_ascii), text.data() + at)
            << size << " " << at << " " << int{special};
      }
      ASSERT_EQ(non_ascii, 0u);
      for (const char plain : " !#[]\x7f"sv) {
        text[at] = plain;
        ASSERT_EQ(rpc::find_string_special(text.data(), end, non_ascii), end) << int{plain};
      }
      ASSERT_EQ(non_ascii, 0u);
      text[at] = '\x80';
      ASSERT_EQ(rpc::find_string_special(text.data(), end, non_ascii), end);
      ASSERT_NE(non_ascii, 0u) << size << " " << at;
      non_ascii = 0;
      text[at] = 'a';
    }
  }
}

// --- JsonWriter: the same document in both layouts.

std::string write(rpc::JsonWriter::Layout layout) {
  rpc::JsonWriter json(layout);
  json.begin_object();
  json.text("a\"b", "c\n");
  json.begin_array("list");
  json.number({}, 1);
  json.raw({}, "null");
  json.begin_object();
  json.end_object();
  json.end_array();
  json.begin_array("none");
  json.end_array();
  json.boolean("is", true);
  json.end_object();
  return json.take();
}

TEST(JsonWriter, Compact) {
  EXPECT_EQ(write(rpc::JsonWriter::Layout::compact),
            R"({"a\"b":"c\n","list":[1,null,{}],"none":[],"is":true})");
}

TEST(JsonWriter, Lines) {
  EXPECT_EQ(write(rpc::JsonWriter::Layout::lines), R"({
  "a\"b": "c\n",
  "list": [
    1,
    null,
    {}
  ],
  "none": [],
  "is": true
})");
}

TEST(JsonString, KeysThatResembleEachOtherFoldToTheSame) {
  for (const std::string_view raw :
       {"params", "PARAMS", "param\u017f", "param\\u017F", R"(\u0050arams)"}) {
    EXPECT_EQ(rpc::folded_key(raw), "params") << raw;
    EXPECT_TRUE(rpc::json_string_resembles(raw, "params")) << raw;
  }
  EXPECT_NE(rpc::folded_key("param"), "params");
  EXPECT_NE(rpc::folded_key("params\\u0000"), "params");
  EXPECT_EQ(rpc::folded_key(""), "");
}

}  // namespace

// Cuts elements out of an array. The remaining text is unchanged.

namespace {

// Keeps elements without an 'x'.
struct NoX final : rpc::ElementFilter {
  bool keeps(std::string_view element) override {
    seen.emplace_back(element);
    return element.find('x') == std::string_view::npos;
  }
  std::vector<std::string> seen;
};

std::string cut(std::string_view object, const rpc::MemberReplacement& replacement = {}) {
  NoX filter;
  std::string out = "before ";
  const bool changed = rpc::cut_elements(object, "list", filter, replacement, out);
  EXPECT_EQ(changed, out != "before ");
  return changed ? out.substr(7) : "unchanged";
}

TEST(JsonCut, TakesElementsOut) {
  struct Case {
    std::string_view object;
    std::string_view cut;
  };
  const Case cases[] = {
      {R"({})", "unchanged"},
      {R"([])", "unchanged"},
      {R"("list")", "unchanged"},
      {R"({"list":[]})", "unchanged"},
      {R"({"list":[ ]})", "unchanged"},
      {R"({"list":["a","b"]})", "unchanged"},
      {R"({"list":"x"})", "unchanged"},
      {R"({"list":{"list":["x"]}})", "unchanged"},
      {R"({"a":["x"],"b":{"list":["x"]}})", "unchanged"},
      {R"({"List":["x"]})", "unchanged"},
      {R"({"list":["x"]})", R"({"list":[]})"},
      {R"({"list":["x","a"]})", R"({"list":["a"]})"},
      {R"({"list":["a","x"]})", R"({"list":["a"]})"},
      {R"({"list":["a","x","b"]})", R"({"list":["a","b"]})"},
      {R"({"list":["x","x","x"]})", R"({"list":[]})"},
      {R"({"list":["x","a","x","b","x"]})", R"({"list":["a","b"]})"},
      {R"({"list":["x","x","a"]})", R"({"list":["a"]})"},
      {"{ \"list\" : [ \"x\" , \"a\" ] }", "{ \"list\" : [   \"a\" ] }"},
      {"{ \"list\" : [ \"a\" , \"x\" ] }", "{ \"list\" : [ \"a\"  ] }"},
      {R"({"\u006cist":["x"]})", R"({"\u006cist":[]})"},
      {R"({"n":1,"list":[{"k":["x",{"a":"]"}]},{"k":"[,"}],"z":"x"})",
       R"({"n":1,"list":[{"k":"[,"}],"z":"x"})"},
      {R"({"list":["x"],"list":["a","x"]})", R"({"list":[],"list":["a"]})"},
      {R"({"list":[1,true,"x",null,-1e5]})", R"({"list":[1,true,null,-1e5]})"},
      {R"({"list":["\\","\"x","\"]"]})", R"({"list":["\\","\"]"]})"},
  };
  for (const Case& c : cases) EXPECT_EQ(cut(c.object), c.cut) << c.object;
}

TEST(JsonCut, ReplacesAMemberThatIsThere) {
  const rpc::MemberReplacement to_private{"scope", R"("private")"};
  EXPECT_EQ(cut(R"({"scope":"public","list":["a"]})", to_private),
            R"({"scope":"private","list":["a"]})");
  EXPECT_EQ(cut(R"({"list":["x"], "scope" : 5 })", to_private),
            R"({"list":[], "scope" : "private" })");
  EXPECT_EQ(cut(R"({"scope":"private","list":["a"]})", to_private), "unchanged");
  EXPECT_EQ(cut(R"({"list":["a"]})", to_private), "unchanged");
  EXPECT_EQ(cut(R"({"scope":1,"sc\u006fpe":2})", to_private),
            R"({"scope":"private","sc\u006fpe":"private"})");
}

TEST(JsonCut, ElementsAreShownWithoutTheSpaceAround) {
  NoX filter;
  std::string out;
  rpc::cut_elements("{\"list\":[ 1 ,\t{ } , \"a\" ]}", "list", filter, {}, out);
  EXPECT_EQ(filter.seen, (std::vector<std::string>{"1", "{ }", "\"a\""}));
}

// Compares the result with a list that was made without these elements.
TEST(JsonCut, RandomLists) {
  const uint64_t seed = test::random_seed();
  std::mt19937_64 random(seed);
  const std::vector<std::string> elements = {
      R"("a")", R"("x")", R"({"n":"x"})", R"({"n":[1,2,"}"]})", "[]",  R"(["x"])",
      "1",      "null",   R"("\"x\"")",   R"("\u0041,")",       "{ }", R"({"x":{"list":["x"]}})"};
  const std::vector<std::string> spaces = {"", "", "", " ", "\t ", "  "};
  const auto pick = [&random](const std::vector<std::string>& from) {
    return from[random() % from.size()];
  };
  for (int round = 0; round < 3000; ++round) {
    std::string text = R"({"a":1,"list":[)" + pick(spaces);
    std::vector<std::string> kept;
    const size_t count = random() % 6;
    for (size_t i = 0; i < count; ++i) {
      const std::string element = pick(elements);
      if (i > 0) text += "," + pick(spaces);
      text += element + pick(spaces);
      if (element.find('x') == std::string::npos) kept.push_back(element);
    }
    text += R"(],"z":"x"})";
    NoX filter;
    std::string out;
    if (!rpc::cut_elements(text, "list", filter, {}, out)) out = text;
    ASSERT_TRUE(test::oracle_accepts(out)) << "seed " << seed << ": " << text << " became " << out;
    NoX again;
    std::string rest;
    ASSERT_FALSE(rpc::cut_elements(out, "list", again, {}, rest)) << text;
    ASSERT_EQ(again.seen, kept) << "seed " << seed << ": " << text;
    ASSERT_TRUE(out.starts_with(R"({"a":1,"list":[)") && out.ends_with(R"(],"z":"x"})")) << out;
  }
}

}  // namespace

}  // namespace stdgate

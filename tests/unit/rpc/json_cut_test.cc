// Cutting elements out of an array: what stays is as it was.

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"
#include "tests/fuzz/json_oracle.h"
#include "tests/fuzz/random_seed.h"

namespace stdgate {
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

// Against a list that was put together without the elements in the first place.
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

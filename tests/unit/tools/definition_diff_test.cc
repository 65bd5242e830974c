// The diff of a changed definition, and the parts that a person should check carefully.
#include "gateway/tools/definition_diff.h"

#include <gmock/gmock.h>

#include <string>
#include <string_view>
#include <vector>

namespace stdgate {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using tools::definition_diff;
using tools::marks_of;

TEST(DefinitionDiff, ShowsWhatHasChangedWordByWord) {
  struct Case {
    std::string_view before;
    std::string_view after;
    std::vector<std::string> lines;
  };
  const Case cases[] = {
      {R"({"name":"a"})", R"({"name":"a"})", {}},
      {"", R"({"name":"a"})", {"/name: {+a+}"}},
      {R"({"name":"a"})", "", {"/name: [-a-]"}},
      {R"({"d":"read a file"})",
       R"({"d":"read any file twice"})",
       {"/d: read [-a file-]{+any file twice+}"}},
      {R"({"d":"x"})", R"({"d":5})", {"/d: [-x-]{+5+}"}},
      {R"({"d":[1,2]})", R"({"d":[1,3,4]})", {"/d/1: [-2-]{+3+}", "/d/2: {+4+}"}},
      {R"({"a/b":{"c~":true}})", R"({"a/b":{"c~":false}})", {"/a~1b/c~0: [-true-]{+false+}"}},
      {R"({"d":{}})", R"({"d":[]})", {"/d: [-{}-]{+[]+}"}},
      {R"({"d":"a"})", R"({"d":"a\u001b[2J"})", {"/d: [-a-]{+a\\u001b[2J+}"}},
      {R"({"d":"ab"})", R"({"d":"a\u202eb"})", {"/d: [-ab-]{+a<U+202E>b+}"}},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(definition_diff(one.before, one.after), one.lines) << one.before << one.after;
  }
}

TEST(DefinitionDiff, AnEmptyTextIsSeen) {
  EXPECT_THAT(definition_diff(R"({"n":"a"})", R"({"n":"a","t":""})"), ElementsAre("/t: {++}"));
  EXPECT_THAT(definition_diff(R"({"n":"a","t":""})", R"({"n":"a"})"), ElementsAre("/t: [--]"));
}

TEST(DefinitionDiff, LongTextsAreShownWhole) {
  std::string before = "x";
  for (size_t i = 0; i < tools::kMaxDiffWords; ++i) before += " w";
  const auto lines =
      definition_diff("{\"d\":\"" + before + "\"}", "{\"d\":\"" + before + " more\"}");
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], testing::StartsWith("/d: [-x w w"));
}

TEST(DefinitionMarks, TellWhatToLookAtTwice) {
  struct Case {
    std::string_view definition;
    std::string_view mark;
  };
  const Case cases[] = {
      {R"({"d":"a\u200bb"})", "/d: an invisible character, U+200B"},
      {R"({"d":"a\u202eb"})", "/d: a character that turns the direction of text, U+202E"},
      {R"({"d":"a\udb40\udc41"})", "/d: a tag, which only a model reads, U+E0041"},
      {R"({"d":"<!-- x -->"})", "/d: markup, <!--"},
      {R"({"d":"Ignore previous words"})",
       R"(/d: text that addresses the model, "ignore previous")"},
      {R"({"d":"IGNORE\n  previous"})", R"(/d: text that addresses the model, "ignore previous")"},
      {R"({"d":"ignore previous"})", R"(/d: text that addresses the model, "ignore previous")"},
      {R"({"d":"ig\u200bnore previous"})",
       R"(/d: text that addresses the model, "ignore previous")"},
      {R"({"you must":1})", R"(/you must: text that addresses the model, "you must")"},
      {R"({"d":"\u3164"})", "/d: an invisible character, U+3164"},
      {R"({"d":"\u2800"})", "/d: an invisible character, U+2800"},
  };
  for (const Case& one : cases) {
    EXPECT_THAT(marks_of(one.definition), Contains(one.mark)) << one.definition;
  }
  EXPECT_THAT(marks_of(R"({"name":"read","description":"Reads a file, ümläut and 漢字."})"),
              IsEmpty());
}

// Many harmless marks could hide an important one.
TEST(DefinitionMarks, OfManySaysThatThereAreMore) {
  const auto with = [](size_t count) {
    std::string definition = "{\"z\":1";
    for (size_t i = 0; i < count; ++i) definition += ",\"" + std::to_string(i) + "\":\"you must\"";
    return marks_of(definition + "}");
  };
  EXPECT_THAT(with(tools::kMaxDefinitionMarks), SizeIs(tools::kMaxDefinitionMarks));
  const auto more = with(tools::kMaxDefinitionMarks + 1);
  EXPECT_THAT(more, SizeIs(tools::kMaxDefinitionMarks + 1));
  EXPECT_THAT(more.back(), HasSubstr("more"));
}

}  // namespace
}  // namespace stdgate

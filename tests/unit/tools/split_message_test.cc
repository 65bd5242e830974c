#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gateway/tools/conversation.h"

namespace stdgate::tools {
namespace {

// The texts that are found, with "|" for their line breaks.
std::vector<std::string> found(const std::vector<std::string>& lines) {
  SplitMessage split;
  std::vector<std::string> texts;
  for (const std::string& line : lines) {
    if (!split.take(line)) continue;
    texts.push_back(split.text());
    for (char& c : texts.back()) c = c == '\n' ? '|' : c;
  }
  return texts;
}

TEST(SplitMessage, IsFoundBetweenOtherLines) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(found({"noise", "{", "  \"a\": [", "    {}", "  ]", "}", "{\"b\":1}"}),
            Texts{"{|  \"a\": [|    {}|  ]|}|"});
  EXPECT_EQ(found({"{\"a\":1}", "[1]", "noise {", "}"}), Texts{});
  EXPECT_EQ(found({"{\"a\": \"}\\\"}{\",", "\"b\": 1}"}), Texts{"{\"a\": \"}\\\"}{\",|\"b\": 1}|"});
  EXPECT_EQ(found({"[", "{", "}", "]", "{", "}"}), (Texts{"[|{|}|]|", "{|}|"}));
}

TEST(SplitMessage, HasALimit) {
  // With a bracket and a line break it is half of the limit.
  const std::string half(SplitMessage::kMaxSize / 2 - 2, ' ');
  EXPECT_EQ(found({"{" + half, half + "}"}).size(), 1U);
  EXPECT_EQ(found({"{" + half, half + " }"}).size(), 0U);
  EXPECT_EQ(found({"{" + half, half + " }", "{", "}"}).size(), 1U) << "the next one is found";
}

}  // namespace
}  // namespace stdgate::tools

#include "gateway/schema/text_pattern.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>

namespace stdgate {
namespace {

using schema::TextPattern;

TEST(TextPattern, MatchesAsEcmaScriptDoes) {
  struct Case {
    std::string_view pattern;
    std::string_view text;
    bool matches;
  };
  const Case cases[] = {
      {"^a*$", "aaa", true},
      {"^a*$", "abc", false},
      {"a+", "xxaayy", true},
      {R"(^\d{4}-\d{2}$)", "2026-11", true},
      {R"(^\d$)", "\xd9\xa1", false},  // an Arabic digit
      {R"(^\s$)", "\xc2\xa0", true},
      {R"(^\S$)", "\xc2\xa0", false},
      {R"(^[\s\d]+$)", "1 2", true},
      {R"(^\u0061\x62\cA$)", "ab\x01", true},
      {R"(^\ud83d\ude00$)", "\xf0\x9f\x98\x80", true},
      {R"(^\u{1f600}$)", "\xf0\x9f\x98\x80", true},
      {R"(^\p{Letter}+$)", "\xc3\xa4x", true},
      {R"(^\p{Script=Greek}$)", "\xce\xb1", true},
      {"^.$", "\n", false},
      {"^.$", "\xc3\xa4", true},
      {"^a$", "a\n", false},
      {"^[^]$", "x", true},
      {"[]", "x", false},
      {R"(^[\w.-]+\/x$)", "a-b.c/x", true},
      {"^(?:a|b)(?<n>c)$", "bc", true},
      {"^[[]$", "[", true},
      {R"(^\0$)", std::string_view("\0", 1), true},
  };
  for (const auto& [pattern, text, matches] : cases) {
    const auto compiled = TextPattern::compile(pattern);
    ASSERT_TRUE(compiled) << pattern << ": " << compiled.error();
    EXPECT_EQ(compiled->matches(text), matches) << pattern << " and " << text;
  }
}

TEST(TextPattern, RefusesWhatNeedsBacktrackingOrIsBroken) {
  for (const std::string_view pattern :
       {"(?=a)", "(?!a)", "(?<=a)b", "(?<!a)b", R"((a)\1)", R"((?<n>a)\k<n>)", "(a", "[a", "a{2,1}",
        R"(\)", R"(\u12)", R"(\q)", "((a{100}){100}){100}"}) {
    EXPECT_FALSE(TextPattern::compile(pattern)) << pattern;
  }
  EXPECT_FALSE(TextPattern::compile(std::string(TextPattern::kMaxExpression + 1, 'a')));
}

TEST(TextPattern, TakesLinearTime) {
  const std::string text(1 << 20, 'a');
  for (const std::string_view pattern :
       {"^(a+)+$", "^(a|a)*b$", "(x+x+)+y", "^(a*)*b", "a{1,50}b"}) {
    const auto compiled = TextPattern::compile(pattern);
    ASSERT_TRUE(compiled) << pattern;
    const auto start = std::chrono::steady_clock::now();
    (void)compiled->matches(text);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5)) << pattern;
  }
}

}  // namespace
}  // namespace stdgate

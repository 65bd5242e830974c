#include "gateway/schema/text_pattern.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>

namespace stdgate {
namespace {

using schema::TextPattern;

auto compile(std::string_view pattern) {
  size_t programs = 0;
  return TextPattern::compile(pattern, programs);
}

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
      // Look-ahead from the beginning.
      {R"(^(?=.*[a-z])(?=.*\d)[^ ]{4,}$)", "abc1", true},
      {R"(^(?=.*[a-z])(?=.*\d)[^ ]{4,}$)", "abcd", false},
      {R"(^(?=.*[a-z])(?=.*\d)[^ ]{4,}$)", "ab1", false},
      {R"(^(?!\.)(?!.*\.\.)([\w.]*)\w@(\w+\.)+[a-z]{2,}$)", "a.b@c.de", true},
      {R"(^(?!\.)(?!.*\.\.)([\w.]*)\w@(\w+\.)+[a-z]{2,}$)", ".b@c.de", false},
      {R"(^(?!\.)(?!.*\.\.)([\w.]*)\w@(\w+\.)+[a-z]{2,}$)", "a..b@c.de", false},
      {"^(?=.{1,3}$)", "abc", true},
      {"^(?=.{1,3}$)", "abcd", false},
      {R"(^(?!a|[)\]]|\)|(b|c))x?)", "x", true},
      {R"(^(?!a|[)\]]|\)|(b|c))x?)", "c", false},
      {R"(^(?!a|[)\]]|\)|(b|c))x?)", ")", false},
      {R"(^(?!a|[)\]]|\)|(b|c))x?)", "]", false},
      {"^(?=a)(b|a)", "ab", true},
      {"^(?!a)", "", true},
      {"^(?!$)", "", false},
  };
  for (const auto& [pattern, text, matches] : cases) {
    const auto compiled = compile(pattern);
    ASSERT_TRUE(compiled) << pattern << ": " << compiled.error();
    EXPECT_EQ(compiled->matches(text), matches) << pattern << " and " << text;
  }
}

TEST(TextPattern, RefusesWhatNeedsBacktrackingOrIsBroken) {
  for (const std::string_view pattern :
       {"(?=a)", "(?!a)", "^(?=a)b|c", "^(?=a)*b", "^a(?=b)", "^(?=(?=a))", "^(?=a",
        R"(^(?=(a)\1))", "(?<=a)b", "(?<!a)b", R"((a)\1)", R"((?<n>a)\k<n>)", "(a", "[a", "a{2,1}",
        R"(\)", R"(\u12)", R"(\q)", "((a{100}){100}){100}"}) {
    EXPECT_FALSE(compile(pattern)) << pattern;
  }
  EXPECT_FALSE(compile(std::string(TextPattern::kMaxExpression + 1, 'a')));
}

TEST(TextPattern, LooksAheadAFewTimes) {
  std::string pattern = "^";
  for (size_t i = 0; i < TextPattern::kMaxAheads; ++i) pattern += "(?=a)";
  EXPECT_TRUE(compile(pattern));
  EXPECT_FALSE(compile(pattern + "(?=a)"));
}

TEST(TextPattern, WhatIsTooLargeHasCostSomething) {
  for (const std::string_view pattern : {"^a{900}", "a{1000}|b{1000}", "([^a]{30}){30}"}) {
    size_t programs = 7;
    (void)TextPattern::compile(pattern, programs);
    EXPECT_GT(programs, 900U) << pattern;
  }
}

// All parts of the pattern add to its cost.
TEST(TextPattern, LookingAheadCosts) {
  const auto one = compile("^a{900}");
  const auto two = compile("^(?=b{900})a{900}");
  ASSERT_TRUE(one && two);
  EXPECT_GT(two->cost(1000), one->cost(1000) * 3 / 2);
  EXPECT_GE(two->bytes(), one->bytes() + TextPattern::kMaxMemory / 2);
  EXPECT_FALSE(compile("^(?=b{900})(?=c{900})a{900}"));
}

TEST(TextPattern, TakesLinearTime) {
  const std::string text(1 << 20, 'a');
  for (const std::string_view pattern :
       {"^(a+)+$", "^(a|a)*b$", "(x+x+)+y", "^(a*)*b", "a{1,50}b", "^(?=(a+)+$)(?!(a*)*b)a"}) {
    const auto compiled = compile(pattern);
    ASSERT_TRUE(compiled) << pattern;
    const auto start = std::chrono::steady_clock::now();
    (void)compiled->matches(text);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5)) << pattern;
  }
}

}  // namespace
}  // namespace stdgate

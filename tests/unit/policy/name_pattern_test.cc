// Patterns of names, and which names everybody reads in the same way.

#include <gtest/gtest.h>

#include <string>

#include "gateway/policy/rules.h"

namespace stdgate {
namespace {

using namespace std::string_view_literals;

TEST(NamePattern, Matches) {
  struct Case {
    std::string_view pattern;
    std::string_view name;
    bool matches;
  };
  const Case cases[] = {
      {"read", "read", true},
      {"read", "reads", false},
      {"read", "rea", false},
      {"read", "Read", false},
      {"", "", true},
      {"", "a", false},
      {"*", "", true},
      {"*", "anything/at all", true},
      {"**", "a", true},
      {"read_*", "read_", true},
      {"read_*", "read_file", true},
      {"read_*", "xread_file", false},
      {"*_file", "read_file", true},
      {"*_file", "read_file_", false},
      {"*a*b*", "xxaxxbxx", true},
      {"*a*b*", "xxbxxaxx", false},
      {"a*b", "ab", true},
      {"a*b", "aXbXb", true},
      {"a*b", "aXbX", false},
      {"a*bc*d", "abcbcd", true},
      {"file:///srv/*.txt", "file:///srv/a/b.txt", true},
      {"a?c", "abc", false},
      {"a?c", "a?c", true},
      {"[a]", "a", false},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(policy::matches(c.pattern, c.name), c.matches) << c.pattern << " " << c.name;
  }
}

TEST(NamePattern, TakesNoTimeForManyStars) {
  std::string pattern;
  for (int i = 0; i < 30; ++i) pattern += "*a";
  pattern += "*b";
  const std::string name(policy::kMaxPlainName, 'a');
  EXPECT_FALSE(policy::matches(pattern, name));
}

TEST(NamePattern, AnyOfSeveral) {
  EXPECT_TRUE(policy::matches_any({"a", "b*"}, "bc"));
  EXPECT_FALSE(policy::matches_any({"a", "b*"}, "c"));
  EXPECT_FALSE(policy::matches_any({}, ""));
}

TEST(PlainName, HasNoControlCharacters) {
  for (const std::string_view plain : {"read"sv, "a b"sv, "\u00e4"sv, "a/b"sv}) {
    EXPECT_TRUE(policy::is_plain_name(plain)) << plain;
  }
  for (const std::string_view odd : {""sv, "a\0b"sv, "read\0"sv, "a\n"sv, "\x7f"sv}) {
    EXPECT_FALSE(policy::is_plain_name(odd)) << odd;
  }
  EXPECT_TRUE(policy::is_plain_name(std::string(policy::kMaxPlainName, 'a')));
  EXPECT_FALSE(policy::is_plain_name(std::string(policy::kMaxPlainName + 1, 'a')));
}

TEST(PlainUri, CannotBeReadAsAnotherOne) {
  for (const std::string_view plain :
       {"file:///srv/a.txt", "file:///", "memo://x", "memo", "urn:a:b", "https://h/a?b=..c#.d",
        "https://h/a?b=c//d/#e//f", "file:///a%20b", "file:///{path}", "file:///%C3%A4",
        "custom://host", "file:///a..b/.c/d."}) {
    EXPECT_TRUE(policy::is_plain_uri(plain)) << plain;
  }
  for (const std::string_view odd : {"",
                                     "file:///srv/../etc",
                                     "file:///..",
                                     "file:///srv/./a",
                                     "file:///srv/.",
                                     "file:////etc",
                                     "file:///srv//a",
                                     "FILE:///srv",
                                     "file:///srv/%2e%2e/etc",
                                     "file:///%65tc",
                                     "file:///a%2Fb",
                                     "file:///a%5cb",
                                     "file:///a\\b",
                                     "file:///a%",
                                     "file:///a%4",
                                     "file:///a%zz",
                                     "file:///a%2",
                                     "file:///a%25",
                                     "file:///a%00",
                                     "file:///a\nb",
                                     "../etc",
                                     "file:///open/x?/../../secret/b",
                                     "file:///open/x#/../../secret/b",
                                     "file:///open/x?y#/../../secret/b",
                                     "file:///open/x?/./b",
                                     "file:///open/x?..",
                                     "file:///open/..?x",
                                     "file:///secret?/../secret/b",
                                     "file:///open#../b",
                                     "a//b"}) {
    EXPECT_FALSE(policy::is_plain_uri(odd)) << odd;
  }
}

}  // namespace
}  // namespace stdgate

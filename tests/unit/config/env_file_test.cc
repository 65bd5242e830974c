// Files of environment variables: what is read, and what is said of a bad line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/config/environment_variables.h"

namespace stdgate {
namespace {

using Variables = std::map<std::string, std::string>;

TEST(EnvFile, Reads) {
  const std::pair<std::string_view, Variables> cases[] = {
      {"", {}},
      {"\n \n\t\n# A=1\n   # B=2\n", {}},
      {"A=1", {{"A", "1"}}},
      {"A=1\nB=2\n", {{"A", "1"}, {"B", "2"}}},
      {"A=1\r\nB=\"2\"\r\n", {{"A", "1"}, {"B", "2"}}},
      {"\xef\xbb\xbf"
       "A=1\n",
       {{"A", "1"}}},
      {"A=", {{"A", ""}}},
      {"A=''\nB=\"\"\n", {{"A", ""}, {"B", ""}}},
      {"  A = a b  \n", {{"A", "a b"}}},
      {"export A=1\nexport\tB=2\nexported=3\nexport=4\n",
       {{"A", "1"}, {"B", "2"}, {"exported", "3"}, {"export", "4"}}},
      {"A=b=c==\n", {{"A", "b=c=="}}},
      {"A=a#b # c\nB=#c\nC=a\t#\n", {{"A", "a#b"}, {"B", ""}, {"C", "a"}}},
      {"A='a # \"b\" \\n $X' # c\n", {{"A", "a # \"b\" \\n $X"}}},
      {R"(A="a # 'b' \n\r\t\"\\\$ \x" # c)", {{"A", "a # 'b' \n\r\t\"\\$ \\x"}}},
      {"A=$HOME ${X} $(y)\n", {{"A", "$HOME ${X} $(y)"}}},
      {"A=it's\n", {{"A", "it's"}}},
      {"A=1\nA=2\n", {{"A", "2"}}},
      {"a.b-c_1=\xff\n", {{"a.b-c_1", "\xff"}}},
      {"_=1", {{"_", "1"}}},
  };
  for (const auto& [text, variables] : cases) {
    const auto read = config::parse_env_file(text);
    ASSERT_TRUE(read) << text << ": " << read.error().at(0).message;
    EXPECT_EQ(*read, variables) << text;
  }
}

TEST(EnvFile, SaysWhatIsWrongAndWhereWithoutTheValue) {
  const std::string expected = "expected NAME=VALUE";
  const std::string name =
      "expected NAME=VALUE; a name has letters, digits, '_', '.' and '-', and begins with no digit";
  const std::string open =
      "A: the value's quote is not closed on its line; \"\\n\" between double quotes is a line "
      "feed";
  const std::string behind = "A: only a comment may stand behind the closing quote";
  struct Case {
    std::string_view text;
    int line;
    std::string message;
  };
  const Case cases[] = {
      {"A=1\n\n#\nsecret\n", 4, expected},
      {"=secret", 1, name},
      {"1A=secret", 1, name},
      {"A B=secret", 1, name},
      {"A$=secret", 1, name},
      {"A=1\nA=\"secret", 2, open},
      {"A='secret\nx'", 1, open},
      {"A=\"secret\\\"", 1, open},
      {"A=\"", 1, open},
      {"A='secret'secret", 1, behind},
      {"A='secret' secret", 1, behind},
      {std::string_view("A=1\nB=\0", 7), 2, "must not hold a NUL byte"},
  };
  for (const auto& [text, line, message] : cases) {
    const auto read = config::parse_env_file(text);
    ASSERT_FALSE(read) << text;
    const config::EnvFileError& error = read.error().at(0);
    EXPECT_EQ(error.line, line) << text;
    EXPECT_EQ(error.message, message) << text;
    EXPECT_THAT(error.message, testing::Not(testing::HasSubstr("secret")));
  }
}

TEST(EnvFile, TellsOfEachBadLineButNoMoreThanTheLimit) {
  std::string text;
  for (size_t i = 0; i < config::kMaxEnvFileErrors; ++i) text += "A=1\nB\n";
  for (const std::string& file : {text, text + "C\nD\n"}) {
    const auto read = config::parse_env_file(file);
    ASSERT_FALSE(read);
    ASSERT_EQ(read.error().size(), config::kMaxEnvFileErrors);
    for (size_t i = 0; i < config::kMaxEnvFileErrors; ++i) {
      EXPECT_EQ(read.error()[i].line, static_cast<int>(2 * i + 2));
    }
  }
}

// Cut anywhere, a file is read or refused, never more.
TEST(EnvFile, TakesEveryBeginningOfAFile) {
  const std::string text = "\xef\xbb\xbf# c\r\nexport A='x' # y\nB=\"\\\"\\n\"\nC= d #\n";
  for (size_t size = 0; size <= text.size(); ++size) {
    const auto read = config::parse_env_file(std::string_view(text).substr(0, size));
    if (read) {
      EXPECT_LE(read->size(), 3U);
    }
  }
  EXPECT_EQ(config::parse_env_file(text), (Variables{{"A", "x"}, {"B", "\"\n"}, {"C", "d"}}));
}

}  // namespace
}  // namespace stdgate

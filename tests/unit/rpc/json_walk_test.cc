// JSON walk: ends of strings and values, of valid texts and of others.

#include "gateway/rpc/json_walk.h"

#include <gtest/gtest.h>

#include <string_view>

namespace stdgate {
namespace {

std::string_view first_value(std::string_view text) {
  const char* const end = text.data() + text.size();
  return {text.data(), static_cast<size_t>(rpc::skip_json_value(text.data(), end) - text.data())};
}

TEST(JsonWalk, EndOfAValue) {
  struct Case {
    std::string_view text;
    std::string_view value;
  };
  const Case cases[] = {
      {R"("a\"b\\",1)", R"("a\"b\\")"},
      {R"({"a":[1,{"b":"}]"}]} ,2)", R"({"a":[1,{"b":"}]"}]})"},
      {"[] ]", "[]"},
      {"12 ,3", "12 "},
      {"true}", "true"},
      {"null", "null"},
      // Not valid, or cut.
      {"", ""},
      {"]", ""},
      {R"("a)", R"("a)"},
      {R"("a\)", R"("a\)"},
      {"\"a\nb\"c", "\"a\nb\""},
      {R"({"a":[1)", R"({"a":[1)"},
      {R"({"a)", R"({"a)"},
  };
  for (const Case& c : cases) EXPECT_EQ(first_value(c.text), c.value) << c.text;
}

}  // namespace
}  // namespace stdgate

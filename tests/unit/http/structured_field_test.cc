#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "transports/http/message_signature.h"

namespace stdgate::http {
namespace {

std::string list_text(const std::string& text) {
  const auto members = parse_dictionary(text);
  return members && members->size() == 1 && members->front().is_list ? members->front().list_text()
                                                                     : "no list";
}

TEST(StructuredField, ListsAreWrittenInOneWay) {
  const std::pair<std::string, std::string> cases[] = {
      {"a=()", "()"},
      {"a=(  )", "()"},
      {"  a=(\"b\"  \"c\" )  ", R"(("b" "c"))"},
      {"a=(\"b\");created=0012;keyid=\"k\"", R"(("b");created=12;keyid="k")"},
      {"a=(\"b\"; key=\"x\";bs);  alg=tok/en*", R"(("b";key="x";bs);alg=tok/en*)"},
      {"a=(1 -2 tok :YQ==: ?0 ?1);x;y=?0;z=?1", "(1 -2 tok :YQ==: ?0 ?1);x;y=?0;z"},
      {R"(a=("q\"u\\o"))", R"(("q\"u\\o"))"},
  };
  for (const auto& [text, written] : cases) EXPECT_EQ(list_text(text), written) << text;
}

TEST(StructuredField, Members) {
  const auto members = parse_dictionary("sig1=:YWI=:;p=1 , b ,\t*c-d.e_1=\"x\"");
  ASSERT_TRUE(members);
  ASSERT_EQ(members->size(), 3U);
  EXPECT_EQ((*members)[0].key, "sig1");
  EXPECT_EQ((*members)[0].items.front().value.text, "ab");
  EXPECT_EQ((*members)[0].parameter("p")->number, 1);
  EXPECT_EQ((*members)[0].parameter("q"), nullptr);
  EXPECT_EQ((*members)[1].items.front().value.number, 1);
  EXPECT_EQ((*members)[2].items.front().value.text, "x");
  EXPECT_TRUE(parse_dictionary("")->empty());
}

TEST(StructuredField, WhatIsNone) {
  for (const std::string text : {"a=",
                                 "A=1",
                                 "a=(",
                                 "a=(\"b\"",
                                 "a=(\"b\"\"c\")",
                                 "a=(b),",
                                 "a=1 b=2",
                                 "a=1,,b=2",
                                 ",a=1",
                                 "a=\"b",
                                 "a=\"\\n\"",
                                 "a=\"\x01\"",
                                 "a=\"\xc3\xa4\"",
                                 "a=:b",
                                 "a=:b*:",
                                 "a=:YQ=:",
                                 "a=:=:",
                                 "a=:YQ===:",
                                 "a=1.5",
                                 "a=-",
                                 "a=--1",
                                 "a=1234567890123456",
                                 "a=?2",
                                 "a=?",
                                 "a=1, a=2",
                                 "a=(1);b=1;b=2",
                                 "a=(1);B=1",
                                 "a=(1);=1",
                                 "a=@1",
                                 "a=1;",
                                 "a=((1))",
                                 "1=a",
                                 "a\t=1"}) {
    EXPECT_FALSE(parse_dictionary(text)) << text;
  }
}

// "<name>0<separator><name>1…"
std::string numbered(const std::string& name, size_t count, const std::string& separator) {
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    text.append(i == 0 ? "" : separator).append(name).append(std::to_string(i));
  }
  return text;
}

TEST(StructuredField, HasNoMoreThanItsLimits) {
  const auto in_members = [](size_t count) { return numbered("k", count, ","); };
  const auto in_items = [](size_t count) { return "a=(" + numbered("k", count, " ") + ")"; };
  const auto of_list = [](size_t count) { return "a=();" + numbered("k", count, ";"); };
  const auto of_item = [](size_t count) { return "a=(b;" + numbered("k", count, ";") + ")"; };
  for (const auto& text_of : {+in_members, +in_items, +of_list, +of_item}) {
    EXPECT_TRUE(parse_dictionary(text_of(kMaxEntries))) << text_of(kMaxEntries);
    const auto more = parse_dictionary(text_of(kMaxEntries + 1));
    ASSERT_FALSE(more);
    EXPECT_EQ(more.error(), FieldError::too_many);
  }
  // Four lists of so many, beside their members.
  const std::string list = "=(" + numbered("k", 63, " ") + ")";
  const std::string most = "a" + list + ",b" + list + ",c" + list + ",d" + list;
  EXPECT_TRUE(parse_dictionary(most));
  const auto more = parse_dictionary(most + ";x");
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error(), FieldError::too_many);
  EXPECT_EQ(parse_dictionary("a=(").error(), FieldError::malformed);
}

}  // namespace
}  // namespace stdgate::http

// Finds one member of an object.
#include "gateway/rpc/json_reader.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace stdgate {
namespace {

struct MemberCase {
  std::string_view object;
  std::string_view key;
  std::string_view value;  // empty if absent
};

TEST(JsonMemberTest, AClearMemberHasNoOtherLikeIt) {
  EXPECT_EQ(rpc::find_clear_member(R"({"a":1,"name":2})", "name").value(), "2");
  EXPECT_EQ(rpc::find_clear_member(R"({"n\u0061me":2})", "name").value(), "2");
  EXPECT_EQ(rpc::find_clear_member(R"({"a":1})", "name").error(), rpc::MemberError::absent);
  EXPECT_EQ(rpc::find_clear_member("[]", "name").error(), rpc::MemberError::absent);
  for (const char* object :
       {R"({"name":1,"name":1})", R"({"name":1,"Name":1})", R"({"NAME":1,"name":1})",
        R"({"Name":1})", R"({"nam\u0045":1})", R"({"name":1,"n\u0061me":1})"}) {
    EXPECT_EQ(rpc::find_clear_member(object, "name").error(), rpc::MemberError::duplicate)
        << object;
  }
}

TEST(JsonMemberTest, SeveralMembersAreFoundAsEachAlone) {
  constexpr std::array<std::string_view, 3> kKeys = {"a", "b", "c"};
  for (const char* object :
       {R"({"b":{"a":1},"a":"x"})", R"({"a":1,"b":2,"a":3,"\u0061":4})", R"({"c":null,"d":1})",
        "{}", R"({"\u0062":[],"b":1})", "[]", "1", ""}) {
    const auto found = rpc::find_members(object, kKeys);
    for (size_t i = 0; i < kKeys.size(); ++i) {
      EXPECT_EQ(found[i], rpc::find_member(object, kKeys[i])) << object << kKeys[i];
    }
  }
}

TEST(JsonMemberTest, FindClearMembers) {
  static constexpr std::array<std::string_view, 2> kKeys = {"ab", "c"};
  const auto found = [](std::string_view object) {
    std::array<rpc::Member, 2> members;
    rpc::find_clear_members(object, kKeys, members);
    return std::vector<std::string>{
        std::string(members[0].value_or(is_absent(members[0]) ? "-" : "!")),
        std::string(members[1].value_or(is_absent(members[1]) ? "-" : "!"))};
  };
  using Values = std::vector<std::string>;
  EXPECT_EQ(found(R"({"ab":1,"x":0,"c":2})"), (Values{"1", "2"}));
  EXPECT_EQ(found(R"({"ab":1,"AB":1})"), (Values{"!", "-"}));
  EXPECT_EQ(found(R"({"Ab":1,"c":2})"), (Values{"!", "2"}));
  EXPECT_EQ(found(R"({"c":1,"ab":3,"\u0063":2})"), (Values{"3", "!"}));
  EXPECT_EQ(found(R"({"\u0041b":1,"ab":3,"abc":2})"), (Values{"!", "-"}));
  EXPECT_EQ(found("[]"), (Values{"-", "-"}));
}

TEST(JsonMemberTest, FindMember) {
  const MemberCase cases[] = {
      {R"({"a":1})", "a", "1"},
      {R"({"a":1})", "b", ""},
      {R"({"a":1})", "A", ""},
      {R"({"a":1,"b":2,"c":3})", "a", "1"},
      {R"({"a":1,"b":2,"c":3})", "b", "2"},
      {R"({"a":1,"b":2,"c":3})", "c", "3"},
      {R"({})", "a", ""},
      {R"({ })", "a", ""},
      {R"({ })", "", ""},
      {R"({"":null})", "", "null"},
      {R"([])", "a", ""},
      {R"(["a",1])", "a", ""},
      {R"("a")", "a", ""},
      {R"(1)", "a", ""},
      {R"(null)", "a", ""},
      {"", "a", ""},
      {"{ \"a\" :\t-1.5e3 }", "a", "-1.5e3"},
      {"{\r\n\"x\" : 1 ,\n \"a\" : true\n}", "a", "true"},
      {R"({"a":"x,}]\"\\"})", "a", R"("x,}]\"\\")"},
      {R"({"s":"\\","a":"\\\""})", "a", R"("\\\"")"},
      {R"({"x":{"a":1,"b":[{"a":2}]},"a":3})", "a", "3"},
      {R"({"x":{"a":1}})", "a", ""},
      {R"({"x":["}","]","{"],"a":[1,[2,{"a":3}],"]"],"y":0})", "a", R"([1,[2,{"a":3}],"]"])"},
      {R"({"a":{},"b":[]})", "a", "{}"},
      {R"({"a":{},"b":[]})", "b", "[]"},
      {R"({"\u0061":1})", "a", "1"},
      {R"({"\u00e9":1})", "\xc3\xa9", "1"},
      {R"({"a\/b":1})", "a/b", "1"},
      {R"({"a":"b","b":"a"})", "b", R"("a")"},
      {R"({"a b":1})", "a", ""},
  };
  for (const MemberCase& c : cases) {
    const auto found = rpc::find_member(c.object, c.key);
    if (c.value.empty()) {
      ASSERT_FALSE(found) << c.object;
      EXPECT_EQ(found.error(), rpc::MemberError::absent) << c.object;
    } else {
      ASSERT_TRUE(found) << c.object;
      EXPECT_EQ(*found, c.value) << c.object;
      EXPECT_GE(found->data(), c.object.data());
      EXPECT_LE(found->data() + found->size(), c.object.data() + c.object.size());
    }
  }
}

TEST(JsonMemberTest, Duplicates) {
  for (const std::string_view object :
       {R"({"a":1,"a":1})", R"({"a":1,"b":2,"a":3})", R"({"a":1,"\u0061":2})",
        R"({"\u0061":1,"a":2})", R"({"\u0061":1,"\u0061":2})"}) {
    const auto found = rpc::find_member(object, "a");
    ASSERT_FALSE(found) << object;
    EXPECT_EQ(found.error(), rpc::MemberError::duplicate) << object;
  }
}

TEST(JsonMemberTest, BehindLongStringsAndDeepNesting) {
  for (const size_t size : {1u, 7u, 8u, 15u, 16u, 17u, 1000u}) {
    const std::string object = "{\"x\":\"" + std::string(size, 'y') +
                               "\\\"\",\"z\":" + std::string(size, '[') + std::string(size, ']') +
                               ",\"a\":5}";
    EXPECT_EQ(rpc::find_member(object, "a").value_or("none"), "5") << size;
  }
}

// --- Walks through JSON: ends of strings and values, in valid and invalid texts.

std::string_view first_value(std::string_view text) {
  const char* const end = text.data() + text.size();
  return {text.data(), static_cast<size_t>(rpc::skip_json_value(text.data(), end) - text.data())};
}

TEST(JsonWalk, EndOfAValue) {
  struct MemberCase {
    std::string_view text;
    std::string_view value;
  };
  const MemberCase cases[] = {
      {R"("a\"b\\",1)", R"("a\"b\\")"},
      {R"({"a":[1,{"b":"}]"}]} ,2)", R"({"a":[1,{"b":"}]"}]})"},
      {"[] ]", "[]"},
      {"12 ,3", "12 "},
      {"true}", "true"},
      {"null", "null"},
      // Invalid or incomplete texts.
      {"", ""},
      {"]", ""},
      {R"("a)", R"("a)"},
      {R"("a\)", R"("a\)"},
      {"\"a\nb\"c", "\"a\nb\""},
      {R"({"a":[1)", R"({"a":[1)"},
      {R"({"a)", R"({"a)"},
  };
  for (const MemberCase& c : cases) EXPECT_EQ(first_value(c.text), c.value) << c.text;
}

}  // namespace
}  // namespace stdgate

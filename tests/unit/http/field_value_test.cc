#include "transports/http/field_value.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "transports/http/message_signature.h"

namespace stdgate {

namespace {

TEST(MediaType, HtmlIsListedByName) {
  const auto lists = [](std::string_view accept) {
    http::Acceptance acceptance;
    acceptance.take(accept);
    return acceptance.lists_html();
  };
  EXPECT_TRUE(lists("text/html"));
  EXPECT_TRUE(lists("application/xhtml+xml, Text/HTML;q=0.1, */*"));
  for (const char* accept : {"", "*/*", "text/*", "text/html;q=0", "text/htmlx"}) {
    EXPECT_FALSE(lists(accept)) << accept;
  }
}

TEST(MediaType, Json) {
  const std::vector<std::pair<const char*, bool>> cases = {
      {"application/json", true},
      {"APPLICATION/Json", true},
      {"application/json-rpc", true},
      {"application/jsonrequest", true},
      {"application/vnd.api+json", true},
      {"text/x+JSON", true},
      {"application/json;charset=utf-8", true},
      {"application/json ; charset=\"UTF-8\"", true},
      {"application/json; version=1; charset=utf-8", true},
      {"application/json;", true},
      {"application/json; charset=iso-8859-1", false},
      {"application/json; charset=utf-16", false},
      {"application/json; charset=utf-8; charset=latin1", false},
      {"application/json; charset", false},
      {"application/json; =utf-8", false},
      {"application/json, text/plain", false},
      {"application/jsonx", false},
      {"application/+json", false},
      {"/x+json", false},
      {"a b/x+json", false},
      {"x+json", false},
      {"text/plain", false},
      {"application/x-www-form-urlencoded", false},
      {"multipart/form-data; boundary=x", false},
      {"text/plain; application/json", false},
      {"", false},
  };
  for (const auto& [type, expected] : cases) EXPECT_EQ(http::is_json_type(type), expected) << type;
}

TEST(MediaType, EventStreamOrJson) {
  struct Case {
    std::vector<const char*> accept;
    bool prefers;
    bool lists;
  };
  const std::vector<Case> cases = {
      {{}, false, false},
      {{""}, false, false},
      {{"*/*"}, false, false},
      {{"text/*"}, false, false},
      {{"application/json"}, false, false},
      {{"text/event-stream"}, true, true},
      {{"Text/Event-Stream"}, true, true},
      {{"text/event-stream;q=0"}, false, false},
      {{"text/event-stream;q=0.001"}, true, true},
      {{"text/event-stream;q=0.0001"}, false, false},  // malformed
      {{"text/event-stream;q=2"}, false, false},
      {{"text/event-stream;q=1.1"}, false, false},
      {{"text/event-stream;q=x"}, false, false},
      {{"text/event-stream;q=1.000"}, true, true},
      {{"text/event-stream;Q=0.5"}, true, true},
      {{"application/json, text/event-stream"}, false, true},
      {{"text/event-stream, application/json"}, false, true},
      {{"application/json;q=0.9, text/event-stream"}, true, true},
      {{"application/json, text/event-stream;q=0.9"}, false, true},
      {{"application/json;q=0, text/event-stream;q=0.1"}, true, true},
      {{"application/json", "text/event-stream"}, false, true},
      {{"application/json;q=0.5", "text/event-stream;q=0.6"}, true, true},
      {{"text/event-stream, */*"}, true, true},
      {{"text/event-stream;q=0.5, */*"}, false, true},
      {{"text/event-stream;q=0.5, */*;q=0.5"}, true, true},
      {{"text/event-stream;q=0.5, application/*;q=0.8"}, false, true},
      {{"text/event-stream;q=0.5, application/*;q=0.1, */*"}, true, true},
      {{"text/event-stream;q=0.5, application/json;q=0.1, */*"}, true, true},
      {{"text/event-stream;a=\",application/json\""}, true, true},
  };
  for (const Case& c : cases) {
    http::Acceptance acceptance;
    for (const char* field : c.accept) acceptance.take(field);
    const std::string shown = testing::PrintToString(c.accept);
    EXPECT_EQ(acceptance.prefers_event_stream(), c.prefers) << shown;
    EXPECT_EQ(acceptance.lists_event_stream(), c.lists) << shown;
  }
}

}  // namespace

}  // namespace stdgate

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

// "<name>0<separator><name>1…" with `count` names.
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
  // Four lists with the greatest number of items, counted together with the members.
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

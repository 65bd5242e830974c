#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "transports/http/field_value.h"

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

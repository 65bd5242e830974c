#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gateway/base/addresses.h"
#include "transports/http/field_value.h"
#include "transports/http/request_head.h"

namespace stdgate {
namespace {

TEST(Url, Authority) {
  const std::vector<std::pair<const char*, bool>> cases = {
      {"localhost", true},
      {"localhost:8080", true},
      {"127.0.0.1:1", true},
      {"[::1]", true},
      {"[::1]:8080", true},
      {"a_b.example", true},
      {"a%20b", true},
      {"a:", true},
      {"", false},
      {":8080", false},
      {"a:b", false},
      {"a:1:2", false},
      {"a:65536", false},
      {"a:+1", false},
      {"a b", false},
      {"a/b", false},
      {"a@b", false},
      {"a\"b", false},
      {"a%2", false},
      {"[::1", false},
      {"[::1]x", false},
      {"[::1]8080", false},
      {"[]", false},
      {"[a]", false},
      {"[127.0.0.1]", false},
      {"a[b]", false},
      {"a,b", true},
      {"a\\b", false},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(is_authority(text), expected) << text;
}

TEST(Url, LoopbackHost) {
  const std::vector<std::pair<const char*, bool>> cases = {
      {"localhost", true},
      {"LOCALHOST", true},
      {"127.0.0.1", true},
      {"127.255.255.255", true},
      {"[::1]", true},
      {"127.0.0.1.example", false},
      {"localhost.example", false},
      {"128.0.0.1", false},
      {"127.1", false},
      {"127.0.0.256", false},
      {"[::2]", false},
      {"0.0.0.0", false},
      {"", false},
      {"127.", false},
      {"2130706433", false},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(is_loopback_host(text), expected) << text;
}

TEST(Url, HostOfAuthority) {
  EXPECT_EQ(host_of("a.example:80"), "a.example");
  EXPECT_EQ(host_of("a.example"), "a.example");
  EXPECT_EQ(host_of("[::1]:80"), "[::1]");
  EXPECT_EQ(host_of("[::1]"), "[::1]");
}

TEST(Url, PercentDecoding) {
  std::string scratch;
  EXPECT_EQ(http::percent_decode("/rpc", scratch), "/rpc");
  EXPECT_EQ(http::percent_decode("/%72pc", scratch), "/rpc");
  EXPECT_EQ(http::percent_decode("%c3%A9+", scratch), "\xc3\xa9+");
  EXPECT_EQ(http::percent_decode("%00", scratch), std::string(1, '\0'));
}

TEST(Url, QueryParameter) {
  struct Case {
    const char* query;
    std::optional<std::string> value;
  };
  const std::vector<Case> cases = {
      {"", std::nullopt},
      {"a=1", std::nullopt},
      {"m", ""},
      {"m=", ""},
      {"m=1", "1"},
      {"a=1&m=2", "2"},
      {"m=1&m=2", "1"},
      {"%6d=x", "x"},
      {"m=a+b%2Bc", "a b+c"},
      {"m=%7B%22a%22%3A1%7D", R"({"a":1})"},
      {"m=a=b", "a=b"},
      {"&&m=1", "1"},
      {"mm=1&am=2", std::nullopt},
      {"m=%00", std::string(1, '\0')},
  };
  for (const Case& c : cases) EXPECT_EQ(http::query_parameter(c.query, "m"), c.value) << c.query;
}

TEST(FieldValue, Digits) {
  EXPECT_EQ(http::parse_digits("0"), 0u);
  EXPECT_EQ(http::parse_digits("18446744073709551615"), UINT64_MAX);
  for (const char* text : {"", "-1", "+1", " 1", "1 ", "1a", "0x1", "18446744073709551616"}) {
    EXPECT_EQ(http::parse_digits(text), std::nullopt) << text;
  }
}

TEST(FieldValue, ListElements) {
  const auto elements = [](std::string_view list) {
    std::vector<std::string> all;
    http::for_each_element(list, ',',
                           [&all](std::string_view element) { all.emplace_back(element); });
    return all;
  };
  using List = std::vector<std::string>;
  EXPECT_EQ(elements(""), List({""}));
  EXPECT_EQ(elements("a"), List({"a"}));
  EXPECT_EQ(elements(" a ,\tb,"), List({"a", "b", ""}));
  EXPECT_EQ(elements("\"a,b\",c"), List({"\"a,b\"", "c"}));
  EXPECT_EQ(elements("\"a\\\",b\",c"), List({"\"a\\\",b\"", "c"}));
  EXPECT_EQ(elements("\"a,b"), List({"\"a,b"}));
  EXPECT_EQ(elements("\"a\\"), List({"\"a\\"}));
}

TEST(Url, WebUrls) {
  struct Case {
    const char* text;
    bool is_safe;
    const char* origin;
    const char* path;
    const char* query;
  };
  const Case cases[] = {
      {"https://a.example", true, "https://a.example", "", ""},
      {"https://a.example:8443/b/c?d=e?f", true, "https://a.example:8443", "/b/c", "?d=e?f"},
      {"https://a.example?b", true, "https://a.example", "", "?b"},
      {"http://a.example/", false, "http://a.example", "/", ""},
      {"http://127.0.0.1:1/", true, "http://127.0.0.1:1", "/", ""},
      {"http://[::1]/", true, "http://[::1]", "/", ""},
      {"http://localhost.example/", false, "http://localhost.example", "/", ""},
  };
  for (const Case& wanted : cases) {
    const auto url = WebUrl::parse(wanted.text);
    ASSERT_TRUE(url) << wanted.text;
    EXPECT_EQ(url->is_safe(), wanted.is_safe) << wanted.text;
    EXPECT_EQ(url->origin, wanted.origin);
    EXPECT_EQ(url->path, wanted.path);
    EXPECT_EQ(url->query, wanted.query);
  }
  for (const char* text : {"", "https://", "https:///a", "ftp://a", "HTTPS://a", "//a", "a",
                           "https://a@b/", "https://a b/", "https://a/#b", "https://a/%2",
                           "https://a/\\b", "https://a:b/", "file:///etc/passwd"}) {
    EXPECT_FALSE(WebUrl::parse(text)) << text;
  }
}

}  // namespace
}  // namespace stdgate

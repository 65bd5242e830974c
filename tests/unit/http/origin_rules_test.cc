#include "transports/http/origin_rules.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace stdgate {
namespace {

struct Case {
  std::string fields;
  bool loopback_listener;
  bool allowed;
};

std::unique_ptr<RequestHead> head_of(const std::string& text) {
  auto head = std::make_unique<RequestHead>();
  EXPECT_TRUE(head->parse(text)) << text;
  return head;
}

TEST(OriginRules, Origins) {
  const OriginRules open;
  const OriginRules listed{{"https://App.example"}, {}};
  const OriginRules any{{"*"}, {}};
  const auto check = [](const OriginRules& rules, const std::vector<Case>& cases) {
    for (const Case& c : cases) {
      const std::string text = "GET / HTTP/1.1\r\nHost: a\r\n" + c.fields + "\r\n";
      EXPECT_EQ(rules.allows_origin(*head_of(text), c.loopback_listener), c.allowed)
          << c.fields << c.loopback_listener;
    }
  };
  check(open, {
                  {"", true, true},
                  {"Origin: http://localhost:3000\r\n", true, true},
                  {"Origin: http://127.9.9.9\r\n", true, true},
                  {"Origin: https://[::1]:1\r\n", true, true},
                  {"Origin: http://evil.example\r\n", true, false},
                  {"Origin: http://localhost.evil.example\r\n", true, false},
                  {"Origin: http://localhost@evil.example\r\n", true, false},
                  {"Origin: http://evil.example/localhost\r\n", true, false},
                  {"Origin: null\r\n", true, false},
                  {"Origin:\r\n", true, false},
                  {"Origin: http://localhost\r\nOrigin: http://evil.example\r\n", true, false},
                  {"Origin: http://evil.example\r\n", false, true},
                  {"Origin: null\r\n", false, true},
              });
  check(listed, {
                    {"Origin: https://app.EXAMPLE\r\n", true, true},
                    {"Origin: https://app.example\r\n", false, true},
                    {"Origin: https://app.example:444\r\n", false, false},
                    {"Origin: http://app.example\r\n", false, false},
                    {"Origin: http://localhost\r\n", false, true},
                    {"Origin: null\r\n", false, false},
                    {"", false, true},
                });
  check(any, {
                 {"Origin: http://evil.example\r\n", true, true},
                 {"Origin: null\r\n", true, true},
             });
}

TEST(OriginRules, Hosts) {
  const OriginRules rules{{}, {"gateway.example", "other.example:81"}};
  const std::vector<Case> cases = {
      {"Host: localhost:8080\r\n", true, true},
      {"Host: 127.0.0.1\r\n", true, true},
      {"Host: [::1]:8080\r\n", true, true},
      {"Host: gateway.example\r\n", true, true},
      {"Host: GATEWAY.example:9\r\n", true, true},
      {"Host: other.example:81\r\n", true, true},
      {"Host: other.example:82\r\n", true, false},
      {"Host: evil.example\r\n", true, false},
      {"Host:\r\n", true, false},
      {"Host: evil.example\r\n", false, true},
  };
  for (const Case& c : cases) {
    const std::string text = "GET / HTTP/1.1\r\n" + c.fields + "\r\n";
    EXPECT_EQ(rules.allows_host(*head_of(text), c.loopback_listener), c.allowed) << c.fields;
  }
}

}  // namespace
}  // namespace stdgate

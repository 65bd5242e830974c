// The rules of admission, each as a table: Host, Origin, Sec-Fetch-Site, and requests by GET.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "transports/http/admission.h"
#include "transports/http/http1_head.h"

namespace stdgate {
namespace {

using Reach = http::ConnectionTraits::Reach;

http::ConnectionTraits traits_of(Reach reach, const char* local) {
  http::ConnectionTraits traits;
  traits.reach = reach;
  traits.local = ClientAddress::parse(local).value_or(ClientAddress());
  return traits;
}

const http::ConnectionTraits kLoopback = traits_of(Reach::loopback, "127.0.0.1");
const http::ConnectionTraits kNetwork = traits_of(Reach::network, "10.0.0.5");
const http::ConnectionTraits kNetworkV6 = traits_of(Reach::network, "fd00::5");
const http::ConnectionTraits kUnix = traits_of(Reach::unix_socket, "");

struct Case {
  std::string fields;
  http::ConnectionTraits traits;
  bool allowed;
};

std::unique_ptr<http::Http1Head> head_of(const std::string& text) {
  auto head = std::make_unique<http::Http1Head>();
  EXPECT_TRUE(head->parse(text)) << text;
  return head;
}

// A case without a Host field gets the host of its connection.
template <class Rule>
void check(const std::vector<Case>& cases, Rule&& rule) {
  for (const Case& c : cases) {
    const bool has_host = c.fields.find("Host:") != std::string::npos;
    const std::string host =
        c.traits.reach == kLoopback.reach ? "Host: localhost:8080\r\n" : "Host: 10.0.0.5:8080\r\n";
    const std::string text = "GET / HTTP/1.1\r\n" + (has_host ? "" : host) + c.fields + "\r\n";
    EXPECT_EQ(rule(*head_of(text), c.traits), c.allowed)
        << text << static_cast<int>(c.traits.reach);
  }
}

void check_origins(const http::OriginRules& rules, const std::vector<Case>& cases) {
  check(cases, [&rules](const http::RequestHead& head, const http::ConnectionTraits& traits) {
    return rules.allows_origin(head, traits);
  });
}

TEST(OriginRules, OriginsWithoutAList) {
  check_origins(
      {}, {
              {"", kLoopback, true},
              {"Origin: http://localhost:3000\r\n", kLoopback, true},
              {"Origin: http://127.9.9.9\r\n", kLoopback, true},
              {"Origin: https://[::1]:1\r\n", kLoopback, true},
              {"Origin: http://evil.example\r\n", kLoopback, false},
              {"Origin: http://localhost.evil.example\r\n", kLoopback, false},
              {"Origin: http://localhost@evil.example\r\n", kLoopback, false},
              {"Origin: http://evil.example/localhost\r\n", kLoopback, false},
              {"Origin: null\r\n", kLoopback, false},
              {"Origin:\r\n", kLoopback, false},
              {"Origin: http://localhost\r\nOrigin: http://evil.example\r\n", kLoopback, false},
              // Off loopback, the gateway's own pages and loopback pages are allowed.
              {"", kNetwork, true},
              {"Origin: http://10.0.0.5:8080\r\n", kNetwork, true},
              {"Origin: http://10.0.0.5:8081\r\n", kNetwork, false},
              {"Origin: http://10.0.0.5\r\n", kNetwork, false},
              {"Origin: http://10.0.0.5\r\nHost: 10.0.0.5\r\n", kNetwork, true},
              {"Origin: http://[fd00::5]:8080\r\nHost: [FD00::5]:8080\r\n", kNetworkV6, true},
              {"Origin: http://localhost:3000\r\n", kNetwork, true},
              {"Origin: http://evil.example\r\n", kNetwork, false},
              {"Origin: null\r\n", kNetwork, false},
              // After DNS rebinding, the host of the page is the attacker's name.
              {"Origin: http://evil.example:8080\r\nHost: evil.example:8080\r\n", kNetwork, false},
              {"Origin: http://evil.example:8080\r\nHost: evil.example:8080\r\n", kLoopback, false},
              // No browser connects to a Unix socket.
              {"Origin: http://evil.example\r\n", kUnix, true},
              {"Origin: null\r\n", kUnix, true},
          });
}

TEST(OriginRules, OriginsWithAList) {
  check_origins({{"https://App.example"}, {}},
                {
                    {"Origin: https://app.EXAMPLE\r\n", kLoopback, true},
                    {"Origin: https://app.example\r\n", kNetwork, true},
                    {"Origin: https://app.example:444\r\n", kNetwork, false},
                    {"Origin: http://app.example\r\n", kNetwork, false},
                    {"Origin: http://localhost\r\n", kNetwork, true},
                    {"Origin: http://10.0.0.5:8080\r\n", kNetwork, true},
                    {"Origin: null\r\n", kNetwork, false},
                    {"Origin: https://evil.example\r\n", kUnix, false},
                    {"Origin: https://app.example\r\n", kUnix, true},
                    {"Origin: http://evil.example\r\nHost: evil.example\r\n", kUnix, false},
                    {"", kNetwork, true},
                });
  check_origins({{"*"}, {}}, {
                                 {"Origin: http://evil.example\r\n", kLoopback, true},
                                 {"Origin: null\r\n", kNetwork, true},
                             });
}

// The gateway's own pages, if the gateway has a listed name. A name that only "*" allows may belong
// to an attacker.
TEST(OriginRules, OriginsOfListedHosts) {
  const std::string own = "Origin: https://gateway.example\r\nHost: Gateway.example\r\n";
  check_origins({{}, {"gateway.example"}}, {{own, kLoopback, true}, {own, kNetwork, true}});
  check_origins({{}, {"*"}}, {{own, kLoopback, false}, {own, kNetwork, false}});
  // Over TLS the gateway's own pages have https. Without TLS, a proxy may serve them with either
  // scheme.
  const std::string plain = "Origin: http://gateway.example\r\nHost: Gateway.example\r\n";
  http::ConnectionTraits secure = kNetwork;
  secure.is_secure = true;
  check_origins({{}, {"gateway.example"}},
                {{own, secure, true}, {plain, secure, false}, {plain, kNetwork, true}});
}

TEST(OriginRules, OriginsAtTheLimit) {
  const std::string scheme = "https://";
  const std::string longest = scheme + std::string(http::kMaxOrigin - scheme.size(), 'h');
  check_origins({{"*"}, {}}, {{"Origin: " + longest + "\r\n", kNetwork, true},
                              {"Origin: " + longest + "h\r\n", kNetwork, false}});
}

TEST(OriginRules, Hosts) {
  const auto check_hosts = [](const http::OriginRules& rules, const std::vector<Case>& cases) {
    check(cases, [&rules](const http::RequestHead& head, const http::ConnectionTraits& traits) {
      return rules.allows_host(head, traits);
    });
  };
  check_hosts({{}, {"gateway.example", "other.example:81"}},
              {
                  {"Host: localhost:8080\r\n", kLoopback, true},
                  {"Host: LocalHost\r\n", kLoopback, true},
                  {"Host: 127.0.0.1\r\n", kLoopback, true},
                  {"Host: [::1]:8080\r\n", kLoopback, true},
                  {"Host: gateway.example\r\n", kLoopback, true},
                  {"Host: GATEWAY.example:9\r\n", kLoopback, true},
                  {"Host: other.example:81\r\n", kLoopback, true},
                  {"Host: other.example:82\r\n", kLoopback, false},
                  {"Host: evil.example\r\n", kLoopback, false},
                  {"Host: 0.0.0.0:8080\r\n", kLoopback, false},
                  {"Host: 10.0.0.5\r\n", kLoopback, false},
                  {"Host:\r\n", kLoopback, false},
                  {"Host: 10.0.0.5:8080\r\n", kNetwork, true},
                  {"Host: 10.0.0.5\r\n", kNetwork, true},
                  {"Host: 10.0.0.6\r\n", kNetwork, false},
                  {"Host: 10.0.5\r\n", kNetwork, false},
                  {"Host: localhost:8080\r\n", kNetwork, false},
                  {"Host: 127.0.0.1\r\n", kNetwork, false},
                  {"Host: gateway.example:8080\r\n", kNetwork, true},
                  {"Host: my-service:8080\r\n", kNetwork, false},
                  {"Host:\r\n", kNetwork, false},
                  {"Host: [fd00::5]:8080\r\n", kNetworkV6, true},
                  {"Host: [fd00:0:0::5]\r\n", kNetworkV6, true},
                  {"Host: [fd00::6]\r\n", kNetworkV6, false},
                  {"Host: evil.example\r\n", kUnix, true},
                  {"Host:\r\n", kUnix, true},
              });
  check_hosts({{}, {"*"}}, {
                               {"Host: my-service:8080\r\n", kNetwork, true},
                               {"Host: evil.example\r\n", kLoopback, true},
                               {"Host:\r\n", kNetwork, true},
                           });
}

// A load balancer's probe in HTTP/1.0 names no host, whereas browsers always do.
TEST(OriginRules, HostOfHttp10) {
  const http::OriginRules rules;
  EXPECT_TRUE(rules.allows_host(*head_of("GET / HTTP/1.0\r\n\r\n"), kNetwork));
  EXPECT_FALSE(rules.allows_host(*head_of("GET / HTTP/1.0\r\nHost:\r\n\r\n"), kNetwork));
  EXPECT_FALSE(rules.allows_host(*head_of("GET / HTTP/1.0\r\nHost: a\r\n\r\n"), kNetwork));
}

TEST(OriginRules, Sites) {
  const http::OriginRules rules{{"https://app.example"}, {}};
  const std::string cross = "Sec-Fetch-Site: cross-site\r\n";
  const std::string same_site = "sec-fetch-site: Same-Site\r\n";
  const std::string loopback_page = "Origin: http://localhost:3000\r\n";
  const std::string listed_page = "Origin: https://app.example\r\n";
  const std::string foreign_page = "Origin: https://evil.example\r\n";
  const std::vector<Case> cases = {
      {"", kLoopback, true},
      {"Sec-Fetch-Site: none\r\n", kLoopback, true},
      {"Sec-Fetch-Site: same-origin\r\n", kLoopback, true},
      {"Sec-Fetch-Site: SAME-ORIGIN\r\n", kLoopback, true},
      {cross, kLoopback, false},
      {same_site, kLoopback, false},
      {cross, kUnix, false},
      {cross, kNetwork, false},
      {"Sec-Fetch-Site: of-the-future\r\n", kLoopback, false},
      {"Sec-Fetch-Site:\r\n", kLoopback, false},
      {"Sec-Fetch-Site: none\r\n" + cross, kLoopback, false},
      {cross + loopback_page, kLoopback, true},
      {same_site + loopback_page, kLoopback, true},
      {cross + listed_page, kNetwork, true},
      {cross + foreign_page, kUnix, false},
      {cross + listed_page + foreign_page, kLoopback, false},
      {cross + "Origin: null\r\n", kLoopback, false},
      // Requests without this header are left to the other rules.
      {foreign_page, kLoopback, true},
  };
  check(cases, [&rules](const http::RequestHead& head, const http::ConnectionTraits& /*traits*/) {
    return rules.allows_site(head);
  });
}

TEST(OriginRules, DeliberateRequests) {
  const std::vector<Case> cases = {
      {"", kLoopback, true},
      {"Host: 127.0.0.1\r\n", kLoopback, true},
      // With a listed name over plain HTTP, browsers do not say which page sends the request.
      {"Host: gateway.example\r\n", kLoopback, false},
      {"", kNetwork, false},
      {"", kUnix, false},
      {"Host: localhost\r\n", kUnix, false},
      {"Sec-Fetch-Site: same-origin\r\n", kNetwork, true},
      {"Origin: http://10.0.0.5:8080\r\n", kNetwork, true},
      {"Authorization: Bearer x\r\n", kNetwork, true},
      {"authorization: bearer x\r\n", kNetwork, true},
      {"X-API-Key: x\r\n", kNetwork, true},
      {"MCP-Protocol-Version: 2025-11-25\r\n", kNetwork, true},
      {"X-Requested-With: curl\r\n", kUnix, true},
      // Headers that browsers add themselves, or that pages may set.
      {"Authorization: Basic eDp5\r\n", kNetwork, false},
      {"Authorization: Bearer\r\n", kNetwork, false},
      {"Cookie: a=b\r\n", kNetwork, false},
      {"Accept: text/event-stream\r\nAccept-Language: x\r\nContent-Language: x\r\n"
       "Content-Type: text/plain\r\nRange: bytes=0-\r\nLast-Event-ID: 1\r\nReferer: x\r\n"
       "Cache-Control: no-cache\r\nPragma: no-cache\r\nUser-Agent: x\r\nDNT: 1\r\n"
       "Upgrade-Insecure-Requests: 1\r\nPriority: u=1\r\nSave-Data: on\r\n",
       kNetwork, false},
  };
  const http::OriginRules rules;
  check(cases, [&rules](const http::RequestHead& head, const http::ConnectionTraits& traits) {
    return rules.is_deliberate(head, traits);
  });
  const http::OriginRules open{{}, {}, true};
  EXPECT_TRUE(open.is_deliberate(*head_of("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), kNetwork));
}

}  // namespace
}  // namespace stdgate

// Trusted proxies: the client's address that they report is used in logs, limits and the audit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/integration/harness/setups.h"

namespace stdgate::harness::proxy_test {
namespace {

using testing::SizeIs;

Headers from(const std::string& client) { return {{"x-forwarded-for", client}}; }

// Two calls per hour.
constexpr const char* kFew = "calls_per_principal: { rate: 2/h }";

TEST(TrustedProxies, LimitsAreThoseOfTheirClients) {
  GatewayProcess gateway(serve_one(demo_server(), kFew, "trusted_proxies: [127.0.0.1]\n"));
  HttpClient client = gateway.connect();
  for (const char* address : {"192.0.2.1", "192.0.2.2", "2001:db8::1"}) {
    for (const int status : {200, 200, 429}) {
      EXPECT_EQ(client.post("/rpc", request("echo"), from(address)).status, status) << address;
    }
  }
  // The last address counts. Addresses before it may be the client's invention.
  EXPECT_EQ(client.post("/rpc", request("echo"), from("192.0.2.77, 192.0.2.1")).status, 429);
}

TEST(TrustedProxies, OthersChangeNothing) {
  for (const char* trusted : {"", "trusted_proxies: [10.0.0.0/8, unix]\n"}) {
    GatewayProcess gateway(serve_one(demo_server(), kFew, trusted));
    HttpClient client = gateway.connect();
    const int expected[] = {200, 200, 429, 429};
    for (int i = 0; i < 4; ++i) {
      const auto headers = from("192.0.2." + std::to_string(i));
      EXPECT_EQ(client.post("/rpc", request("echo"), headers).status, expected[i]);
    }
  }
}

TEST(TrustedProxies, UnixSocketsAreOnesByName) {
  GatewayProcess gateway(serve_one(demo_server(), kFew,
                                   "listen: [\"unix:@DIR@/s\"]\nadmin: \"127.0.0.1:0\"\n"
                                   "trusted_proxies: [unix]\n"));
  HttpClient client = gateway.connect();
  for (int i = 0; i < 4; ++i) {
    const auto headers = from("192.0.2." + std::to_string(i));
    EXPECT_EQ(client.post("/rpc", request("echo"), headers).status, 200);
  }
}

TEST(TrustedProxies, LogAndAuditNameTheClient) {
  GatewayProcess gateway(serve_one(demo_server(), "",
                                   "trusted_proxies: [127.0.0.0/8]\n"
                                   "audit: { file: \"@DIR@/audit.jsonl\", durable: true }\n"));
  HttpClient client = gateway.connect();
  client.post("/rpc", request("echo"), from("192.0.2.1"));
  Headers foreign = from("192.0.2.2:99");
  foreign["origin"] = "https://evil.example";
  EXPECT_EQ(client.post("/rpc", request("echo"), foreign).status, 403);
  eventually("the refusal is logged", [&] { return !log_of(gateway, "request refused").empty(); });
  EXPECT_EQ(log_of(gateway, "request refused")[0].text("/client"), "192.0.2.2");
  EXPECT_EQ(log_of(gateway, "request refused")[0].number("/port"), 99);
}

TEST(TrustedProxies, NamesWithUnderscoresAreRefused) {
  GatewayProcess gateway(serve_one(demo_server(), "", "trusted_proxies: [127.0.0.1]\n"));
  HttpClient client = gateway.connect();
  EXPECT_EQ(client.post("/rpc", request("echo"), {{"x_forwarded_for", "192.0.2.1"}}).status, 400);
}

}  // namespace
}  // namespace stdgate::harness::proxy_test

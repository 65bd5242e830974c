// Keys that the gateway fetches from issuers: the real program, with servers that rotate keys,
// stall, lie and die.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "tests/integration/harness/setups.h"
#include "tests/integration/harness/web_server.h"
#include "tests/support/test_folder.h"
#include "tests/support/test_issuer.h"

namespace stdgate::harness::issuers_test {
namespace {

using test::TestIssuer;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kPublicUrl = "https://tools.example";

class Issuers : public testing::Test {
 protected:
  // `jwks`: the value of that setting; empty: the setting is absent.
  static GatewaySetup setup(const std::string& issuer, const std::string& jwks,
                            const std::string& more = "") {
    return serve_one(demo_server(), "",
                     "auth: { public_url: \"" + kPublicUrl + "\", jwt: [{ issuer: \"" + issuer +
                         "\"" + (jwks.empty() ? "" : ", jwks: " + jwks) + more + " }] }\n");
  }
  static std::string claims(const std::string& issuer, const std::string& audience = kPublicUrl) {
    return R"({"iss":")" + issuer + R"(","aud":")" + audience + R"(","sub":"ada","exp":)" +
           std::to_string(std::time(nullptr) + 300) + "}";
  }
  static HttpResponse ask(const GatewayProcess& gateway, const std::string& token) {
    HttpClient client = gateway.connect();
    return client.post("/rpc", request("echo", "[1]"), {{"authorization", "Bearer " + token}});
  }
  static int status(const GatewayProcess& gateway, const std::string& token) {
    return ask(gateway, token).status;
  }
  static bool becomes(const GatewayProcess& gateway, const std::string& token, int wanted) {
    return eventually("a token is answered by " + std::to_string(wanted),
                      [&] { return status(gateway, token) == wanted; });
  }
  static double fetches(const GatewayProcess& gateway, const std::string& outcome) {
    return gateway.metrics().sum("stdgate_key_fetches_total", {{"outcome", outcome}});
  }

  test::TestFolder folder_;
  const TestIssuer old_{TestIssuer::Kind::p256, "old"};
  const TestIssuer new_{TestIssuer::Kind::p256, "new"};
};

TEST_F(Issuers, RotateTheirKeys) {
  WebServer server;
  server.answer("/jwks", WebServer::json(old_.jwks()));
  GatewayProcess gateway(setup("https://id.example", "{ url: \"" + server.url() + "/jwks\" }"));
  const std::string old_token = old_.token("ES256", claims("https://id.example"));
  const std::string new_token = new_.token("ES256", claims("https://id.example"));
  ASSERT_TRUE(becomes(gateway, old_token, 200));
  EXPECT_EQ(status(gateway, old_token), 200);
  server.answer("/jwks", WebServer::json(new_.jwks()));
  const HttpResponse first = ask(gateway, new_token);
  EXPECT_EQ(first.status, 503) << "a 401 would have its client throw away a good token";
  EXPECT_EQ(first.header("retry-after"), "1");
  EXPECT_TRUE(becomes(gateway, new_token, 200));
  EXPECT_EQ(status(gateway, old_token), 401) << "its key has been taken back";
  const size_t asked = server.count("/jwks");
  EXPECT_EQ(asked, 2U);
  for (int i = 0; i < 5; ++i) {
    const HttpResponse refused = ask(gateway, old_token);
    EXPECT_EQ(refused.status, 401);
    EXPECT_THAT(refused.header("www-authenticate"), HasSubstr("error=\"invalid_token\""));
  }
  EXPECT_EQ(server.count("/jwks"), asked) << "not again within 30 s";
  EXPECT_EQ(fetches(gateway, "ok"), 2);
  const JsonValue state = state_of(gateway);
  EXPECT_EQ(state.text("/issuers/0/issuer"), "https://id.example");
  EXPECT_EQ(state.text("/issuers/0/source"), "url");
  EXPECT_TRUE(gateway.metrics()
                  .value("stdgate_issuer_keys_age_seconds", {{"issuer", "https://id.example"}})
                  .has_value());
  EXPECT_THAT(gateway.log(), AllOf(HasSubstr("keys of an issuer fetched"), Not(HasSubstr("eyJ"))));
}

// The reason is not in the answer to the client.
TEST_F(Issuers, WhatIsWrongWithATokenIsInTheLog) {
  folder_.write("jwks", old_.jwks());
  GatewayProcess gateway(setup("https://id.example", "{ file: " + folder_.path("jwks") + " }"));
  const auto logs = [&](const std::string& token, const std::string& wanted) {
    return eventually(wanted, [&] {
      EXPECT_THAT(ask(gateway, token).body, Not(HasSubstr("evil")));  // lines are limited in rate
      return gateway.log().find(wanted) != std::string::npos;
    });
  };
  EXPECT_TRUE(logs(old_.token("ES256", claims("https://evil.example")),
                   R"(the token's iss is \"https://evil.example\", not \"https://id.example\")"));
  EXPECT_TRUE(logs(old_.token("ES256", claims("https://id.example", "https://evil.example")),
                   R"(the token's aud is \"https://evil.example\", not \")" + kPublicUrl));
}

TEST_F(Issuers, AreAwaitedAtFirst) {
  WebServer server;
  server.answer("/jwks", "");
  GatewayProcess gateway(setup("https://id.example", "{ url: \"" + server.url() + "/jwks\" }"));
  const std::string token = old_.token("ES256", claims("https://id.example"));
  const HttpResponse waits = ask(gateway, token);
  EXPECT_EQ(waits.status, 503);
  EXPECT_EQ(waits.header("retry-after"), "1");
  EXPECT_EQ(waits.header("www-authenticate"), "");
  HttpClient client = gateway.connect();
  EXPECT_EQ(client.post("/rpc", request("echo", "[1]")).status, 401) << "no credential";
  HttpClient admin(gateway.admin_url());
  EXPECT_EQ(admin.get("/readyz").status, 200);
  EXPECT_EQ(state_of(gateway).number("/issuers/0/keys"), 0);
  // The gateway gives up a server that stalls, and asks it again.
  EXPECT_TRUE(eventually("it is asked", [&] { return server.count("/jwks") == 1; }));
  server.answer("/jwks", WebServer::json(old_.jwks()));
  EXPECT_TRUE(eventually(
      "it is given up", [&] { return fetches(gateway, "timeout") == 1; }, Millis(20'000)));
  EXPECT_TRUE(becomes(gateway, token, 200));
}

TEST_F(Issuers, AreUsedWhileTheyAreDown) {
  WebServer server;
  server.answer("/jwks", WebServer::json(old_.jwks()));
  GatewayProcess gateway(setup("https://id.example", "{ url: \"" + server.url() + "/jwks\" }"));
  const std::string token = old_.token("ES256", claims("https://id.example"));
  ASSERT_TRUE(becomes(gateway, token, 200));
  server.die();
  EXPECT_EQ(status(gateway, new_.token("ES256", claims("https://id.example"))), 503);
  EXPECT_TRUE(
      eventually("the fetch has failed", [&] { return fetches(gateway, "unreachable") > 0; }));
  EXPECT_EQ(status(gateway, token), 200);
  EXPECT_THAT(gateway.log(), HasSubstr("keys of an issuer not fetched"));
  EXPECT_THAT(state_of(gateway).text("/issuers/0/problem"), HasSubstr(server.url()));
}

TEST_F(Issuers, DescribeThemselves) {
  WebServer server;
  const std::string issuer = server.url() + "/tenant";
  const auto description = [&](const std::string& name) {
    return WebServer::json(R"({"issuer":")" + name + R"(","jwks_uri":")" + server.url() +
                           "/jwks\"}");
  };
  server.answer("/jwks", WebServer::json(old_.jwks()));
  server.answer("/tenant/.well-known/openid-configuration", description(issuer));
  const std::string token = old_.token("ES256", claims(issuer));
  {
    GatewayProcess gateway(setup(issuer, ""));
    EXPECT_TRUE(becomes(gateway, token, 200));
    EXPECT_EQ(state_of(gateway).text("/issuers/0/source"), "discovery");
  }
  server.answer("/tenant/.well-known/openid-configuration", WebServer::status("404 Not Found"));
  server.answer("/.well-known/oauth-authorization-server/tenant", description(issuer));
  {
    GatewayProcess gateway(setup(issuer, "{}"));
    EXPECT_TRUE(becomes(gateway, token, 200));
  }
  server.answer("/.well-known/oauth-authorization-server/tenant", description(server.url()));
  GatewayProcess gateway(setup(issuer, ""));
  EXPECT_TRUE(eventually("it is seen", [&] { return fetches(gateway, "wrong_issuer") > 0; }));
  EXPECT_EQ(status(gateway, token), 503);
}

TEST_F(Issuers, AreNotBelievedWhatTheyShouldNotSay) {
  WebServer other;
  other.answer("/jwks", WebServer::json(old_.jwks()));
  const std::pair<std::string, std::string> cases[] = {
      {WebServer::status("302 Found", "Location: " + other.url() + "/jwks\r\n"), "redirected"},
      {WebServer::status("500 Oops"), "bad_status"},
      {WebServer::status("200 OK", "Content-Type: text/html\r\n", old_.jwks()), "bad_content"},
      {WebServer::json("{\"keys\":[]}"), "bad_content"},
      {WebServer::json(R"({"a":")" + std::string(300 << 10, 'a') + "\"}"), "too_large"},
      {"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + std::string(300 << 10, ' '),
       "too_large"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n{", "unreachable"},
      {"no HTTP\r\n\r\n", "unreachable"},
  };
  for (const auto& [response, outcome] : cases) {
    WebServer server;
    server.answer("/jwks", response);
    GatewayProcess gateway(setup("https://id.example", "{ url: \"" + server.url() + "/jwks\" }"));
    EXPECT_TRUE(eventually(outcome, [&, name = outcome] { return fetches(gateway, name) > 0; }));
    EXPECT_EQ(status(gateway, old_.token("ES256", claims("https://id.example"))), 503);
  }
  EXPECT_EQ(other.count("/jwks"), 0U);
}

TEST_F(Issuers, AreKnownByTheirCertificates) {
  test::TestAuthority authority;
  WebServer server(authority.issue());
  server.answer("/jwks", WebServer::json(old_.jwks()));
  folder_.write("ca.crt", authority.certificate());
  const std::string token = old_.token("ES256", claims("https://id.example"));
  {
    GatewayProcess gateway(
        setup("https://id.example",
              "{ url: \"" + server.url() + "/jwks\", ca: " + folder_.path("ca.crt") + " }"));
    EXPECT_TRUE(becomes(gateway, token, 200));
  }
  const size_t asked = server.count("/jwks");
  GatewayProcess gateway(setup("https://id.example", "{ url: \"" + server.url() + "/jwks\" }"));
  EXPECT_TRUE(eventually("it is refused", [&] { return fetches(gateway, "untrusted") > 0; }));
  EXPECT_EQ(server.count("/jwks"), asked);
  EXPECT_EQ(status(gateway, token), 503);
}

// Neither claims of a token about its own keys, nor changes of a token, get past the fetched keys.
TEST_F(Issuers, NothingGetsPastTheirKeys) {
  WebServer server;
  WebServer evil;
  const TestIssuer thief(TestIssuer::Kind::p256, "thief");
  server.answer("/jwks", WebServer::json(old_.jwks()));
  evil.answer("/jwks", WebServer::json(thief.jwks()));
  GatewayProcess gateway(setup("https://id.example", "{ url: \"" + server.url() + "/jwks\" }"));
  const std::string good = claims("https://id.example");
  ASSERT_TRUE(becomes(gateway, old_.token("ES256", good), 200));
  const std::string as_old = R"({"alg":"ES256","kid":"old")";
  const std::string at_evil = "\"" + evil.url() + "/jwks\"}";
  const std::pair<std::string, std::string> cases[] = {
      {"a key of nobody", thief.token("ES256", good)},
      {"the kid of another", thief.token("ES256", as_old + "}", good)},
      {"without a kid", thief.token("ES256", R"({"alg":"ES256"})", good)},
      {"jku", thief.token("ES256", R"({"alg":"ES256","kid":"thief","jku":)" + at_evil, good)},
      {"x5u", thief.token("ES256", R"({"alg":"ES256","kid":"thief","x5u":)" + at_evil, good)},
      {"jwk",
       thief.token("ES256", R"({"alg":"ES256","kid":"thief","jwk":)" + thief.jwk() + "}", good)},
      {"crit", old_.token("ES256", as_old + R"(,"crit":["b64"],"b64":true})", good)},
      {"the public key as a secret", old_.confused_token(good)},
      {"none", old_.token("ES256", R"({"alg":"none","kid":"old"})", good)},
      {"another algorithm", old_.token("ES256", R"({"alg":"RS256","kid":"old"})", good)},
      {"another issuer", old_.token("ES256", claims("https://evil.example"))},
      {"another audience", old_.token("ES256", claims("https://id.example", "https://other"))},
      {"a longer audience",
       old_.token("ES256", claims("https://id.example", kPublicUrl + ".evil.example"))},
      {"another endpoint's",
       old_.token("ES256", claims("https://id.example", kPublicUrl + "/mcp"))},
  };
  // Before the gateway refuses an unknown key, it fetches the keys again.
  for (const auto& [name, token] : cases) EXPECT_TRUE(becomes(gateway, token, 401)) << name;
  EXPECT_EQ(status(gateway, old_.token("ES256", claims("https://id.example", kPublicUrl + "/rpc"))),
            200);
  EXPECT_EQ(evil.count("/jwks"), 0U);
}

// The gateway remembers that a token is valid, but checks the token's audience for each request.
TEST_F(Issuers, ATokenIsForTheEndpointThatItNames) {
  WebServer server;
  server.answer("/jwks", WebServer::json(old_.jwks()));
  GatewaySetup two = serve({backend("one", demo_server()), backend("two", demo_server())},
                           "auth: { public_url: \"" + kPublicUrl +
                               "\", jwt: [{ issuer: \"https://id.example\", jwks: { url: \"" +
                               server.url() + "/jwks\" } }] }\n");
  GatewayProcess gateway(two);
  const auto post = [&](const std::string& path, const std::string& token) {
    HttpClient client = gateway.connect();
    return client.post(path, request("echo", "[1]"), {{"authorization", "Bearer " + token}}).status;
  };
  const std::string one =
      old_.token("ES256", claims("https://id.example", kPublicUrl + "/one/rpc"));
  const std::string all = old_.token("ES256", claims("https://id.example"));
  EXPECT_TRUE(eventually("the keys have come", [&] { return post("/one/rpc", one) == 200; }));
  EXPECT_EQ(post("/two/rpc", one), 401);
  EXPECT_EQ(post("/one/rpc", one), 200);
  EXPECT_EQ(post("/one/rpc", all), 200);
  EXPECT_EQ(post("/two/rpc", all), 200);
}

}  // namespace
}  // namespace stdgate::harness::issuers_test

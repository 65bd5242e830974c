// Authentication: every request of a listener that demands it is judged, in one place.
#include "transports/http/authentication.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/http/codec_double.h"
#include "tests/unit/http/http_world.h"
#include "transports/http/admin_endpoint.h"
#include "transports/http/http1_head.h"
#include "transports/http/request_routing.h"

namespace stdgate::test {
namespace {

using auth::Judgement;
using testing::HasSubstr;

constexpr Duration kSlack = std::chrono::milliseconds(200);

// Accepts every key that begins with "key-of-", until `expires`.
class FakeAuthenticator final : public auth::Authenticator {
 public:
  explicit FakeAuthenticator(const Clock& clock) : clock_(clock) {}
  [[nodiscard]] TimePoint now() const override { return now_ == TimePoint{} ? clock_.now() : now_; }
  [[nodiscard]] uint32_t revision() const override { return revision_; }
  void change() { ++revision_; }
  void set_now(TimePoint now) { now_ = now; }
  [[nodiscard]] std::optional<Judgement> judge(const auth::Credential& credential) override {
    ++judged;
    constexpr std::string_view kPrefix = "key-of-";
    if (!credential.text.starts_with(kPrefix)) return std::nullopt;
    if (now() >= expires) return Judgement{Judgement::Outcome::expired};
    policy::Principal principal;
    principal.name = credential.text.substr(kPrefix.size());
    principal.roles = {"role-of-" + principal.name};
    return Judgement{Judgement::Outcome::accepted,
                     {std::make_shared<const policy::Principal>(principal), expires}};
  }

  TimePoint expires = TimePoint::max();
  int judged = 0;

 private:
  const Clock& clock_;
  TimePoint now_{};
  uint32_t revision_ = 1;
};

// Answers with the name of the caller, or streams for ever.
class NamingEndpoint final : public http::Endpoint {
 public:
  explicit NamingEndpoint(bool streams) : streams_(streams) {}
  [[nodiscard]] http::AllowedMethods allowed_methods() const override {
    return http::AllowedMethods::session;
  }
  std::optional<http::HttpError> admit(http::Exchange& /*exchange*/) override {
    return std::nullopt;
  }
  void serve(http::Exchange& exchange, std::span<char> /*body*/) override {
    if (streams_) return exchange.begin_stream({});
    const auto& principal = exchange.identity.principal;
    const std::string_view name =
        principal == nullptr ? std::string_view("nobody") : std::string_view(principal->name);
    exchange.respond({.content_type = "text/plain", .body = {&name, 1}});
  }

 private:
  const bool streams_;
};

struct AuthWorld : HttpWorld {
  AuthWorld() {
    routes.add("/name", "", std::make_unique<NamingEndpoint>(false));
    routes.add("/stream", "", std::make_unique<NamingEndpoint>(true));
    http::add_admin_routes(routes, source);
    add_index(routes);
    guarded = std::make_unique<http::Server>(
        http::HttpServices{loop, log, observer, callers, backends, options.limits, options.timeouts,
                           accounts},
        routes);
    Address loopback;
    loopback.host = "127.0.0.1";
    asking = *guarded->listen(loopback, {.tls = nullptr, .anonymous = false});
    anonymous = *guarded->listen(loopback);
    address = asking;
  }
  Answer ask(const std::string& request) { return TestClient(*this).ask(request); }

  FakeAuthenticator authenticator{loop};
  FixedAdminSource source;
  http::AdmissionPolicy policy{{.allowed_origins = {}, .allowed_hosts = {"*"}},
                               {&authenticator, {"role-of-ada"}}};
  http::Router routes{policy};
  std::unique_ptr<http::Server> guarded;
  Address asking;
  Address anonymous;
};

const std::string kAda = "Authorization: Bearer key-of-ada\r\n";
const std::string kBob = "X-API-Key: key-of-bob\r\n";

TEST(Authentication, KnowsWhoAsksEachTime) {
  AuthWorld world;
  TestClient client(world);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(client.ask(get("/name", kAda)).body, "ada");
    EXPECT_EQ(client.ask(get("/name")).status, 401);
    EXPECT_EQ(client.ask(get("/name", kBob)).body, "bob");
    EXPECT_EQ(client.ask(get("/name", "Authorization: Bearer other\r\n")).status, 401);
  }
  EXPECT_EQ(world.authenticator.judged, 9);
}

TEST(Authentication, KnowsTheSameHeadAgainOverTheSameConnectionOnly) {
  AuthWorld world;
  TestClient client(world);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(client.ask(get("/name", kAda)).body, "ada");
  EXPECT_EQ(world.authenticator.judged, 1);
  TestClient another(world);
  EXPECT_EQ(another.ask(get("/name", kAda)).body, "ada");
  EXPECT_EQ(world.authenticator.judged, 2);
  EXPECT_EQ(client.ask(get("/name", kBob)).body, "bob");
  EXPECT_EQ(client.ask(get("/name", kAda)).body, "ada");
  EXPECT_EQ(world.authenticator.judged, 4);
  // Refusals are not remembered.
  const std::string wrong = get("/name", "X-API-Key: wrong\r\n");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(client.ask(wrong).status, 401);
  EXPECT_EQ(world.authenticator.judged, 6);
}

TEST(Authentication, WhoIsKnownExpires) {
  AuthWorld world;
  TestClient client(world);
  world.authenticator.expires = world.loop.now() + std::chrono::hours(1);
  EXPECT_EQ(client.ask(get("/name", kAda)).body, "ada");
  EXPECT_EQ(client.ask(get("/name", kAda)).body, "ada");
  world.authenticator.set_now(world.authenticator.expires);
  EXPECT_EQ(client.ask(get("/name", kAda)).status, 401);
}

TEST(Authentication, WhoIsKnownIsJudgedAnewWhenWhatIsAcceptedHasChanged) {
  AuthWorld world;
  TestClient client(world);
  EXPECT_EQ(client.ask(get("/name", kAda)).body, "ada");
  world.authenticator.change();
  world.authenticator.expires = TimePoint{};  // as if the key had been revoked
  EXPECT_EQ(client.ask(get("/name", kAda)).status, 401);
  EXPECT_EQ(world.authenticator.judged, 2);
}

// A valid head is followed by a head with the same beginning that is cut off, and by an invalid
// head.
TEST(Authentication, WhoIsKnownIsNotTheSenderOfABadHead) {
  AuthWorld world;
  TestClient client(world);
  EXPECT_EQ(client.ask(get("/name", kAda)).body, "ada");
  client.send("GET /name HTTP/1.1\r\nHost: a b\r\n" + kAda + "\r\n");
  EXPECT_EQ(client.answer().status, 400);
  EXPECT_EQ(world.authenticator.judged, 1);
}

TEST(Authentication, WhoIsKnownIsForgottenWhenHisConnectionIsStill) {
  AuthWorld world;
  TestClient client(world);
  EXPECT_EQ(client.ask(get("/name", kAda)).body, "ada");
  EXPECT_EQ(client.ask(get("/name", kAda)).body, "ada");
  EXPECT_EQ(world.authenticator.judged, 1);
  const TimePoint end = world.loop.now() + http::Http1Connection::kKeptTime + kSlack;
  ASSERT_TRUE(world.until([&] { return world.loop.now() > end; }));
  EXPECT_EQ(client.ask(get("/name", kAda)).body, "ada") << "the connection is there still";
  EXPECT_EQ(world.authenticator.judged, 2);
  TestClient another(world);
  EXPECT_EQ(another.ask(get("/name", kAda)).body, "ada");
  EXPECT_EQ(world.authenticator.judged, 3) << "what is known is of one connection";
}

struct Shown {
  std::string fields;
  int status;
  std::string challenge;
};

TEST(Authentication, WhatMayBeShown) {
  const std::string none = "Bearer";
  const std::string invalid =
      "Bearer error=\"invalid_token\", error_description=\"this credential is not known\"";
  const std::string malformed = "Bearer error=\"invalid_request\", error_description=";
  const std::vector<Shown> cases = {
      {"", 401, none},
      {kAda, 200, ""},
      {kBob, 200, ""},
      {"authorization: bearer   key-of-ada  \r\n", 200, ""},
      {"AUTHORIZATION: BEARER key-of-ada\r\n", 200, ""},
      {"x-api-KEY:key-of-ada\r\n", 200, ""},
      {"Authorization: Bearer wrong\r\n", 401, invalid},
      {"X-API-Key: wrong\r\n", 401, invalid},
      {"Authorization: key-of-ada\r\n", 401, none},
      {"Authorization: Basic a2V5LW9mLWFkYQ==\r\n", 401, none},
      {"Authorization: Bearerkey-of-ada\r\n", 401, none},
      {"Proxy-Authorization: Bearer key-of-ada\r\n", 401, none},
      {"Cookie: authorization=key-of-ada\r\n", 401, none},
      {"X-Authorization: Bearer key-of-ada\r\n", 401, none},
      {"X-API-Keys: key-of-ada\r\n", 401, none},
      {"Authorization:\r\n", 401, none},
      {"Authorization: Bearer\r\n", 400, malformed},
      {"Authorization: Bearer \r\n", 400, malformed},
      {"X-API-Key:\r\n", 400, malformed},
      {"Authorization: Bearer key-of-ada key-of-bob\r\n", 400, malformed},
      {"Authorization: Bearer key-of-ada, Bearer key-of-bob\r\n", 400, malformed},
      {"Authorization: Bearer key-of-\xc3\xa4\r\n", 400, malformed},
      {kAda + kAda, 400, malformed},
      {kAda + "authorization: Basic x\r\n", 400, malformed},
      {"authorization: Basic x\r\n" + kAda, 400, malformed},
      {kBob + kBob, 400, malformed},
      {kAda + kBob, 400, malformed},
      {kAda + "X-API-Key:\r\n", 400, malformed},
      {"Authorization:\tBearer key-of-ada\r\n", 200, ""},
      {"Authorization: Bearer\tkey-of-ada\r\n", 401, none},
  };
  AuthWorld world;
  for (const Shown& shown : cases) {
    const Answer answer = world.ask(get("/name", shown.fields));
    EXPECT_EQ(answer.status, shown.status) << shown.fields;
    const std::string challenge = answer.field("WWW-Authenticate");
    EXPECT_TRUE(shown.status == 400 ? challenge.starts_with(shown.challenge)
                                    : challenge == shown.challenge)
        << shown.fields << challenge;
    EXPECT_EQ(answer.body.find("key-of"), std::string::npos) << answer.body;
  }
  // An ambiguous head is invalid as a whole.
  for (const char* bad :
       {"Authorization : Bearer key-of-ada\r\n", "X_API_Key: key-of-ada\r\n",
        "Authorization: Bearer\r\n key-of-ada\r\n", "Authorization: Bearer key-of-ada\n"}) {
    EXPECT_EQ(world.ask(get("/name", bad)).status, 400) << bad;
  }
  EXPECT_EQ(world.ask(get("/name?access_token=key-of-ada&api_key=key-of-ada")).status, 401);
}

TEST(Authentication, AnAnonymousListenerJudgesWhatIsShown) {
  AuthWorld world;
  world.address = world.anonymous;
  EXPECT_EQ(world.ask(get("/name")).body, "nobody");
  EXPECT_EQ(world.ask(get("/name", "Authorization: Basic eA==\r\n")).body, "nobody");
  EXPECT_EQ(world.ask(get("/name", kAda)).body, "ada");
  EXPECT_EQ(world.ask(get("/name", "X-API-Key: wrong\r\n")).status, 401);
  // The head is known by now, but the other listener demands a credential.
  EXPECT_EQ(world.ask(get("/name")).body, "nobody");
  world.address = world.asking;
  EXPECT_EQ(world.ask(get("/name")).status, 401);
}

TEST(Authentication, ComesBeforeWhatIsThere) {
  AuthWorld world;
  EXPECT_EQ(world.ask(get("/nowhere")).status, 401);
  EXPECT_EQ(world.ask(get("/nowhere", kAda)).status, 404);
  EXPECT_EQ(world.ask("PUT /name HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 401);
  EXPECT_EQ(world.ask("DELETE /name HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 401);
  EXPECT_EQ(TestClient(world).ask("HEAD /name HTTP/1.1\r\nHost: localhost\r\n\r\n", true).status,
            401);
  const std::string preflight =
      "Origin: http://localhost:1\r\nAccess-Control-Request-Method: GET\r\n";
  for (const std::string path : {"/name", "/nowhere"}) {
    const std::string options = "OPTIONS " + path + " HTTP/1.1\r\nHost: localhost\r\n";
    const Answer asked = world.ask(options + preflight + "\r\n");
    EXPECT_EQ(asked.status, 204) << path << ": a browser asks without credentials";
    EXPECT_EQ(asked.field("Allow"), "GET, HEAD, POST, DELETE, OPTIONS")
        << path << ": the answer does not tell what is there";
    EXPECT_EQ(world.ask(options + "\r\n").status, 401) << path << ": no browser asks so";
  }
  EXPECT_EQ(world.ask("OPTIONS /name HTTP/1.1\r\nHost: localhost\r\n" + kAda + "\r\n").status, 204);
  EXPECT_EQ(world.ask(get("/healthz")).status, 200) << "for everybody";
  EXPECT_EQ(world.ask(get("/name", kAda + "Sec-Fetch-Site: cross-site\r\n")).status, 403);
}

TEST(Authentication, AMessageIsRefusedByAMessage) {
  AuthWorld world;
  const Answer refused = world.ask(post("[]", "", "/name"));
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(refused.field("WWW-Authenticate"), "Bearer");
  EXPECT_THAT(refused.body, HasSubstr(R"("code":-32002,"message":"say who calls)"));
}

// The script of a page cannot set header fields for a WebSocket.
TEST(Authentication, APageIsToldHowAWebSocketSaysWhoCalls) {
  AuthWorld world;
  const std::string handshake = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
  const Answer refused = world.ask(get("/name", handshake));
  EXPECT_EQ(refused.status, 401);
  EXPECT_THAT(refused.body, HasSubstr("stdgate.bearer."));
  EXPECT_THAT(refused.body, HasSubstr("POST /ticket"));
  EXPECT_THAT(world.ask(get("/name")).body, testing::Not(HasSubstr("stdgate.bearer.")));
}

TEST(Authentication, AnExpiredOneIsRefusedAndItsStreamsEnd) {
  AuthWorld world;
  world.authenticator.expires = world.loop.now() + std::chrono::milliseconds(50);
  TestClient client(world);
  client.send(get("/stream", kAda));
  EXPECT_TRUE(client.wait_closed());
  EXPECT_THAT(client.received, HasSubstr("text/event-stream"));
  EXPECT_TRUE(client.received.ends_with("0\r\n\r\n")) << client.received;
  const Answer refused = world.ask(get("/name", kAda));
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(refused.field("WWW-Authenticate"),
            "Bearer error=\"invalid_token\", error_description=\"this credential has expired\"");
}

TEST(Authentication, NothingOfACredentialIsKeptOrLogged) {
  AuthWorld world;
  world.ask(get("/name", kAda));
  world.ask(get("/name", "X-API-Key: a-wrong-one\r\n"));
  world.ask(get("/name", kAda + kBob));
  for (const std::string& line : world.log.lines) {
    EXPECT_THAT(line, testing::Not(testing::AnyOf(HasSubstr("key-of"), HasSubstr("wrong-one"))));
  }
}

// A connection from another machine.
http::ConnectionTraits from_network() {
  http::ConnectionTraits traits;
  traits.reach = http::ConnectionTraits::Reach::network;
  return traits;
}

TEST(Authentication, OperatorsAlone) {
  AuthWorld world;
  const auto is_operator = [&](const std::string& fields) {
    http::Http1Head head;
    EXPECT_TRUE(head.parse(get("/debug/state", fields)));
    const auth::Identity nobody;
    const http::ConnectionTraits network = from_network();
    const auto identity = world.policy.authentication().identify({head, network, nobody});
    return identity && world.policy.authentication().is_operator(identity->principal.get());
  };
  EXPECT_FALSE(is_operator(""));
  EXPECT_TRUE(is_operator(kAda));
  EXPECT_FALSE(is_operator(kBob));
  EXPECT_FALSE(is_operator(kAda + kAda));
  using testing::Contains;
  EXPECT_THAT(world.routes.hints("/x", http::RouteAudience::operators).paths,
              Contains("/debug/state"));
  EXPECT_THAT(world.routes.hints("/debug/stat", http::RouteAudience::everyone).paths,
              testing::Not(Contains("/debug/state")));
}

// A signature is valid once, so judging it a second time would refuse its sender.
TEST(Authentication, ASenderIsJudgedOnceWithARequest) {
  struct Case {
    std::string path;
    std::string credential;
    int status;  // 0: the request is served
  };
  const std::string ada = "Bearer key-of-ada";
  const std::string bob = "Bearer key-of-bob";
  const Case cases[] = {
      {"/debug/state", ada, 0}, {"/debug/state", bob, 404}, {"/nosuch", ada, 404},
      {"/nosuch", bob, 404},    {"/name", bob, 0},
  };
  AuthWorld world;
  for (const Case& c : cases) {
    CodecDouble codec(*world.guarded, {.traits = from_network()});
    world.authenticator.judged = 0;
    EXPECT_EQ(codec.admit("GET", c.path, {{"Authorization", c.credential}}), c.status == 0)
        << c.path << c.credential;
    EXPECT_EQ(codec.sent.status, c.status) << c.path << c.credential;
    EXPECT_EQ(world.authenticator.judged, 1) << c.path << c.credential;
  }
}

// If clients must authenticate, all paths look alike until they do.
TEST(Authentication, NothingTellsWhichPathsAreServed) {
  AuthWorld world;
  http::ConnectionTraits traits = from_network();
  traits.anonymous = false;
  for (const std::string path : {"/name", "/stream", "/nosuch", "/a/mcp", "/a/rpc/stream"}) {
    CodecDouble codec(*world.guarded, {.traits = traits});
    EXPECT_FALSE(codec.admit("GET", path));
    EXPECT_EQ(codec.sent.status, 401) << path;
    EXPECT_EQ(codec.exchange.endpoint, nullptr) << path;
  }
}

TEST(Credentials, HaveALimit) {
  for (const auto& [size, is_good] :
       {std::pair{http::kMaxCredential, true}, std::pair{http::kMaxCredential + 1, false}}) {
    http::Http1Head head;
    ASSERT_TRUE(head.parse(get("/", "X-API-Key: " + std::string(size, 'k') + "\r\n")));
    http::DecodedCredential decoded;
    EXPECT_EQ(http::read_credential(head, decoded).has_value(), is_good) << size;
  }
}

}  // namespace
}  // namespace stdgate::test

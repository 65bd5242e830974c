// Admission: whether a request may call is judged in one place, for every path of every listener.
#include "transports/http/admission.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include "tests/unit/http/http_world.h"
#include "transports/http/admin_endpoint.h"
#include "transports/http/http1_head.h"

namespace stdgate::test {
namespace {

using testing::HasSubstr;

constexpr const char* kAccept = "Accept: text/event-stream\r\n";
constexpr const char* kCrossSite = "Sec-Fetch-Site: cross-site\r\n";
constexpr const char* kForeignPage = "Origin: https://evil.example\r\n";
constexpr const char* kKey = "Authorization: Bearer secret-of-somebody\r\n";

// Answers every request that is admitted.
class OpenEndpoint final : public http::Endpoint {
 public:
  std::optional<http::HttpError> admit(http::Exchange& /*exchange*/) override {
    return std::nullopt;
  }
  void serve(http::Exchange& exchange, std::span<char> /*body*/) override {
    ++served;
    exchange.respond({.status = 204});
  }
  int served = 0;
};

// A server with a policy that can change, a route that declares nothing, the admin pages, and the
// index.
struct AdmissionWorld : HttpWorld {
  explicit AdmissionWorld(http::OriginRules rules = {}, const char* host = "127.0.0.1")
      : policy(std::move(rules)) {
    auto endpoint = std::make_unique<OpenEndpoint>();
    open = endpoint.get();
    routes.add("/open", "", std::move(endpoint));
    http::add_admin_routes(routes, source);
    add_index(routes);
    guarded = std::make_unique<http::Server>(
        http::HttpServices{loop, log, observer, callers, backends, options.limits, options.timeouts,
                           accounts},
        routes);
    Address wanted;
    wanted.host = host;
    address = *guarded->listen(wanted);
  }
  int ask(const std::string& request) { return TestClient(*this).ask(request).status; }

  http::AdmissionPolicy policy;
  FixedAdminSource source;
  http::Router routes{policy};
  OpenEndpoint* open = nullptr;
  std::unique_ptr<http::Server> guarded;
};

// An address of this machine that others can reach; empty if there is none.
std::string network_address() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return {};
  std::string found;
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || at->ifa_addr->sa_family != AF_INET) continue;
    std::array<char, INET_ADDRSTRLEN> text{};
    const auto* ipv4 = reinterpret_cast<const sockaddr_in*>(at->ifa_addr);
    inet_ntop(AF_INET, &ipv4->sin_addr, text.data(), text.size());
    if (!std::string_view(text.data()).starts_with("127.")) found = text.data();
  }
  ::freeifaddrs(first);
  return found;
}

std::string at(const std::string& host, const std::string& target, const std::string& more = "") {
  return "GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n" + more + "\r\n";
}

TEST(Admission, GuardsEveryPathOfEveryListener) {
  AdmissionWorld world;
  for (const std::string path :
       {"/open", "/", "/healthz", "/readyz", "/metrics", "/debug/state", "/nothing"}) {
    EXPECT_NE(world.ask(get(path)), 403) << path;
    EXPECT_EQ(world.ask(get(path, kCrossSite)), 403) << path;
    EXPECT_EQ(world.ask(get(path, "Sec-Fetch-Site: same-site\r\n")), 403) << path;
    EXPECT_EQ(world.ask(get(path, kForeignPage)), 403) << path;
    EXPECT_EQ(world.ask(at("rebound.example", path)), 403) << path;
    EXPECT_EQ(world.ask(at("0.0.0.0:1", path)), 403) << path;
  }
  EXPECT_EQ(world.ask("OPTIONS * HTTP/1.1\r\nHost: rebound.example\r\n\r\n"), 403);
  EXPECT_EQ(world.ask("OPTIONS /open HTTP/1.1\r\nHost: rebound.example\r\n\r\n"), 403);
  EXPECT_EQ(world.open->served, 1);
}

TEST(Admission, GuardsTheEndpointsOfBackends) {
  HttpWorld world;
  const std::string body = call("1", "echo", "[]");
  for (const std::string fields : {kCrossSite, kForeignPage}) {
    EXPECT_EQ(TestClient(world).ask(post(body, fields)).status, 403) << fields;
    EXPECT_EQ(TestClient(world).ask(get("/rpc/stream?method=echo", kAccept + fields)).status, 403)
        << fields;
  }
  EXPECT_EQ(TestClient(world)
                .ask("POST /rpc HTTP/1.1\r\nHost: rebound.example\r\nContent-Length: 2\r\n"
                     "Content-Type: application/json\r\n\r\n[]")
                .status,
            403);
  EXPECT_TRUE(world.launcher.children.empty());
  // A request that a page of the same machine sends.
  const std::string page = "Origin: http://localhost:3000\r\n";
  EXPECT_EQ(TestClient(world).ask(post(body, kCrossSite + page)).status, 200);
  EXPECT_EQ(
      TestClient(world).ask(get("/rpc/stream?method=echo", kAccept + page + kCrossSite)).status,
      200);
}

TEST(Admission, ConnectionsToALoopbackAddressOfAnyAddress) {
  AdmissionWorld world({}, "0.0.0.0");
  world.address.host = "127.0.0.1";
  EXPECT_EQ(world.ask(at("localhost:1", "/open")), 204);
  EXPECT_EQ(world.ask(at("127.0.0.1:1", "/open")), 204);
  EXPECT_EQ(world.ask(at("rebound.example", "/open")), 403);
  EXPECT_EQ(world.ask(at("localhost:1", "/open", kForeignPage)), 403);
  EXPECT_EQ(world.ask(at("localhost:1", "/open", "Origin: http://127.0.0.1:3000\r\n")), 204);
}

TEST(Admission, ConnectionsFromTheNetwork) {
  const std::string ip = network_address();
  if (ip.empty()) GTEST_SKIP() << "this machine has no address but loopback ones";
  AdmissionWorld world({}, "0.0.0.0");
  world.address.host = ip;
  EXPECT_EQ(world.ask(at(ip + ":1", "/healthz")), 200);
  EXPECT_EQ(world.ask(at("localhost:1", "/healthz")), 403);
  EXPECT_EQ(world.ask(at("my-service:1", "/healthz")), 403);
  EXPECT_EQ(world.ask(at(ip, "/healthz", kForeignPage)), 403);
  EXPECT_EQ(world.ask(at(ip, "/healthz", "Origin: http://" + ip + "\r\n")), 200);
  // A GET that has an effect needs a header that no page sends.
  EXPECT_EQ(world.ask(at(ip, "/open")), 403);
  EXPECT_EQ(world.ask(at(ip, "/open", kKey)), 204);
  world.policy.replace({{}, {"my-service"}, true});
  EXPECT_EQ(world.ask(at("my-service:1", "/open")), 204);
  // An equal head on a connection from elsewhere is judged again.
  EXPECT_EQ(world.ask(at(ip, "/open")), 204);
  world.address.host = "127.0.0.1";
  EXPECT_EQ(world.ask(at(ip, "/open")), 403);
}

TEST(Admission, SaysWhatToAdd) {
  AdmissionWorld world;
  const Answer refused = TestClient(world).ask(at("my-service:8080", "/open"));
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, HasSubstr(R"(add allowed_hosts: [\"my-service\"] )"
                                      "(--allowed-hosts my-service)"));
  EXPECT_THAT(TestClient(world).ask(get("/open", kForeignPage)).body, HasSubstr("allowed_origins"));
  // The longest host that an answer names, and one byte more.
  const std::string longest(255, 'h');
  EXPECT_THAT(TestClient(world).ask(at(longest, "/open")).body, HasSubstr(longest));
  EXPECT_THAT(TestClient(world).ask(at(longest + 'h', "/open")).body,
              HasSubstr("see allowed_hosts"));
}

TEST(Admission, NewRulesHoldForARepeatedHead) {
  AdmissionWorld world;
  TestClient client(world);
  const std::string own = get("/open");
  const std::string foreign = at("gateway.example", "/open", "X-Requested-With: t\r\n");
  EXPECT_EQ(client.ask(own).status, 204);
  EXPECT_EQ(client.ask(foreign).status, 403);
  world.policy.replace({{}, {"gateway.example"}});
  EXPECT_EQ(client.ask(foreign).status, 204);
  EXPECT_EQ(client.ask(foreign).status, 204);
  world.policy.replace({});
  EXPECT_EQ(client.ask(foreign).status, 403);
  EXPECT_EQ(client.ask(own).status, 204);
}

TEST(Admission, WipesTheBytesOfAHead) {
  http::Http1Head head;
  ASSERT_TRUE(head.parse(get("/open", kKey)));
  EXPECT_TRUE(head.has_credentials());
  const char* bytes = head.block().data();
  const size_t size = head.block().size();
  head.wipe();
  EXPECT_EQ(head.block().data(), bytes);
  EXPECT_EQ(std::string(bytes, size), std::string(size, '\0'));
  ASSERT_TRUE(head.parse(get("/open")));
  EXPECT_FALSE(head.has_credentials());
}

TEST(Admission, EveryAnswerSaysNosniff) {
  AdmissionWorld world;
  for (const std::string& request :
       {get("/open"), get("/"), get("/nothing"), get("/open", kForeignPage),
        std::string("OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        std::string("nonsense\r\n\r\n")}) {
    EXPECT_EQ(TestClient(world).ask(request).field("X-Content-Type-Options"), "nosniff") << request;
  }
  HttpWorld backends;
  EXPECT_EQ(TestClient(backends)
                .ask(get("/rpc/stream?method=echo", kAccept))
                .field("X-Content-Type-Options"),
            "nosniff");
}

}  // namespace
}  // namespace stdgate::test

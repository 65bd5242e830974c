// A server is replaced by a server of the other era while the gateway serves. Messages that were
// written for the former server must not reach the wrong child or client.

#include "tests/unit/mcp/trip_bench.h"

namespace stdgate::test {
namespace {

using testing::AllOf;
using testing::IsEmpty;
using testing::SizeIs;

const std::string kOtherEraGreeting = R"({"protocolVersion":"2025-06-18","capabilities":{},)"
                                      R"("clientInfo":{"name":"ada","version":"1"}})";

backend::BackendOptions isolated(config::Isolation isolation) {
  backend::BackendOptions options = trip_options(isolation);
  options.config.revision = config::Revision::automatic;
  options.config.pool.max = 6;
  options.config.pool.max_in_flight = 1;
  return options;
}

// Starts the child, whose first request is `method`. The child refuses the request.
void refuse(FakeChild& child, const std::string& method) {
  child.start();
  const Asked asked = parse_asked(child.take_line());
  EXPECT_EQ(asked.method, method);
  child.say(R"({"jsonrpc":"2.0","id":)" + asked.id + R"(,"error":{"code":-32022,"message":"no"}})");
}

// The first child is legacy and busy, so the next message waits for another child, which is modern.
class McpOtherEra : public testing::Test {
 public:
  McpOtherEra() {
    session.call("1");
    bench.begin(0, kGreeting);
    EXPECT_EQ(bench.status().peer_kind, PeerKind::stateful);
  }
  // Two children are started and refuse the greeting, the second because the era is no longer
  // known. Then the gateway tries the modern era.
  FakeChild& modern() {
    refuse(bench.child(1), "initialize");
    bench.child(1).exit(1);
    bench.advance(seconds(1));
    refuse(bench.child(2), "initialize");
    bench.child(2).exit(1);
    bench.settle();
    FakeChild& child = bench.child(3);
    child.start();
    const Asked asked = parse_asked(child.take_line());
    EXPECT_EQ(asked.method, "server/discover");
    child.answer(asked.id, std::string(kDiscovery));
    return child;
  }

  TripBench bench{isolated(config::Isolation::shared)};
  SharedClient session{bench};
  FakeClient client{bench.callers};
};

TEST_F(McpOtherEra, WhatWasWrittenForLegacyChildrenReachesNoModernOne) {
  session.call("2");
  FakeChild& child = modern();
  EXPECT_THAT(child.take_lines(), IsEmpty());
  EXPECT_THAT(session.take().at(0),
              AllOf(HasSubstr(R"("id":2,"error")"), HasSubstr("the server is another one now")));
  // From now on, messages are written for the modern child.
  session.call("3");
  EXPECT_THAT(child.take_line(), HasSubstr("io.modelcontextprotocol/protocolVersion"));
}

// A legacy child knows no sealed claims, and receives claims as the client sent them. A modern
// child must not receive such claims.
class BroughtBackToAnotherEra : public McpOtherEra,
                                public testing::WithParamInterface<std::string> {
 public:
  static std::string tasks_listened() {
    return request("2", "subscriptions/listen",
                   R"("notifications":{"toolsListChanged":true,"taskIds":["t1"]})");
  }
};

TEST_P(BroughtBackToAnotherEra, IsJudgedForTheChildThatGetsIt) {
  bench.send_modern(client, GetParam());
  for (const std::string& line : modern().take_lines()) EXPECT_THAT(line, Not(HasSubstr("t1")));
  if (GetParam() == tasks_listened()) return;
  ASSERT_THAT(client.texts(), SizeIs(1));
  EXPECT_THAT(client.texts()[0], HasSubstr(R"("error")"));
}

INSTANTIATE_TEST_SUITE_P(
    Requests, BroughtBackToAnotherEra,
    testing::Values(request("2", "tasks/get", R"("taskId":"t1")"), request("2", "tasks/list"),
                    request("2", "completion/complete", R"("ref":{},"requestState":"t1")"),
                    request("2", "completion/complete", R"("ref":{})",
                            meta("{}",
                                 R"(,"io.modelcontextprotocol/related-task":{"taskId":"t1"})")),
                    BroughtBackToAnotherEra::tasks_listened()));

// The request was written before the era was known, and modern children know no such request.
TEST(McpUnknownEra, ASubscriptionThatWaitsReachesNoModernChild) {
  backend::BackendOptions options = isolated(config::Isolation::shared);
  options.config.pool.max_in_flight = 8;
  TripBench bench(options);
  SharedClient session(bench);
  session.subscribe("u:/1", "2");
  session.unsubscribe("u:/2", "3");
  refuse(bench.child(0), "initialize");
  bench.child(0).exit(1);
  bench.settle();
  FakeChild& child = bench.begin(1, kDiscovery);
  EXPECT_THAT(child.take_lines(), IsEmpty());
  EXPECT_THAT(session.take(), SizeIs(2));
}

// A legacy child has served ada alone, and waits for her next call. Then the server is replaced,
// and a session finds out that the server is modern. One of the former children is still shared.
class McpSharedAfterwards : public testing::Test {
 public:
  void SetUp() override {
    call("1", ada, kElicits);
    FakeChild& legacy = bench.child(0);
    legacy.start();
    legacy.say(R"({"jsonrpc":"2.0","id":)" + parse_asked(legacy.take_line()).id +
               R"(,"error":{"code":-32601,"message":"no"}})");
    legacy.answer(parse_asked(legacy.take_line()).id, std::string(kGreeting));
    legacy.take_lines();
    bench.greet(1);
    bench.child(1).answer(parse_asked(bench.child(1).take_line()).id, R"({"content":[]})");
    bench.settle();
    ASSERT_THAT(client.texts(), SizeIs(1));
    replace_server();
    ASSERT_EQ(bench.status().isolation, config::Isolation::shared);
    legacy.answer(busy);
  }
  void replace_server() {
    bench.BackendBench::call(plain, "2");
    busy = parse_asked(bench.child(0).take_line()).id;
    bench.BackendBench::call(plain, "3");  // another child is started for this call
    refuse(bench.child(2), "initialize");
    bench.child(2).exit(1);  // the next child is asked at once
    session.emplace(bench).request("initialize", kOtherEraGreeting);
    bench.advance(seconds(1));
    refuse(bench.child(4), "initialize");
    bench.child(4).exit(1);
    bench.advance(seconds(1));
    bench.BackendBench::call(plain, "4");  // will keep the modern child busy
    call("5", bob, kElicits);              // the era of the next child is not known
    bench.begin(3, kDiscovery);
  }
  void call(const std::string& id, const policy::Principal& by, const std::string& capabilities) {
    bench.call(client, id, "", capabilities, &by);
  }

  TripBench bench{isolated(config::Isolation::session)};
  FakeClient client{bench.callers};
  FakeClient plain{bench.callers};
  const policy::Principal ada = named("ada");
  const policy::Principal bob = named("bob");
  std::optional<SharedClient> session;
  std::string busy;  // the call that keeps the former shared child busy
};

TEST_F(McpSharedAfterwards, AChildThatHasServedOneClientAloneIsNotAnothersOne) {
  bench.advance(seconds(1));
  EXPECT_THAT(bench.child(1).take_lines(), IsEmpty()) << "it was ada's";
  EXPECT_GT(bench.launcher.launched(), 5U) << "bob's call gets another one";
}

}  // namespace
}  // namespace stdgate::test

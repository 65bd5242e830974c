// A modern server is replaced by a legacy one, as in the rollback of an upgrade. Sessions and
// clients continue.
#include <gmock/gmock.h>

#include "tests/unit/mcp/trip_bench.h"

namespace stdgate::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::string kAda = R"({"protocolVersion":"2025-06-18","capabilities":{},)"
                         R"("clientInfo":{"name":"ada","version":"1"}})";
const std::string kOldGreeting =
    R"({"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},)"
    R"("resources":{"subscribe":true}},"serverInfo":{"name":"old","version":"1"}})";
const std::string kNewDiscovery =
    R"({"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},)"
    R"("resources":{"subscribe":true}}})";
const std::string kToolsChanged =
    R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})";

backend::BackendOptions options_for(config::Isolation isolation) {
  backend::BackendOptions options = ModernBench::options_of(config::Revision::automatic, isolation);
  options.config.revive = true;
  options.config.pool.min = 0;
  options.config.pool.max = 3;
  options.config.pool.sessions = 5;
  return options;
}

class RolledBack : public testing::Test {
 public:
  explicit RolledBack(config::Isolation isolation) : bench(options_for(isolation)) {}

  // Starts the newest child.
  FakeChild& started() {
    FakeChild& child = bench.child(bench.launcher.launched() - 1);
    child.start();
    return child;
  }
  static void refuse(FakeChild& child, const std::string& method, int code) {
    const Asked asked = parse_asked(child.take_line());
    EXPECT_EQ(asked.method, method);
    child.say(R"({"jsonrpc":"2.0","id":)" + asked.id + R"(,"error":{"code":)" +
              std::to_string(code) + R"(,"message":"no"}})");
  }
  static void answer(FakeChild& child, const std::string& method, const std::string& result) {
    const Asked asked = parse_asked(child.take_line());
    EXPECT_EQ(asked.method, method);
    child.answer(asked.id, result);
  }
  // The gateway tries the child as a modern one, and then greets it as a legacy one.
  FakeChild& begin_legacy(bool is_probed) {
    FakeChild& refusing = started();
    refuse(refusing, "server/discover", -32601);
    refusing.exit(0);
    bench.settle();
    FakeChild& child = started();
    if (is_probed) refuse(child, "server/discover", -32601);
    answer(child, "initialize", kOldGreeting);
    EXPECT_THAT(child.take_line(), HasSubstr("notifications/initialized"));
    return child;
  }
  void lose(FakeChild& child) {
    child.take_lines();
    child.exit(0);
    bench.advance(seconds(1));
  }

  ModernBench bench;
};

class RolledBackShared : public RolledBack {
 public:
  RolledBackShared() : RolledBack(config::Isolation::shared) {}
  // The server is modern at first.
  FakeChild& begin_modern() {
    FakeChild& refusing = started();
    refuse(refusing, "initialize", -32022);
    refusing.exit(0);
    bench.settle();
    FakeChild& child = started();
    answer(child, "server/discover", kNewDiscovery);
    return child;
  }
};

TEST_F(RolledBackShared, SessionsGoOn) {
  SharedClient session(bench);
  session.request("initialize", kAda);
  FakeChild& modern = begin_modern();
  bench.settle();
  ASSERT_THAT(session.take(), ElementsAre(HasSubstr(R"("protocolVersion":"2025-06-18")")));
  session.subscribe("u:1", "2");
  EXPECT_THAT(session.take(), ElementsAre(empty_result("2")));
  bench.settle();
  ASSERT_EQ(bench.status().peer_kind, PeerKind::stateless);
  lose(modern);
  session.call("3");
  FakeChild& legacy = begin_legacy(false);
  EXPECT_EQ(bench.status().peer_kind, PeerKind::stateful);
  EXPECT_EQ(bench.status().failures, 1U) << "that of the former child alone";
  // The waiting call is served, and the session's subscription is made again.
  std::string subscription;
  for (const std::string& line : legacy.take_lines()) {
    const Asked asked = parse_asked(line);
    if (asked.method == "resources/subscribe") subscription = asked.uri;
    legacy.answer(asked.id, "{}");
  }
  EXPECT_EQ(subscription, "u:1");
  EXPECT_THAT(session.take(), ElementsAre(HasSubstr(R"("id":3,"result")")));
  legacy.say(updated("u:1"));
  EXPECT_THAT(session.take(), ElementsAre(HasSubstr(R"("uri":"u:1")")));
  legacy.say(kToolsChanged);
  EXPECT_THAT(session.take(), ElementsAre(kToolsChanged)) << "once";
  session.unsubscribe("u:1", "4");
  EXPECT_THAT(session.take(), ElementsAre(empty_result("4")));
  bench.settle();
  legacy.say(updated("u:1"));
  EXPECT_THAT(session.take(), IsEmpty());
  bench.backend.check_invariants();
  session.close();
  bench.settle();
  EXPECT_EQ(bench.callers.size(), 1U);
  EXPECT_EQ(bench.backend.calls(), 0U);
}

class RolledBackAlone : public RolledBack {
 public:
  RolledBackAlone() : RolledBack(config::Isolation::session) {}
  // The server turns out to be modern, and sessions share its children from then on.
  FakeChild& begin_modern() {
    FakeChild& own = started();
    refuse(own, "initialize", -32022);
    own.exit(0);
    bench.settle();
    FakeChild& child = started();
    answer(child, "server/discover", kNewDiscovery);
    bench.settle();
    EXPECT_EQ(bench.status().isolation, config::Isolation::shared);
    return child;
  }
};

TEST_F(RolledBackAlone, SessionsHaveChildrenOfTheirOwnAgain) {
  SharedClient session(bench);
  session.request("initialize", kAda);
  FakeChild& modern = begin_modern();
  ASSERT_THAT(session.take(), ElementsAre(HasSubstr(R"("protocolVersion":"2025-06-18")")));
  session.subscribe("u:1", "2");
  session.take();
  bench.settle();
  EXPECT_EQ(bench.callers.size(), 2U);
  lose(modern);
  session.call("3");
  FakeChild& shared = begin_legacy(true);
  EXPECT_EQ(bench.status().peer_kind, PeerKind::stateful);
  EXPECT_EQ(bench.status().isolation, config::Isolation::session);
  EXPECT_TRUE(bench.backend.owns_children());
  EXPECT_EQ(bench.status().failures, 1U) << "that of the former child alone";
  EXPECT_THAT(shared.take_lines(), IsEmpty()) << "it keeps something of each client";
  EXPECT_THAT(session.take(), ElementsAre(HasSubstr("the server is another one now")));
  EXPECT_EQ(bench.callers.size(), 1U) << "nobody listens for it";
  bench.backend.check_invariants();
  // The session is revived, like any session whose child has ended.
  session.call("4");
  FakeChild& own = started();
  const std::string greeting = own.take_line();
  EXPECT_THAT(greeting, HasSubstr(R"("method":"initialize","params":)" + kAda));
  own.answer(parse_asked(greeting).id, kOldGreeting);
  const auto lines = own.take_lines();
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_THAT(lines[0], HasSubstr("notifications/initialized"));
  EXPECT_EQ(parse_asked(lines[1]).uri, "u:1");
  own.answer(parse_asked(lines[2]).id, "{}");
  EXPECT_THAT(session.take(),
              ElementsAre(HasSubstr("the server was restarted"), kToolsChanged,
                          HasSubstr("resources/list_changed"), HasSubstr(R"("id":4,"result")")));
  EXPECT_FALSE(session.session().end.has_value());
  bench.backend.check_invariants();
}

TEST_F(RolledBackAlone, WhoBeginsMeanwhileIsGreetedByAChildOfItsOwn) {
  SharedClient first(bench);
  first.request("initialize", kAda);
  lose(begin_modern());
  first.take();
  SharedClient next(bench);
  SharedClient silent(bench);
  next.request("initialize", kAda, "7");
  begin_legacy(true);
  EXPECT_THAT(next.take(), IsEmpty()) << "its own child is to answer";
  FakeChild& own = started();
  answer(own, "initialize", kOldGreeting);
  EXPECT_THAT(next.take(), ElementsAre(HasSubstr(R"("id":7,"result":{"protocolVersion")")));
  next.send(note("initialized", "{}"));
  EXPECT_THAT(own.take_line(), HasSubstr("notifications/initialized"));
  silent.request("initialize", kAda, "8");
  EXPECT_EQ(parse_asked(started().take_line()).method, "initialize");
  bench.backend.check_invariants();
}

TEST_F(RolledBackAlone, CallsWithoutASessionGoOn) {
  SharedClient session(bench);
  session.request("initialize", kAda);
  lose(begin_modern());
  FakeClient plain(bench.callers);
  bench.send(plain, R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}})");
  FakeChild& legacy = begin_legacy(true);
  const std::string line = legacy.take_line();
  EXPECT_THAT(line, Not(HasSubstr("_meta"))) << line;
  legacy.answer(parse_asked(line).id, R"({"tools":[]})");
  EXPECT_THAT(plain.texts(), ElementsAre(HasSubstr(R"("tools":[])")));
}

TEST_F(RolledBackAlone, AndForwardAgain) {
  SharedClient session(bench);
  session.request("initialize", kAda);
  lose(begin_modern());
  session.take();
  session.call("2");
  lose(begin_legacy(true));
  session.take();
  // A new session finds the modern server, which is shared as before.
  SharedClient next(bench);
  next.request("initialize", kAda, "3");
  begin_modern();
  EXPECT_THAT(next.take(), ElementsAre(HasSubstr(R"("id":3,"result":{"protocolVersion")")));
  EXPECT_FALSE(session.session().end.has_value());
  session.request("ping", "{}", "4");
  EXPECT_THAT(session.take(), ElementsAre(empty_result("4")));
  bench.backend.check_invariants();
}

// The server fails to start, which says nothing about its era.
TEST_F(RolledBackAlone, AServerThatDoesNotStartIsNoOtherServer) {
  SharedClient session(bench);
  session.request("initialize", kAda);
  lose(begin_modern());
  session.take();
  session.call("2");
  started().exit(1);
  bench.settle();
  EXPECT_EQ(bench.status().peer_kind, PeerKind::stateless);
  EXPECT_EQ(bench.status().isolation, config::Isolation::shared);
  EXPECT_EQ(bench.status().failures, 2U);
}

}  // namespace
}  // namespace stdgate::test

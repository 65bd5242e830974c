// All that a session has at its backend ends with the session, whichever way the session ends. No
// session, call, caller or listener remains.

#include <functional>
#include <string>

#include "tests/support/fake_session.h"
#include "tests/unit/mcp/modern_bench.h"

namespace stdgate::test {
namespace {

using std::chrono::seconds;

const std::string kOwnGreeting = R"({"protocolVersion":"2025-06-18","capabilities":{},)"
                                 R"("clientInfo":{"name":"ada","version":"1"}})";
// The server's lists can change, so the gateway listens.
const std::string kChanging =
    R"({"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},)"
    R"("resources":{"subscribe":true}},)"
    R"("_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"3"}}})";

backend::BackendOptions options_with(config::Isolation isolation) {
  backend::BackendOptions options = ModernBench::options_of(config::Revision::automatic, isolation);
  options.config.revive = true;
  options.config.pool.max = 4;
  options.config.pool.sessions = 3;
  options.config.pool.idle_timeout = std::chrono::hours(1);
  return options;
}

// A server of both eras, whose shared child was asked and is modern.
class OwnershipWorld {
 public:
  explicit OwnershipWorld(config::Isolation isolation) : bench(options_with(isolation)) {
    FakeChild& asked = bench.child(0);
    asked.start();
    if (isolation == config::Isolation::shared) {
      // The child is greeted as a legacy one first, and refuses the greeting.
      asked.say(R"({"jsonrpc":"2.0","id":)" + asked.take_ids().at(0) +
                R"(,"error":{"code":-32022,"message":"no"}})");
      asked.exit(1);
      bench.settle();
      bench.child(1).start();
    }
    FakeChild& modern = bench.child(bench.launcher.launched() - 1);
    modern.answer(modern.take_ids().at(0), kChanging);
    bench.settle();
  }
  void adopt(FakeSession& session) {
    const auto id =
        bench.backend.adopt_session(session.caller(), session, {}, {kOwnGreeting, "2025-06-18"});
    ASSERT_TRUE(id.has_value()) << id.error().message;
    session.id = *id;
    bench.settle();
  }
  void close(FakeSession& session) {
    bench.close(session);
    bench.settle();
    bench.backend.check_invariants();
  }
  // A session that began here, with two calls under way and a subscription.
  void begin(FakeSession& session) {
    const size_t before = bench.launcher.launched();
    ASSERT_FALSE(bench.open(session).has_value());
    send(session, "1", "initialize", kOwnGreeting);
    if (bench.launcher.launched() > before) {
      FakeChild& own = bench.child(before);
      own.start();
      own.answer(own.take_ids().at(0), std::string(kGreeting));
    }
    send(session, "2", "resources/subscribe", R"({"uri":"a://1"})");
    send(session, "3", "tools/call", R"({"name":"t"})");
    send(session, "4", "tools/call", R"({"name":"t"})");
    bench.settle();
  }
  void send(FakeSession& session, const std::string& id, const std::string& method,
            const std::string& params) {
    bench.send(session, R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":")" + method +
                            R"(","params":)" + params + "}");
  }
  FakeChild& youngest() { return bench.child(bench.launcher.launched() - 1); }
  // Checks that nothing is left except `clients` callers.
  void expect_nothing(size_t clients = 0) {
    EXPECT_EQ(bench.backend.calls(), 0U);
    EXPECT_EQ(bench.status().sessions, 0U);
    EXPECT_EQ(bench.callers.size(), clients);
  }

  ModernBench bench;
};

class McpSessionOwnership : public testing::TestWithParam<config::Isolation> {};

TEST_P(McpSessionOwnership, TakenOverAndClosedAgain) {
  OwnershipWorld world(GetParam());
  ASSERT_EQ(world.bench.status().peer_kind, PeerKind::stateless);
  for (int i = 0; i < 20; ++i) {
    FakeSession session(world.bench.callers);
    world.adopt(session);
    world.close(session);
    world.expect_nothing(1);
  }
}

// The gateway listens for sessions that share modern children, and for no others.
TEST_P(McpSessionOwnership, OneWithAChildOfItsOwnHasNoListener) {
  OwnershipWorld world(GetParam());
  FakeSession session(world.bench.callers);
  world.adopt(session);
  const bool is_shared = GetParam() == config::Isolation::shared;
  EXPECT_EQ(world.bench.callers.size(), is_shared ? 2U : 1U);
  EXPECT_EQ(world.bench.backend.calls(), is_shared ? 1U : 0U);
  world.close(session);
  world.expect_nothing(1);
}

TEST_P(McpSessionOwnership, WhicheverWayLeadsToItsEnd) {
  using Way = std::function<void(OwnershipWorld&, FakeSession&)>;
  const std::pair<const char*, Way> ways[] = {
      {"its client leaves", [](auto&, auto&) {}},
      {"parked", [](auto& world, auto& of) { world.bench.backend.park_session(of.id); }},
      {"its calls are given up",
       [](auto& world, auto& of) { world.bench.backend.cancel_calls_of(of.caller()); }},
      {"its child has gone", [](auto& world, auto&) { world.youngest().exit(1); }},
      {"the same, a while ago",
       [](auto& world, auto&) {
         world.youngest().exit(1);
         world.bench.advance(seconds(10));
       }},
      {"its calls have timed out", [](auto& world, auto&) { world.bench.advance(seconds(30)); }},
      {"rules do not admit it any more",
       [](auto& world, auto&) {
         world.bench.backend.end_sessions(session::SessionEnd::denied, "no");
       }},
      {"who listens asks again", [](auto& world, auto&) { world.bench.backend.end_listening(); }},
      {"calls fail",
       [](auto& world, auto&) { world.bench.backend.fail_calls(rpc::faults::shutting_down()); }},
      {"a reload drains the backend", [](auto& world, auto&) { world.bench.backend.drain(); }},
      {"and ends its children",
       [](auto& world, auto&) {
         world.bench.backend.drain();
         world.bench.backend.end_children(seconds(1));
       }},
  };
  for (const auto& [what, happens] : ways) {
    SCOPED_TRACE(what);
    OwnershipWorld world(GetParam());
    FakeSession session(world.bench.callers);
    world.begin(session);
    happens(world, session);
    world.bench.settle();
    world.bench.backend.check_invariants();
    world.close(session);
    world.expect_nothing(1);
  }
}

// Only then does the gateway find out that the server is modern.
TEST(McpSessionOwnershipOfMoved, OneThatMovesToSharedChildren) {
  ModernBench bench(options_with(config::Isolation::session));
  FakeSession moved(bench.callers);
  FakeSession refused(bench.callers);
  const auto id =
      bench.backend.adopt_session(moved.caller(), moved, {}, {kOwnGreeting, "2025-06-18"});
  moved.id = id.value();
  ASSERT_FALSE(bench.open(refused).has_value());
  bench.send(refused,
             R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":)" + kOwnGreeting + "}");
  FakeChild& own = bench.child(bench.launcher.launched() - 1);
  own.start();
  own.say(R"({"jsonrpc":"2.0","id":)" + own.take_ids().at(0) +
          R"(,"error":{"code":-32022,"message":"no such version"}})");
  bench.settle();
  for (size_t i = 0; i < bench.launcher.launched(); ++i) {
    if (&bench.child(i) == &own) continue;
    bench.child(i).start();
    bench.child(i).answer(bench.child(i).take_ids().at(0), kChanging);
  }
  bench.settle();
  ASSERT_EQ(bench.status().isolation, config::Isolation::shared);
  bench.backend.check_invariants();
  EXPECT_EQ(bench.callers.size(), 4U) << "each is listened for";
  bench.close(moved);
  bench.close(refused);
  bench.settle();
  bench.backend.check_invariants();
  EXPECT_EQ(bench.callers.size(), 2U);
  EXPECT_EQ(bench.backend.calls(), 0U);
}

// --- Takeover with shared children -----------------------------------------------------------

constexpr const char* kListTools = R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}})";

TEST(McpSharedTakeOver, ALegacyServerOfAnotherRevisionEndsTheSession) {
  const std::pair<const char*, bool> cases[] = {
      {"2025-11-25", false}, {"2025-06-18", true}, {"", false}};
  for (const auto& [revision, ends] : cases) {
    SCOPED_TRACE(revision);
    ModernBench bench(config::Revision::legacy, config::Isolation::shared);
    FakeChild& child = bench.begin(0, kGreeting);
    FakeSession session(bench.callers);
    session.id =
        bench.backend.adopt_session(session.caller(), session, {}, {kOwnGreeting, revision})
            .value();
    bench.send(session, kListTools);
    child.answer(child.take_ids().at(0), R"({"tools":[]})");
    EXPECT_EQ(session.end.has_value(), ends);
    if (ends) {
      EXPECT_EQ(session.end_message, "the server speaks another revision of its protocol now");
    }
  }
}

// The era was not known when the session came.
TEST(McpSharedTakeOver, AModernServerIsListenedTo) {
  ModernBench bench(config::Revision::automatic, config::Isolation::shared);
  FakeSession session(bench.callers);
  session.id =
      bench.backend.adopt_session(session.caller(), session, {}, {kOwnGreeting, "2025-06-18"})
          .value();
  bench.send(session, kListTools);
  FakeChild& refusing = bench.child(0);
  refusing.start();
  refusing.say(R"({"jsonrpc":"2.0","id":)" + refusing.take_ids().at(0) +
               R"(,"error":{"code":-32022,"message":"no"}})");
  refusing.exit(1);
  bench.settle();
  FakeChild& child = bench.child(1);
  child.start();
  child.answer(child.take_ids().at(0), kChanging);
  bench.settle();
  EXPECT_EQ(bench.callers.size(), 1U) << "it has not been served yet";
  child.answer(child.take_ids().at(0), R"({"tools":[]})");
  bench.settle();
  EXPECT_FALSE(session.end.has_value());
  EXPECT_EQ(bench.callers.size(), 2U);
  EXPECT_EQ(parse_asked(child.take_line()).method, "subscriptions/listen");
}

INSTANTIATE_TEST_SUITE_P(Isolations, McpSessionOwnership,
                         testing::Values(config::Isolation::shared, config::Isolation::session));

}  // namespace
}  // namespace stdgate::test

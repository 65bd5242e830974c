// Sessions of legacy clients at a modern server that sleeps while they are idle.

#include "tests/unit/mcp/memory_bench.h"
#include "tests/unit/mcp/modern_bench.h"

namespace stdgate::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kChanging =
    R"({"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},)"
    R"("resources":{"subscribe":true}}})";

// Two sessions that have seen the only tool of their server.
class SleepingSessions : public testing::Test {
 public:
  static config::PoolConfig pool(uint32_t min) {
    config::PoolConfig pool;
    pool.min = min;
    pool.idle_timeout = seconds(30);
    return pool;
  }
  static backend::BackendOptions options(const config::PoolConfig& pool) {
    backend::BackendOptions options = remembered(config::Isolation::shared, MemoryBench::fresh());
    options.config.revision = config::Revision::modern;
    options.config.timeout = seconds(100);
    options.config.pool = pool;
    return options;
  }
  SleepingSessions() : SleepingSessions(pool(0)) {}
  explicit SleepingSessions(const config::PoolConfig& pool) : bench(options(pool)) {
    greet(ada);
    bench.begin(0, kChanging);
    ada.take();
    greet(bob);
    bob.take();
    list(ada);
    list(bob);
    bench.settle();
    EXPECT_THAT(serve(0), SizeIs(2)) << "one stream of each session";
  }
  static void greet(SharedClient& client) {
    client.request("initialize", R"({"protocolVersion":"2025-11-25","capabilities":{},)"
                                 R"("clientInfo":{"name":"c","version":"1"}})");
  }
  static void list(SharedClient& client) { client.request("tools/list", "{}", "2"); }
  // Answers the child's requests until no more come. Returns the ids of the streams.
  std::vector<std::string> serve(size_t child, const std::string& tools = kOneTool) {
    std::vector<std::string> streams;
    for (int turn = 0; turn < 8; ++turn) {
      for (const std::string& line : bench.child(child).take_lines()) {
        const Asked asked = parse_asked(line);
        if (asked.method == "subscriptions/listen") {
          streams.push_back(asked.id);
        } else if (asked.method == "tools/list") {
          bench.child(child).answer(asked.id, tools);
        } else if (!asked.id.empty()) {
          bench.child(child).answer(asked.id, asked.method == "server/discover" ? kChanging : "{}");
        }
      }
      bench.settle();
    }
    return streams;
  }
  // Starts the next child by a call of this client, and serves its requests.
  std::vector<std::string> wake(SharedClient& client, const std::string& tools) {
    ada.take();
    bob.take();
    client.request("tools/call", R"({"name":"a"})", "7");
    EXPECT_EQ(bench.launcher.launched(), 2U);
    bench.child(1).start();
    return serve(1, tools);
  }
  void sleep() {
    bench.advance(seconds(31));
    ASSERT_THAT(bench.child(0).ends(), SizeIs(1));
    bench.child(0).exit(0);
    bench.advance(seconds(10));
    ASSERT_TRUE(bench.status().asleep);
    ASSERT_EQ(bench.launcher.launched(), 1U) << "nothing of the sessions wakes it";
  }

  ModernBench bench;
  SharedClient ada{bench};
  SharedClient bob{bench};
};

TEST_F(SleepingSessions, TheServerSleepsAndTheyStay) {
  bench.advance(seconds(25));
  EXPECT_THAT(bench.child(0).ends(), IsEmpty());
  bench.advance(seconds(6));
  EXPECT_THAT(bench.child(0).take_lines(), SizeIs(2)) << "both streams are cancelled";
  EXPECT_THAT(bench.child(0).ends(), SizeIs(1));
  bench.child(0).exit(0);
  bench.advance(seconds(10));
  EXPECT_EQ(bench.launcher.launched(), 1U);
  EXPECT_EQ(bench.status().sessions, 2U);
  ada.take();
  list(ada);
  EXPECT_THAT(ada.take(), Contains(HasSubstr(R"("name":"a")")));
  EXPECT_EQ(bench.launcher.launched(), 1U) << "it is answered from memory";
  bench.backend.check_invariants();
}

TEST_F(SleepingSessions, AChangeThatWasMissedIsToldWhenItWakes) {
  sleep();
  EXPECT_THAT(wake(bob, kTwoTools), SizeIs(2)) << "both listen again";
  EXPECT_THAT(ada.take(), Contains(HasSubstr("notifications/tools/list_changed")));
  EXPECT_THAT(bob.take(), Contains(HasSubstr("notifications/tools/list_changed")));
}

TEST_F(SleepingSessions, NothingIsToldWhereNothingHasChanged) {
  sleep();
  const auto streams = wake(ada, kOneTool);
  ASSERT_THAT(streams, SizeIs(2));
  EXPECT_THAT(ada.take(), SizeIs(1)) << "the answer to its call";
  EXPECT_THAT(bob.take(), IsEmpty());
  bench.child(1).say(
      note("tools/list_changed",
           R"({"_meta":{"io.modelcontextprotocol/subscriptionId":)" + streams[0] + "}}"));
  EXPECT_EQ(ada.take().size() + bob.take().size(), 1U) << "the streams work";
}

// The server sleeps repeatedly, and the sessions are told of each change.
TEST_F(SleepingSessions, ItSleepsAgain) {
  sleep();
  wake(bob, kTwoTools);
  bench.advance(seconds(31));
  EXPECT_THAT(bench.child(1).ends(), SizeIs(1));
}

TEST_F(SleepingSessions, WorkKeepsItAwake) {
  for (int i = 0; i < 5; ++i) {
    bench.advance(seconds(20));
    bob.request("tools/call", R"({"name":"a"})", "7");
    serve(0);
    ASSERT_THAT(bench.child(0).ends(), IsEmpty());
  }
  bob.request("tools/call", R"({"name":"a"})", "8");
  bench.advance(seconds(40));
  EXPECT_THAT(bench.child(0).ends(), IsEmpty()) << "the call is under way";
}

TEST_F(SleepingSessions, ASubscriptionKeepsItAwake) {
  ada.subscribe("f:a", "3");
  bench.settle();
  serve(0);
  bench.advance(std::chrono::minutes(10));
  EXPECT_THAT(bench.child(0).ends(), IsEmpty());
  ada.unsubscribe("f:a", "4");
  bench.settle();
  serve(0);
  bench.advance(seconds(31));
  EXPECT_THAT(bench.child(0).ends(), SizeIs(1));
}

// A client that listens wants to know of a change at once, so the server must not sleep.
TEST_F(SleepingSessions, AModernClientsStreamKeepsItAwake) {
  FakeClient modern(bench.callers);
  bench.send_modern(
      modern, request("9", "subscriptions/listen", R"("notifications":{"toolsListChanged":true})"));
  serve(0);
  bench.advance(std::chrono::minutes(10));
  EXPECT_THAT(bench.child(0).ends(), IsEmpty());
}

TEST_F(SleepingSessions, ListsThatDifferCannotBeCompared) {
  for (int i = 0; i < 4; ++i) {
    list(i % 2 == 0 ? ada : bob);
    serve(0, i % 2 == 0 ? kOneTool : kTwoTools);
  }
  bench.advance(seconds(31));
  const bool is_kept = bench.child(0).ends().empty();
  EXPECT_EQ(is_kept, !bench.status().not_remembered.empty());
}

class SessionsOfAMinimum : public SleepingSessions {
 public:
  SessionsOfAMinimum() : SleepingSessions(pool(1)) {}
};

TEST_F(SessionsOfAMinimum, KeepTheirStreams) {
  bench.advance(std::chrono::minutes(10));
  EXPECT_THAT(bench.child(0).ends(), IsEmpty());
  EXPECT_THAT(bench.child(0).take_lines(), IsEmpty());
}

class SessionsOfTwoChildren : public SleepingSessions {
 public:
  SessionsOfTwoChildren() : SleepingSessions(two()) {}
  static config::PoolConfig two() {
    config::PoolConfig two = pool(0);
    two.max = 2;
    two.max_in_flight = 1;
    return two;
  }
};

TEST_F(SessionsOfTwoChildren, TheServerSleepsOnceTheOtherHasGone) {
  ada.request("tools/call", R"({"name":"a"})", "7");
  bob.request("tools/call", R"({"name":"a"})", "8");
  ASSERT_EQ(bench.launcher.launched(), 2U);
  bench.child(1).start();
  serve(0);
  serve(1);
  bench.advance(seconds(31));
  ASSERT_THAT(bench.child(1).ends(), SizeIs(1));
  ASSERT_THAT(bench.child(0).ends(), IsEmpty()) << "it is not the last child yet";
  bench.child(1).exit(0);
  bench.advance(seconds(31));
  EXPECT_THAT(bench.child(0).ends(), SizeIs(1));
}

}  // namespace
}  // namespace stdgate::test

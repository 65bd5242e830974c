// A server that sleeps: which requests are answered without it, and what changes when its next
// child runs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/mcp/memory_bench.h"

namespace stdgate::test {
namespace {

using config::Isolation;
using mcp::McpListKind;

// --- Children that clients share ------------------------------------------------------------

class SharedMemoryTest : public testing::Test {
 protected:
  // Lets the server answer, and then sleep.
  void teach(const std::string& list = kOneTool) {
    bench_.send(client_, request_text("1", "initialize"));
    FakeChild& child = bench_.greet_shared();
    bench_.send(client_, request_text("2", "tools/list"));
    child.answer(child.take_ids().at(0), list);
    bench_.idle();
    client_.answers.clear();
    ASSERT_EQ(bench_.launcher.running(), 0U);
  }

  MemoryBench bench_{Isolation::shared};
  FakeClient client_{bench_.callers};
};

TEST_F(SharedMemoryTest, AnswersWithoutAChild) {
  teach();
  bench_.send(client_, request_text("1", "initialize"));
  bench_.send(client_, request_text("2", "tools/list"));
  bench_.send(client_, request_text("3", "ping"));
  EXPECT_THAT(client_.texts(), ElementsAre(result_text("1", kTerms), result_text("2", kOneTool),
                                           result_text("3", "{}")));
  EXPECT_EQ(bench_.launcher.running(), 0U);
  EXPECT_EQ(bench_.observer.remembered, 3);
  EXPECT_TRUE(bench_.status().asleep);
  EXPECT_TRUE(bench_.status().ready);
  EXPECT_THAT(bench_.status().remembered, ElementsAre("greeting", "tools"));
}

TEST_F(SharedMemoryTest, AsksWhatIsNotKnown) {
  teach();
  bench_.send(client_, request_text("2", "prompts/list"));
  EXPECT_THAT(client_.answers, IsEmpty());
  EXPECT_EQ(bench_.launcher.running(), 1U);
}

TEST_F(SharedMemoryTest, AsksWhileAChildRuns) {
  teach();
  bench_.send(client_, request_text("1", "m"));
  bench_.send(client_, request_text("2", "tools/list"));
  EXPECT_THAT(client_.answers, IsEmpty());
  FakeChild& child = bench_.greet_shared();
  EXPECT_EQ(child.take_ids().size(), 0U) << "they were taken with the handshake";
}

TEST_F(SharedMemoryTest, AsksForWhatIsMoreThanAList) {
  teach();
  bench_.send(client_, R"({"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"filter":"x"}})");
  EXPECT_THAT(client_.answers, IsEmpty());
  EXPECT_EQ(bench_.launcher.running(), 1U);
}

TEST_F(SharedMemoryTest, WithoutAnAnswerWakesTheServer) {
  bench_.send(client_, request_text("1", "tools/list"));
  EXPECT_EQ(bench_.launcher.running(), 1U);
  EXPECT_EQ(bench_.observer.remembered, 0);
}

TEST_F(SharedMemoryTest, GivesAListOfPagesAsOne) {
  bench_.send(client_, request_text("1", "initialize"));
  FakeChild& child = bench_.greet_shared();
  bench_.send(client_, request_text("2", "tools/list"));
  child.answer(child.take_ids().at(0), R"({"x":1,"tools":[{"name":"a"}],"nextCursor":"p"})");
  const std::string text = client_.answers.back().text;
  const size_t at = text.find(R"("nextCursor":)") + 13;
  const std::string cursor = text.substr(at, text.find('"', at + 1) + 1 - at);
  bench_.send(client_, R"({"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":)" +
                           cursor + "}}");
  child.answer(child.take_ids().at(0), R"({"tools":[{"name":"b"}]})");
  bench_.idle();
  client_.answers.clear();
  bench_.send(client_, request_text("4", "tools/list"));
  EXPECT_THAT(client_.texts(),
              ElementsAre(result_text("4", R"({"x":1,"tools":[{"name":"a"},{"name":"b"}]})")));
  EXPECT_EQ(bench_.launcher.running(), 0U);
}

TEST_F(SharedMemoryTest, TellsThoseWhoHaveGotAnotherList) {
  teach();
  FakeSession session(bench_.callers);
  FakeSession other(bench_.callers);
  ASSERT_FALSE(bench_.open(session));
  ASSERT_FALSE(bench_.open(other));
  bench_.send(session, greeting());
  bench_.send(session, request_text("2", "tools/list"));
  EXPECT_THAT(session.take(), ElementsAre(result_text("1", kTerms), result_text("2", kOneTool)));
  EXPECT_EQ(bench_.launcher.running(), 0U);
  bench_.send(session, request_text("3", "m"));
  FakeChild& child = bench_.last();
  child.start();
  child.answer(child.take_ids().at(0), kTerms);
  auto ids = child.take_ids();
  ASSERT_THAT(ids, SizeIs(1)) << "the call that has woken it goes first";
  child.answer(ids.at(0));
  bench_.settle();
  ids = child.take_ids();
  ASSERT_THAT(ids, SizeIs(1));
  child.answer(ids.at(0), kTwoTools);
  bench_.settle();
  EXPECT_THAT(session.take(), ElementsAre(result_text("3"), kToolsChanged));
  EXPECT_THAT(other.take(), IsEmpty()) << "it has been told no list";
  EXPECT_EQ(bench_.memory->list({}, McpListKind::tools)->payload, kTwoTools);
}

TEST_F(SharedMemoryTest, SaysNothingWhereNothingHasChanged) {
  teach();
  FakeSession session(bench_.callers);
  ASSERT_FALSE(bench_.open(session));
  bench_.send(session, request_text("2", "tools/list"));
  session.take();
  bench_.send(session, request_text("3", "m"));
  bench_.serve(kOneTool);
  EXPECT_THAT(session.take(), ElementsAre(result_text("3")));
}

TEST_F(SharedMemoryTest, AnotherRequestOfTheGatewayIsNoneOfItsQuestions) {
  teach();
  FakeSession session(bench_.callers);
  ASSERT_FALSE(bench_.open(session));
  bench_.send(session, request_text("2", "tools/list"));
  bench_.send(session, request_text("3", "m"));
  FakeChild& child = bench_.last();
  child.start();
  child.answer(child.take_ids().at(0), kTerms);
  child.answer(child.take_ids().at(0));
  bench_.settle();
  const std::string question = child.take_ids().at(0);
  session.take();

  call::CallContext context;
  context.caller = session::Callers::kGateway;
  context.is_own = true;
  std::string text = R"({"jsonrpc":"2.0","id":"x","method":"other/list"})";
  const rpc::KnownMessage other(text);
  bench_.backend.accept({other.envelope(), nullptr}, context);
  child.answer(child.take_ids().at(0));
  bench_.settle();
  EXPECT_THAT(session.take(), IsEmpty()) << "the question is still open";
  child.answer(question, kOneTool);
  bench_.settle();
  EXPECT_THAT(session.take(), IsEmpty()) << "nothing has changed";
}

TEST_F(SharedMemoryTest, ForgetsAListThatTheChildSaysHasChanged) {
  bench_.send(client_, request_text("1", "initialize"));
  FakeChild& child = bench_.greet_shared();
  bench_.send(client_, request_text("2", "tools/list"));
  child.answer(child.take_ids().at(0), kOneTool);
  child.say(kToolsChanged);
  bench_.idle();
  bench_.send(client_, request_text("9", "tools/list"));
  EXPECT_EQ(bench_.launcher.running(), 1U);
}

TEST_F(SharedMemoryTest, IsNotUsedWhileTheServerKeepsFailing) {
  teach();
  for (int i = 0; i < 6; ++i) {
    bench_.send(client_, request_text("1", "m"));
    if (bench_.launcher.running() == 0) break;
    bench_.last().exit(1);
    bench_.advance(minutes(1));
  }
  client_.answers.clear();
  bench_.send(client_, request_text("2", "tools/list"));
  EXPECT_THAT(client_.texts(), Not(testing::Contains(result_text("2", kOneTool))));
}

// --- Children of sessions -------------------------------------------------------------------

class SessionMemoryTest : public testing::Test {
 protected:
  // Lets a session ask its child, and closes the session.
  void teach(const std::string& list = kOneTool) {
    FakeSession first(bench_.callers);
    FakeChild& child = bench_.greet_own(first);
    bench_.send(first, request_text("2", "tools/list"));
    child.answer(child.take_ids().at(0), list);
    bench_.close(first);
    child.exit(0);
    bench_.settle();
    ASSERT_EQ(bench_.launcher.running(), 0U);
  }
  // Opens a session while the server sleeps.
  void begin(FakeSession& session, const std::string& text = greeting()) {
    ASSERT_FALSE(bench_.open(session));
    bench_.send(session, text);
    bench_.send(session, note_text("notifications/initialized"));
    bench_.send(session, request_text("2", "tools/list"));
  }
  // Sends the first call that needs a child. The gateway greets the child, which has this list and
  // serves the call.
  FakeChild& wake(FakeSession& session, const std::string& list,
                  const std::string& terms = kTerms) {
    bench_.send(session, request_text("3", "m"));
    FakeChild& child = bench_.last();
    child.start();
    const auto greeted = child.take_lines();
    EXPECT_THAT(greeted, ElementsAre(HasSubstr("initialize")));
    child.answer(id_in(greeted.at(0)), terms);
    const auto lines = child.take_lines();
    EXPECT_THAT(lines, ElementsAre(HasSubstr("notifications/initialized"), HasSubstr(R"("m")")));
    child.answer(id_in(lines.back()));
    for (int i = 0; i < 4; ++i) {
      bench_.settle();
      for (const std::string& line : child.take_lines()) {
        EXPECT_THAT(line, HasSubstr("tools/list"));
        child.answer(id_in(line), list);
      }
    }
    return child;
  }

  MemoryBench bench_{Isolation::session};
};

TEST_F(SessionMemoryTest, OpensSessionsParked) {
  teach();
  FakeSession session(bench_.callers);
  session.held = session::ClientHold::nothing;
  begin(session);
  EXPECT_THAT(session.take(), ElementsAre(result_text("1", kTerms), result_text("2", kOneTool)));
  EXPECT_EQ(bench_.launcher.running(), 0U);
  EXPECT_EQ(bench_.status().parked_sessions, 1U);
  wake(session, kOneTool);
  EXPECT_THAT(session.take(), ElementsAre(result_text("3")));
  EXPECT_EQ(bench_.status().parked_sessions, 0U);
}

TEST_F(SessionMemoryTest, TellsASessionThatHasGotAnotherList) {
  teach();
  FakeSession session(bench_.callers);
  begin(session);
  session.take();
  wake(session, kTwoTools);
  EXPECT_THAT(session.take(), ElementsAre(result_text("3"), kToolsChanged));
}

TEST_F(SessionMemoryTest, TellsAlsoThoseThatSleepOn) {
  teach();
  FakeSession session(bench_.callers);
  FakeSession other(bench_.callers);
  begin(session);
  begin(other);
  session.take();
  other.take();
  wake(session, kTwoTools);
  EXPECT_THAT(other.take(), ElementsAre(kToolsChanged));
}

TEST_F(SessionMemoryTest, TellsASessionOfAnotherServer) {
  teach();
  FakeSession session(bench_.callers);
  begin(session);
  session.take();
  const std::string terms =
      R"({"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"z"}})";
  wake(session, kOneTool, terms);
  EXPECT_THAT(session.take(), ElementsAre(kToolsChanged, result_text("3")));
  bench_.close(session);
  bench_.last().exit(0);
  bench_.settle();
  FakeSession next(bench_.callers);
  begin(next);
  EXPECT_THAT(next.take(), testing::Contains(result_text("1", terms)));
}

TEST_F(SessionMemoryTest, LeavesToTheChildWhatIsToBeAgreedOn) {
  teach();
  for (const std::string& other :
       {greeting("2024-11-05"), greeting("2025-11-25", R"({"roots":{}})")}) {
    FakeSession session(bench_.callers);
    ASSERT_FALSE(bench_.open(session));
    bench_.send(session, other);
    EXPECT_THAT(session.take(), IsEmpty());
    EXPECT_EQ(bench_.launcher.running(), 1U);
    bench_.close(session);
    bench_.last().exit(0);
    bench_.settle();
  }
}

// If the server agreed on an older revision than requested, the next client's request goes to the
// server. The client may know both revisions.
TEST_F(SessionMemoryTest, DoesNotAnswerWithARevisionThatWasNotAskedFor) {
  FakeSession first(bench_.callers);
  FakeChild& child = bench_.greet_own(
      first, greeting(), R"({"protocolVersion":"2025-06-18","capabilities":{"tools":{}}})");
  bench_.close(first);
  child.exit(0);
  bench_.settle();
  FakeSession session(bench_.callers);
  ASSERT_FALSE(bench_.open(session));
  bench_.send(session, greeting());
  EXPECT_THAT(session.take(), IsEmpty());
  EXPECT_EQ(bench_.launcher.running(), 1U);
}

class TwoSessionsMemoryTest : public SessionMemoryTest {
 protected:
  void list(FakeSession& session, FakeChild& child, const std::string& list) {
    bench_.send(session, request_text("2", "tools/list"));
    child.answer(child.take_ids().at(0), list);
  }

  FakeSession first_{bench_.callers};
  FakeSession second_{bench_.callers};
  FakeChild& one_ = bench_.greet_own(first_);
  FakeChild& other_ = bench_.greet_own(second_);
};

TEST_F(TwoSessionsMemoryTest, ListsThatDifferAreFoundOut) {
  list(first_, one_, kOneTool);
  list(second_, other_, kTwoTools);
  EXPECT_TRUE(bench_.memory->lists_differ());
  EXPECT_EQ(bench_.status().not_remembered, "its lists differ between clients");
  bench_.close(first_);
  bench_.close(second_);
  one_.exit(0);
  other_.exit(0);
  bench_.settle();
  FakeSession session(bench_.callers);
  ASSERT_FALSE(bench_.open(session));
  bench_.send(session, greeting());
  EXPECT_THAT(session.take(), ElementsAre(result_text("1", kTerms))) << "that is alike";
  bench_.send(session, request_text("2", "tools/list"));
  EXPECT_EQ(bench_.launcher.running(), 1U);
}

TEST_F(TwoSessionsMemoryTest, AListThatAChildSaysHasChangedDiffersFromNone) {
  list(first_, one_, kOneTool);
  one_.say(kToolsChanged);
  list(second_, other_, kTwoTools);
  EXPECT_FALSE(bench_.memory->lists_differ());
}

TEST_F(SessionMemoryTest, ASessionThatLeavesDuringACheckEndsIt) {
  teach();
  FakeSession session(bench_.callers);
  begin(session);
  bench_.send(session, request_text("3", "m"));
  FakeChild& child = bench_.last();
  child.start();
  child.answer(id_in(child.take_line()), kTerms);
  child.answer(id_in(child.take_lines().back()));
  bench_.settle();
  ASSERT_THAT(child.take_lines(), ElementsAre(HasSubstr("tools/list")));
  bench_.close(session);
  child.exit(0);
  bench_.settle();
  FakeSession next(bench_.callers);
  begin(next);
  EXPECT_THAT(next.take(), SizeIs(2));
}

// --- Another program ------------------------------------------------------------------------

TEST(Memory, IsThatOfTheProgramThatWouldRunNow) {
  auto memory = MemoryBench::fresh();
  auto found = memory;
  backend::BackendOptions options = remembered(Isolation::shared, memory);
  options.make_sleeping = [&found](const backend::SleepingServer::Parts& parts) {
    return std::make_unique<mcp::MemoryFilter>([&found] { return found; }, parts);
  };
  memory->learn_list({}, PeerKind::stateful, McpListKind::tools, kOneTool, {}, true,
                     [](const mcp::MemorySource&) { return false; });
  BackendBench bench(options, std::make_unique<mcp::McpDialect>("1"));
  FakeClient client(bench.callers);
  bench.send(client, request_text("1", "tools/list"));
  EXPECT_THAT(client.texts(), ElementsAre(result_text("1", kOneTool)));
  found = MemoryBench::fresh();
  bench.advance(mcp::MemoryFilter::kLookEvery);
  bench.send(client, request_text("2", "tools/list"));
  EXPECT_THAT(client.answers, SizeIs(1));
  FakeChild& child = bench.start_child();
  child.answer(child.take_ids().at(0), kTerms);
  child.answer(id_in(child.take_lines().back()), kTwoTools);
  EXPECT_EQ(found->list({}, McpListKind::tools)->payload, kTwoTools);
  EXPECT_EQ(memory->list({}, McpListKind::tools)->payload, kOneTool);
}

// --- Rules --------------------------------------------------------------------------------------

TEST(Memory, StandsBelowTheRules) {
  backend::BackendOptions options = remembered(Isolation::shared, MemoryBench::fresh());
  options.config.rules = {{.allow = {"all"}}, {.allow = {"*"}, .tools = {"b"}}};
  BackendBench bench(options, std::make_unique<mcp::McpDialect>("1"));
  // Filters of the protocol below the memory are about children only.
  EXPECT_THAT(bench.backend.filters(),
              ElementsAre("names", "capacity", "eras", "rules", "lists", "memory", "modern",
                          "claims", "params", "sessions", "greetings", "trace", "bridge", "pool"));
  FakeClient client(bench.callers);
  const auto list = [&](std::vector<std::string> roles) {
    policy::Principal who;
    who.roles = std::move(roles);
    std::string text = request_text("1", "tools/list");
    rpc::EnvelopeParser parser{rpc::EnvelopeLimits{}};
    call::CallContext context;
    context.caller = client.caller();
    context.arrived = bench.clock.now();
    context.principal = &who;
    bench.backend.accept(parser.parse(text).value().messages[0], context);
  };
  list({});
  FakeChild& child = bench.start_child();
  child.answer(child.take_ids().at(0), kTerms);
  child.answer(id_in(child.take_lines().back()), kTwoTools);
  bench.advance(seconds(2));
  child.exit(0);
  list({"all"});
  list({});
  const std::string cut = R"({"tools":[{"name":"b"}]})";
  EXPECT_THAT(client.texts(), ElementsAre(result_text("1", cut), result_text("1", kTwoTools),
                                          result_text("1", cut)));
  EXPECT_EQ(bench.observer.remembered, 2);
}

// --- A process that follows another one -----------------------------------------------------

// A server that may be of the modern era, with children for sessions.
class RefusalMemoryTest : public testing::Test {
 protected:
  static std::unique_ptr<BackendBench> bench(std::shared_ptr<mcp::ServerMemory> memory) {
    backend::BackendOptions options = remembered(Isolation::session, std::move(memory));
    options.config.revision = config::Revision::automatic;
    return std::make_unique<BackendBench>(options, std::make_unique<mcp::McpDialect>("1"));
  }
  static void open(BackendBench& bench, FakeSession& session) {
    ASSERT_FALSE(bench.open(session));
    bench.send(session, greeting());
  }
  // Starts the child that was launched last. Checks and keeps its first message.
  FakeChild& begin(BackendBench& bench, const std::string& method) {
    FakeChild& child = bench.child(bench.launcher.launched() - 1);
    child.start();
    first_ = child.take_line();
    EXPECT_THAT(first_, HasSubstr(method));
    return child;
  }
  void refuse(FakeChild& child, const std::string& code) const {
    child.say(R"({"jsonrpc":"2.0","id":)" + id_in(first_) + R"(,"error":{"code":)" + code +
              R"(,"message":"no"}})");
  }

  std::string first_;
  const std::string discovery_ =
      R"({"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}})";
  const std::string agreed_ = R"("protocolVersion":"2025-11-25")";
  std::shared_ptr<mcp::ServerMemory> memory_ = MemoryBench::fresh();
};

// Without the memory, the session would get a child of its own, which would refuse the session
// again.
TEST_F(RefusalMemoryTest, SparesAskingAgain) {
  {
    const auto memory = MemoryBench::fresh();
    const auto former = bench(memory);
    FakeSession session(former->callers);
    open(*former, session);
    refuse(begin(*former, "initialize"), "-32022");
    FakeChild& shared = begin(*former, "server/discover");
    shared.answer(id_in(first_), discovery_);
    ASSERT_THAT(session.take(), ElementsAre(HasSubstr(agreed_)));
    ASSERT_TRUE(memory_->read(memory->text()));
  }
  const auto next = bench(memory_);
  FakeSession session(next->callers);
  open(*next, session);
  EXPECT_THAT(session.take(), ElementsAre(HasSubstr(agreed_)));
  EXPECT_EQ(next->launcher.launched(), 0U);
  EXPECT_EQ(next->status().isolation, Isolation::shared);
  next->send(session, request_text("3", "tools/call"));
  begin(*next, "server/discover");
  EXPECT_EQ(next->launcher.launched(), 1U);
}

// The server has been rolled back to the legacy era meanwhile.
TEST_F(RefusalMemoryTest, IsNotBelievedForLong) {
  memory_->learn_greeting({}, PeerKind::stateless, discovery_);
  memory_->note_sessions(true);
  const auto next = bench(memory_);
  FakeSession session(next->callers);
  open(*next, session);
  EXPECT_THAT(session.take(), ElementsAre(HasSubstr(agreed_)));
  next->send(session, request_text("2", "tools/call"));
  FakeChild& first = begin(*next, "server/discover");
  refuse(first, "-32601");
  first.exit(0);
  next->settle();
  FakeChild& second = begin(*next, "server/discover");
  refuse(second, "-32601");
  second.answer(id_in(second.take_line()), kTerms);
  next->settle();
  EXPECT_EQ(next->status().isolation, Isolation::session);
  EXPECT_FALSE(memory_->has_no_sessions());
}

TEST(Memory, OutlivesAProcessAsAText) {
  std::string text;
  {
    MemoryBench bench(Isolation::session);
    FakeSession session(bench.callers);
    FakeChild& child = bench.greet_own(session);
    bench.send(session, request_text("2", "tools/list"));
    child.answer(child.take_ids().at(0), kOneTool);
    text = bench.memory->text();
  }
  const auto memory = MemoryBench::fresh();
  ASSERT_TRUE(memory->read(text));
  EXPECT_EQ(memory->text(), text);
  MemoryBench bench(Isolation::session, memory);
  FakeSession session(bench.callers);
  ASSERT_FALSE(bench.open(session));
  bench.send(session, greeting());
  bench.send(session, request_text("2", "tools/list"));
  EXPECT_THAT(session.take(), ElementsAre(result_text("1", kTerms), result_text("2", kOneTool)));
  EXPECT_EQ(bench.launcher.launched(), 0U);
}

}  // namespace
}  // namespace stdgate::test

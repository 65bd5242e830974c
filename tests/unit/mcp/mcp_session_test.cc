// McpSession: what its client posts, and how each POST is answered.

#include "gateway/mcp/mcp_session.h"

#include <deque>

#include "tests/unit/mcp/mcp_world.h"

namespace stdgate::test {
namespace {

using Posted = mcp::McpSession::Posted;

std::string cancel_of(const std::string& id) {
  return note_text("notifications/cancelled", R"({"requestId":)" + id + "}");
}

class McpSessionTest : public testing::Test {
 protected:
  FakeEventSink sink_;
  FakeEventSink other_;
  McpWorld world_;  // ends the responses that are open
};

TEST_F(McpSessionTest, AnswersACallByADocument) {
  world_.greet();
  EXPECT_EQ(world_.post(sink_, request_text("\"x\"", "tools/list")), Posted::under_way);
  EXPECT_FALSE(sink_.over);
  world_.answer_next();
  EXPECT_EQ(sink_.json, result_text("\"x\""));
  EXPECT_FALSE(sink_.streaming);
}

TEST_F(McpSessionTest, AnswersByAStreamWhatHasProgress) {
  world_.greet("2025-06-18");
  world_.post(sink_, tool_call("1", "\"p\""));
  world_.child().say(progress("\"p\"", 1));
  world_.child().say(progress("\"p\"", 2));
  world_.answer_next();
  EXPECT_THAT(sink_.take(),
              ElementsAre(progress("\"p\"", 1), progress("\"p\"", 2), result_text("1")));
  EXPECT_TRUE(sink_.ended);
}

TEST_F(McpSessionTest, TakesWhatNeedsNoAnswer) {
  world_.greet();
  for (const std::string& text :
       {note_text("notifications/initialized"), result_text("77"), cancel_of("99"),
        "[" + note_text("a") + "," + note_text("b") + "]"}) {
    EXPECT_EQ(world_.post(sink_, text), Posted::taken) << text;
    EXPECT_FALSE(sink_.streaming || sink_.over) << "the response is the caller's";
  }
  EXPECT_THAT(world_.child().take_lines(),
              ElementsAre(note_text("notifications/initialized"), note_text("a"), note_text("b")));
}

TEST_F(McpSessionTest, AnswersAnInvalidRequestAtOnce) {
  world_.greet();
  EXPECT_EQ(world_.post(sink_, R"({"jsonrpc":"2.0","id":5,"method":1})"), Posted::under_way);
  ASSERT_TRUE(sink_.json.has_value());
  EXPECT_THAT(*sink_.json, HasSubstr(R"("id":5,"error":{"code":-32600)"));
  world_.post(other_, request_text("6", "tools/list"));
  world_.answer_next();
  EXPECT_EQ(other_.json, result_text("6"));
}

TEST_F(McpSessionTest, AnswersARefusedCallAtOnce) {
  backend::BackendOptions options = mcp_options();
  options.config.pool.max_in_flight = 1;
  options.config.pool.queue = 1;
  std::deque<FakeEventSink> sinks(3);
  McpWorld world(options);
  world.open();
  EXPECT_EQ(world.post(sinks[0], request_text("1")), Posted::under_way);
  EXPECT_EQ(world.post(sinks[1], "[" + request_text("2") + "," + request_text("3") + "]"),
            Posted::under_way);
  EXPECT_FALSE(sinks[1].over);
  world.answer_next();
  world.answer_next();
  ASSERT_TRUE(sinks[1].json.has_value());
  EXPECT_THAT(*sinks[1].json, HasSubstr(R"("id":3,"error":{"code":-31503)"));
  EXPECT_THAT(*sinks[1].json, HasSubstr(result_text("2")));
}

TEST_F(McpSessionTest, TellsTimeouts) {
  world_.greet();
  world_.post(sink_, request_text("1"));
  world_.bench.advance(seconds(60));
  EXPECT_TRUE(sink_.ended) << "it has become a stream by then";
  EXPECT_THAT(sink_.take(), ElementsAre(HasSubstr("-31504")));
}

// --- Batches --------------------------------------------------------------------------------

TEST_F(McpSessionTest, AnswersABatchByAnArray) {
  world_.greet("2025-03-26");
  world_.post(sink_, "[" + request_text("1") + "," + note_text("n") + "," + request_text("2") +
                         R"(,{"jsonrpc":"2.0","id":3,"method":1}])");
  EXPECT_FALSE(sink_.over);
  world_.answer_next();
  world_.answer_next();
  ASSERT_TRUE(sink_.json.has_value());
  EXPECT_THAT(*sink_.json, StartsWith("["));
  for (const std::string& part :
       {result_text("1"), result_text("2"), std::string(R"("id":3,"error":{"code":-32600)")}) {
    EXPECT_THAT(*sink_.json, HasSubstr(part));
  }
}

TEST_F(McpSessionTest, ABatchOfBadEntriesIsAnsweredAtOnce) {
  world_.greet("2025-03-26");
  EXPECT_EQ(world_.post(sink_, "[1,2]"), Posted::under_way);
  ASSERT_TRUE(sink_.json.has_value());
  EXPECT_THAT(*sink_.json, StartsWith(R"([{"jsonrpc":"2.0","id":null,"error")"));
}

TEST_F(McpSessionTest, ABatchWithEventsIsAStream) {
  world_.greet("2025-03-26");
  world_.post(sink_, "[" + tool_call("1", "1") + "," + tool_call("2", "2") + "]");
  world_.answer_next();
  world_.child().say(progress("2", 1));
  world_.answer_next();
  EXPECT_THAT(sink_.take(),
              ElementsAre("[" + result_text("1") + "]", progress("2", 1), result_text("2")));
  EXPECT_TRUE(sink_.ended);
}

TEST_F(McpSessionTest, ABatchMayCancelItsOwnCalls) {
  world_.greet("2025-03-26");
  world_.post(sink_,
              "[" + request_text("1") + "," + cancel_of("1") + "," + request_text("2") + "]");
  EXPECT_FALSE(sink_.over);
  const auto ids = world_.child().take_ids();
  world_.child().answer(ids.at(1));
  EXPECT_EQ(sink_.json, "[" + result_text("2") + "]");
}

TEST_F(McpSessionTest, ABatchThatIsAllCancelledJustEnds) {
  world_.greet("2025-03-26");
  world_.post(sink_, "[" + request_text("1") + "," + cancel_of("1") + "]");
  EXPECT_TRUE(sink_.ended);
  EXPECT_FALSE(sink_.json);
  world_.post(other_, "[" + request_text("2") + "," + request_text("3") + "]");
  FakeEventSink cancel;
  world_.post(cancel, cancel_of("2"));
  EXPECT_FALSE(other_.over);
  world_.post(cancel, "[" + cancel_of("3") + "]");
  EXPECT_TRUE(other_.ended);
  EXPECT_THAT(other_.take(), IsEmpty());
}

// --- Cancels --------------------------------------------------------------------------------

TEST_F(McpSessionTest, ACancelEndsThePost) {
  world_.greet();
  world_.post(sink_, request_text("1"));
  const auto ids = world_.child().take_ids();
  EXPECT_EQ(world_.post(other_, cancel_of("1")), Posted::taken);
  EXPECT_TRUE(sink_.ended);
  EXPECT_THAT(world_.child().take_line(), HasSubstr(R"("requestId":)" + ids.at(0)));
  world_.child().answer(ids[0]);
  EXPECT_THAT(sink_.take(), IsEmpty()) << "a late answer is dropped";
}

TEST_F(McpSessionTest, ACancelEndsAStreamToo) {
  world_.greet();
  world_.post(sink_, tool_call("1", "1"));
  world_.child().say(progress("1", 1));
  world_.post(other_, cancel_of("1"));
  EXPECT_TRUE(sink_.ended);
  EXPECT_THAT(sink_.take(), ElementsAre(progress("1", 1)));
}

TEST_F(McpSessionTest, ADisconnectIsNoCancel) {
  world_.greet();
  world_.post(sink_, request_text("1"));
  world_.leave(sink_);
  const auto lines = world_.child().take_lines();
  ASSERT_EQ(lines.size(), 1U) << "no cancel";
  world_.child().answer(id_in(lines[0]));
  EXPECT_EQ(world_.bench.observer.records.back().outcome, "ok");
}

// --- Initialization -------------------------------------------------------------------------

TEST_F(McpSessionTest, TheChildsAnswerNamesTheRevision) {
  struct Case {
    std::string version;
    mcp::McpRevision revision;
  };
  const std::vector<Case> cases = {
      {R"("2024-11-05")", mcp::McpRevision::v2024_11_05},
      {R"("2025-03-26")", mcp::McpRevision::v2025_03_26},
      {R"("2025-06-18")", mcp::McpRevision::v2025_06_18},
      {R"("2025-11-25")", mcp::McpRevision::v2025_11_25},
      {R"("1999-01-01")", mcp::McpRevision::v2025_03_26},
      {"7", mcp::McpRevision::v2025_03_26},
      {R"("")", mcp::McpRevision::v2025_03_26},
  };
  for (const auto& [version, revision] : cases) {
    McpWorld world;
    world.open();
    EXPECT_EQ(world.session->revision(), mcp::McpRevision::v2025_03_26) << "until it is known";
    FakeEventSink sink;
    world.post(sink, request_text("0", "initialize"));
    world.answer_next(R"({"capabilities":{},"protocolVersion":)" + version + "}");
    EXPECT_TRUE(sink.json.has_value());
    EXPECT_EQ(world.session->revision(), revision) << version;
    EXPECT_TRUE(world.is_open()) << version;
  }
}

TEST_F(McpSessionTest, AFailedInitializationEndsTheSession) {
  world_.open();
  world_.post(sink_, request_text("0", "initialize"));
  const std::string error = R"({"jsonrpc":"2.0","id":)" + world_.child().take_ids().at(0) +
                            R"(,"error":{"code":-32602,"message":"no"}})";
  world_.child().say(error);
  ASSERT_TRUE(sink_.json.has_value());
  EXPECT_THAT(*sink_.json, HasSubstr("-32602"));
  EXPECT_FALSE(world_.is_open());
  EXPECT_EQ(world_.sessions.size(), 1U) << "not inside of its own call";
  world_.bench.settle();
  EXPECT_EQ(world_.sessions.size(), 0U);
  EXPECT_EQ(world_.bench.observer.sessions, 0);
  EXPECT_FALSE(world_.child().ends().empty());
}

TEST_F(McpSessionTest, AnotherCallsErrorIsNoFailedInitialization) {
  for (const auto kind : {mcp::McpSession::Kind::streamable, mcp::McpSession::Kind::sse}) {
    FakeEventSink get;
    FakeEventSink first;
    FakeEventSink second;
    McpWorld world;
    world.open(kind);
    world.listen(get);
    world.post(first, request_text("0", "initialize"));
    world.post(second, request_text("1", "nonsense"));
    const auto ids = world.child().take_ids();
    world.child().say(R"({"jsonrpc":"2.0","id":)" + ids.at(1) +
                      R"(,"error":{"code":-32601,"message":"no"}})");
    EXPECT_TRUE(world.is_open());
    world.child().answer(ids.at(0), R"({"protocolVersion":"2025-06-18"})");
    EXPECT_TRUE(world.is_open());
    EXPECT_EQ(world.session->revision(), mcp::McpRevision::v2025_06_18);
    world.leave(get);
  }
}

TEST_F(McpSessionTest, ASecondInitializationMayFail) {
  world_.greet();
  world_.post(sink_, request_text("1", "initialize"));
  world_.child().say(R"({"jsonrpc":"2.0","id":)" + world_.child().take_ids().at(0) +
                     R"(,"error":{"code":-32600,"message":"twice"}})");
  EXPECT_TRUE(world_.is_open());
  EXPECT_EQ(world_.session->revision(), mcp::McpRevision::v2025_11_25);
}

TEST_F(McpSessionTest, AnInitializationSpelledWithEscapesIsOne) {
  world_.open();
  world_.post(sink_, request_text("0", R"(initiali\u007ae)"));
  world_.answer_next(R"({"protocolVersion":"2025-11-25"})");
  EXPECT_EQ(world_.session->revision(), mcp::McpRevision::v2025_11_25);
}

// --- Limits ---------------------------------------------------------------------------------

TEST_F(McpSessionTest, HasSoManyPostsUnderWay) {
  backend::BackendOptions options = mcp_options();
  options.config.pool.max_in_flight = 1000;
  std::deque<FakeEventSink> sinks(mcp::McpSession::kMaxStreams);
  McpWorld world(options);
  world.open();
  for (FakeEventSink& sink : sinks) {
    EXPECT_EQ(world.post(sink, request_text("1")), Posted::under_way);
  }
  EXPECT_EQ(world.post(sink_, request_text("2")), Posted::overloaded);
  EXPECT_FALSE(sink_.over);
  EXPECT_EQ(world.child().take_lines().size(), mcp::McpSession::kMaxStreams) << "nothing was taken";
  EXPECT_EQ(world.post(sink_, note_text("n")), Posted::taken) << "this needs no stream";
  EXPECT_EQ(world.post(sink_, cancel_of("1")), Posted::taken);
  EXPECT_TRUE(sinks.back().ended) << "the youngest of those with this id";
  EXPECT_EQ(world.post(other_, request_text("3")), Posted::under_way);
}

// Fills the queue of a session up to the mark where the client has to wait.
class McpSessionQueue : public testing::Test {
 protected:
  static backend::BackendOptions slow_child() {
    backend::BackendOptions options = mcp_options();
    options.config.pool.max_in_flight = 1;
    options.config.pool.queue = 4;
    return options;
  }
  McpSessionQueue() : world_(slow_child()) {
    world_.open();
    for (size_t i = 0; i < 3; ++i) world_.post(sinks_[i], request_text(std::to_string(i)));
  }
  std::deque<FakeEventSink> sinks_{5};
  McpWorld world_;
};

TEST_F(McpSessionQueue, ThatIsHalfFullTakesNoMoreCalls) {
  EXPECT_EQ(world_.post(sinks_[3], request_text("3")), Posted::overloaded);
  EXPECT_FALSE(sinks_[3].over);
  world_.answer_next();
  world_.answer_next();
  EXPECT_EQ(world_.post(sinks_[3], request_text("3")), Posted::under_way);
}

TEST_F(McpSessionQueue, TakesWhatTheChildMayWaitFor) {
  world_.child().say(request_text("9", "roots/list"));
  const std::string asked = sinks_[2].take().at(0);
  world_.child().take_lines();
  EXPECT_EQ(world_.post(sinks_[3], result_text(id_in(asked))), Posted::taken);
  EXPECT_EQ(world_.child().take_line(), result_text("9"));
  EXPECT_EQ(world_.post(sinks_[3], cancel_of("2")), Posted::taken);
  EXPECT_TRUE(sinks_[2].ended);
}

TEST_F(McpSessionQueue, ThatIsFullSaysSoOfNotificationsToo) {
  EXPECT_EQ(world_.post(sinks_[3], note_text("a")), Posted::taken);
  EXPECT_EQ(world_.post(sinks_[3], "[" + note_text("b") + "," + note_text("c") + "]"),
            Posted::taken)
      << "one of them was";
  EXPECT_EQ(world_.post(sinks_[3], note_text("d")), Posted::overloaded);
}

// --- Silence --------------------------------------------------------------------------------

TEST_F(McpSessionTest, ASilentPostBecomesAStreamInTime) {
  for (const char* revision : {"2025-03-26", "2025-06-18", "2025-11-25"}) {
    FakeEventSink first;
    FakeEventSink second;
    McpWorld world;
    world.greet(revision);
    world.bench.advance(seconds(100));
    world.post(first, request_text("1"));
    world.bench.advance(seconds(3));
    world.post(second, request_text("2"));
    world.bench.advance(seconds(2) - Duration(1));
    EXPECT_FALSE(first.streaming);
    world.bench.advance(Duration(1));
    EXPECT_TRUE(first.streaming) << revision;
    EXPECT_FALSE(second.streaming) << "each has its own time";
    world.bench.advance(seconds(3));
    EXPECT_TRUE(second.streaming);
    world.answer_next();
    EXPECT_THAT(first.take(), ElementsAre(result_text("1")));
    EXPECT_TRUE(first.ended);
  }
}

TEST_F(McpSessionTest, NothingIsWokenWithoutNeed) {
  world_.greet();
  world_.post(sink_, request_text("1"));
  world_.bench.advance(seconds(5));
  world_.answer_next();
  const auto next = world_.bench.timers.next_due();
  ASSERT_TRUE(next.has_value());
  EXPECT_GT(*next - world_.bench.clock.now(), McpWorld::kPatience) << "no silence to look for";
}

// --- A client that leaves in the middle -----------------------------------------------------

TEST_F(McpSessionTest, TheClientMayLeaveInsideOfAnAnswer) {
  FakeEventSink stream;
  FakeEventSink batch;
  world_.greet("2025-03-26");
  for (FakeEventSink* sink : {&sink_, &stream, &batch}) {
    sink->during = [this, sink] { world_.leave(*sink); };
  }
  world_.post(sink_, request_text("1"));
  world_.post(stream, tool_call("2", "2"));
  world_.post(batch, "[" + request_text("3") + "]");
  world_.child().say(progress("2", 1));
  for (int i = 0; i < 3; ++i) world_.answer_next();
  EXPECT_EQ(sink_.json, result_text("1"));
  EXPECT_TRUE(batch.json.has_value());
  EXPECT_FALSE(world_.session->idle_since() == std::nullopt) << "nothing is under way";
}

TEST_F(McpSessionTest, TheClientMayPostInsideOfAnAnswer) {
  world_.greet();
  sink_.during = [this] { world_.post(other_, R"({"jsonrpc":"2.0","id":2,"method":1})"); };
  world_.post(sink_, request_text("1"));
  world_.answer_next();
  EXPECT_TRUE(sink_.json.has_value());
  EXPECT_TRUE(other_.json.has_value());
  EXPECT_TRUE(world_.session->idle_since().has_value());
}

}  // namespace
}  // namespace stdgate::test

// The time that calls may take: which events are signs of life of a child, which stop the clock of
// a call, and which end a call in any case.

#include "gateway/lsp/lsp_dialect.h"
#include "gateway/mcp/mcp_dialect.h"
#include "tests/support/backend_fixture.h"

namespace stdgate::test {
namespace {

constexpr seconds kTimeout(10);
constexpr minutes kMaxTime(2);
constexpr seconds kInput(40);
// Questions may stay open longer by this time.
constexpr Duration kLook = kInput / 64;

backend::BackendOptions with_times(backend::BackendOptions options) {
  options.config.timeout = kTimeout;
  options.config.max_time = kMaxTime;
  options.input_timeout = kInput;
  options.config.pool.start_timeout = hours(1);
  options.config.pool.idle_timeout = hours(1);
  return options;
}

backend::BackendOptions own_children(config::Protocol protocol = config::Protocol::jsonrpc) {
  backend::BackendOptions options = with_times(session_options(4));
  options.config.protocol = protocol;
  return options;
}

backend::BackendOptions one_shared_child(config::Protocol protocol) {
  backend::BackendOptions options = with_times(plain_options());
  options.config.protocol = protocol;
  options.config.isolation = config::Isolation::shared;
  options.config.pool.min = options.config.pool.max = 1;
  return options;
}

std::string gave_up(const std::string& id, const std::string& what, int code = -32003) {
  return error_text(id, code, "stdgate gave up: " + what);
}
const std::string kSilence = "no answer and no sign of life for 10s (backends.fake.timeout)";
const std::string kTooLong = "no answer within 2m (backends.fake.max_time)";
const std::string kNoAnswer = "the client has not answered within 40s (timeouts.input)";

// --- Children of one session ----------------------------------------------------------------

class OwnClock : public testing::Test {
 public:
  FakeChild& opened() {
    bench.open(session);
    return bench.start_child();
  }
  // The answers of the session's calls after this time.
  std::vector<std::string> after(Duration time) {
    bench.advance(time);
    return session.take();
  }

  BackendBench bench{own_children()};
  FakeSession session{bench.callers};
  FakeChild& child = opened();
};

TEST_F(OwnClock, WhateverTheChildWritesBeginsTheTimeAnew) {
  for (const std::string& said :
       {note_text("log") + "\n", std::string("no JSON\n"), std::string(" "),
        std::string(R"({"jsonrpc":"2.0","method":"pa)"), std::string("rt\"}\n")}) {
    SCOPED_TRACE(said);
    bench.call(session);
    bench.advance(kTimeout - seconds(1));
    child.output(said);
    session.take();
    EXPECT_THAT(after(kTimeout - Duration{1}), IsEmpty());
    EXPECT_THAT(after(Duration{1}), ElementsAre(gave_up("1", kSilence)));
    EXPECT_EQ(bench.observer.records.back().detail, "stdgate gave up: " + kSilence);
  }
}

TEST_F(OwnClock, AnAnswerToOneCallIsASignOfLifeForTheOthers) {
  bench.call(session, "1");
  bench.call(session, "2");
  const auto ids = child.take_ids();
  bench.advance(kTimeout - seconds(1));
  child.answer(ids[0]);
  EXPECT_EQ(session.take().size(), 1U);
  EXPECT_THAT(after(kTimeout - Duration{1}), IsEmpty());
  EXPECT_THAT(after(Duration{1}), ElementsAre(gave_up("2", kSilence)));
}

TEST_F(OwnClock, WhatItHasSaidBeforeTheCallDoesNotCount) {
  bench.advance(seconds(30));
  child.say(note_text("log"));
  bench.advance(Duration{1});
  session.take();
  bench.call(session);
  EXPECT_THAT(after(kTimeout), ElementsAre(gave_up("1", kSilence)));
}

TEST_F(OwnClock, MaxTimeBoundsTheWhole) {
  bench.call(session);
  for (Duration passed{0}; passed < kMaxTime - seconds(5); passed += seconds(5)) {
    bench.advance(seconds(5));
    child.say(note_text("log"));
    EXPECT_EQ(session.take().size(), 1U);
  }
  EXPECT_THAT(after(seconds(5) - Duration{1}), IsEmpty());
  EXPECT_THAT(after(Duration{1}), ElementsAre(gave_up("1", kTooLong)));
  EXPECT_THAT(child.take_lines().back(), HasSubstr("$/cancelRequest"));
}

// A child that sends signs of life does not hang, however many of its calls time out.
TEST_F(OwnClock, OnlySilenceShowsThatAChildHangs) {
  for (const char* id : {"1", "2", "3", "4"}) bench.call(session, id);
  for (Duration passed{0}; passed < kMaxTime; passed += seconds(5)) {
    bench.advance(seconds(5));
    child.say(note_text("log"));
  }
  session.take();
  EXPECT_EQ(bench.observer.records.size(), 4U);
  EXPECT_THAT(child.ends(), IsEmpty());
  // A child that becomes silent after signs of life hangs too.
  for (const char* id : {"1", "2", "3"}) bench.call(session, id);
  bench.advance(seconds(1));
  child.say(note_text("log"));
  bench.advance(kTimeout);
  EXPECT_EQ(child.ends().size(), 1U);
}

// While the child is not read, its signs of life cannot be seen.
TEST_F(OwnClock, StandsWhileTheChildIsNotRead) {
  bench.call(session);
  bench.backend.hold_child(session.id, true);
  EXPECT_THAT(after(kMaxTime - seconds(20)), IsEmpty());
  bench.backend.hold_child(session.id, false);
  EXPECT_THAT(after(kTimeout - Duration{1}), IsEmpty());
  EXPECT_THAT(after(Duration{1}), ElementsAre(gave_up("1", kSilence)));
  bench.call(session);
  bench.backend.hold_child(session.id, true);
  EXPECT_THAT(after(kMaxTime - Duration{1}), IsEmpty());
  EXPECT_THAT(after(Duration{1}), ElementsAre(gave_up("1", kTooLong)));
  EXPECT_THAT(child.ends(), IsEmpty());
}

TEST(SessionQueueClock, TimeInTheQueueCounts) {
  backend::BackendOptions options = own_children();
  options.config.pool.max_in_flight = 1;
  BackendBench bench(options);
  FakeSession session(bench.callers);
  bench.open(session);
  FakeChild& child = bench.start_child();
  bench.call(session, "1");
  bench.call(session, "2");
  bench.advance(kTimeout - seconds(1));
  child.say(note_text("log"));
  session.take();
  bench.advance(seconds(1));
  EXPECT_THAT(
      session.take(),
      ElementsAre(gave_up("2", "no child has taken the call within 10s (backends.fake.timeout)")))
      << "what the child says is for the call that it has";
}

// --- Shared children ------------------------------------------------------------------------

std::string tool_call(const std::string& id, const std::string& token) {
  return R"({"jsonrpc":"2.0","id":)" + id +
         R"(,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":)" + token + "}}}";
}
std::string progress_of(const std::string& token) {
  return note_text("notifications/progress", R"({"progressToken":)" + token + R"(,"progress":1})");
}

class SharedClock : public testing::Test {
 public:
  FakeChild& greeted() {
    FakeChild& process = bench.start_child();
    process.answer(process.take_ids().at(0), R"({"protocolVersion":"2025-11-25"})");
    process.take_lines();
    bench.open(one);
    bench.open(two);
    return process;
  }

  BackendBench bench{one_shared_child(config::Protocol::mcp),
                     std::make_unique<mcp::McpDialect>("1")};
  FakeSession one{bench.callers};
  FakeSession two{bench.callers};
  FakeChild& child = greeted();
};

TEST_F(SharedClock, ProgressIsASignOfLifeOfItsCallAlone) {
  bench.send(one, tool_call("1", "\"a\""));
  bench.send(one, tool_call("2", "\"b\""));
  bench.send(two, tool_call("3", "\"a\""));
  const auto ids = child.take_ids();
  bench.advance(kTimeout - seconds(1));
  child.say(progress_of(ids[1]));
  EXPECT_THAT(one.take(), ElementsAre(progress_of("\"b\"")));
  bench.advance(seconds(1));
  EXPECT_THAT(one.take(), ElementsAre(gave_up("1", kSilence, -31504)));
  EXPECT_THAT(two.take(), ElementsAre(gave_up("3", kSilence, -31504)));
  bench.advance(kTimeout - seconds(1) - Duration{1});
  EXPECT_THAT(one.take(), IsEmpty());
  bench.advance(Duration{1});
  EXPECT_THAT(one.take(), ElementsAre(gave_up("2", kSilence, -31504)));
}

TEST_F(SharedClock, WhatIsToldToTheOnlySessionIsASignOfLifeOfItsCalls) {
  const std::string log = note_text("notifications/message", R"({"level":"error","data":"x"})");
  bench.send(one, tool_call("1", "1"));
  bench.send(one, tool_call("2", "2"));
  bench.advance(kTimeout - seconds(1));
  child.say(log);
  EXPECT_EQ(one.take().size(), 1U);
  bench.send(two, tool_call("3", "3"));
  bench.advance(seconds(5));
  child.say(log);
  EXPECT_THAT(one.take(), IsEmpty()) << "it may be for the other one";
  bench.advance(seconds(5));
  EXPECT_EQ(one.take().size(), 2U) << "10 s after the first line";
  EXPECT_THAT(two.take(), ElementsAre(gave_up("3", kSilence, -31504)));
}

TEST(StreamClock, AnEventOfItsOwnStreamIsASignOfLife) {
  BackendBench bench(one_shared_child(config::Protocol::jsonrpc));
  FakeClient client(bench.callers);
  FakeChild& child = bench.start_child();
  bench.send(client, request_text("1"), 1, true);
  bench.advance(kTimeout - seconds(1));
  child.say(note_text("step"));
  bench.advance(kTimeout - Duration{1});
  EXPECT_THAT(client.answers, IsEmpty());
  // With a second call, the event may belong to either call.
  bench.send(client, request_text("2"), 2, true);
  child.say(note_text("step"));
  bench.advance(Duration{1});
  ASSERT_EQ(client.answers.size(), 1U);
  EXPECT_EQ(client.answers[0].text, gave_up("1", kSilence));
}

TEST(StreamClock, WithoutAStreamThereIsNoSignOfLife) {
  BackendBench bench(one_shared_child(config::Protocol::jsonrpc));
  FakeClient client(bench.callers);
  FakeChild& child = bench.start_child();
  bench.call(client);
  bench.advance(kTimeout - seconds(1));
  child.say(note_text("step"));
  bench.advance(seconds(1));
  ASSERT_EQ(client.answers.size(), 1U);
  EXPECT_EQ(client.answers[0].fault, rpc::Fault::timeout);
}

// --- Questions ------------------------------------------------------------------------------

class Questions : public OwnClock {
 public:
  // The child asks the client. Returns the id that the client sees.
  std::string ask(const std::string& id = "\"q\"") {
    child.say(request_text(id, "ask"));
    return id_in(session.take().at(0));
  }
};

TEST_F(Questions, StopTheClockUntilTheAnswer) {
  bench.call(session, "1");
  bench.advance(seconds(3));
  const std::string question = ask();
  bench.call(session, "2");
  child.take_lines();
  EXPECT_THAT(after(kInput - Duration{1}), IsEmpty());
  bench.send(session, result_text(question));
  EXPECT_THAT(child.take_lines(), ElementsAre(result_text("\"q\"")));
  EXPECT_THAT(after(kTimeout - Duration{1}), IsEmpty());
  EXPECT_THAT(after(Duration{1}), ElementsAre(gave_up("1", kSilence), gave_up("2", kSilence)));
}

TEST_F(Questions, AreWithdrawnAtBothSidesWhenTheirTimeIsUp) {
  bench.call(session);
  const std::string call = child.take_ids().at(0);
  const std::string question = ask();
  EXPECT_THAT(after(kInput - Duration{1}), IsEmpty());
  EXPECT_THAT(after(Duration{1}),
              ElementsAre(note_text("$/cancelRequest", R"({"id":)" + question + "}")));
  EXPECT_THAT(child.take_lines(), ElementsAre(gave_up("\"q\"", kNoAnswer)));
  ASSERT_NE(bench.log.find("question withdrawn"), nullptr);
  EXPECT_EQ(bench.send(session, result_text(question)), backend::Admission::dropped) << "too late";
  EXPECT_THAT(after(seconds(9)), IsEmpty()) << "the child has its time again";
  child.answer(call);
  EXPECT_THAT(session.take(), ElementsAre(result_text("1")));
}

TEST_F(Questions, DoNotStopMaxTime) {
  bench.call(session);
  for (Duration passed{0}; passed < kMaxTime - seconds(30); passed += seconds(30)) {
    const std::string question = ask();
    EXPECT_THAT(after(seconds(30)), IsEmpty());
    bench.send(session, result_text(question));
  }
  ask();
  EXPECT_THAT(after(seconds(30) - Duration{1}), IsEmpty());
  EXPECT_THAT(after(Duration{1}), ElementsAre(gave_up("1", kTooLong)));
}

TEST_F(Questions, ThatAreTakenBackLetTheClockGoOn) {
  bench.call(session);
  ask();
  bench.advance(kTimeout);
  child.say(note_text("$/cancelRequest", R"({"id":"q"})"));
  session.take();
  EXPECT_THAT(after(kInput - kTimeout - Duration{1}), IsEmpty());
}

// If the loop is late, the deadlines of the call and of the question may pass in one turn.
TEST_F(Questions, EndBeforeTheirCallsWhenTheLoopIsLate) {
  bench.call(session);
  bench.advance(seconds(1));
  const std::string question = ask();
  child.take_lines();
  bench.clock.set(bench.clock.now() + kInput);
  bench.timers.run_due(bench.clock.now());
  EXPECT_THAT(session.take(),
              ElementsAre(note_text("$/cancelRequest", R"({"id":)" + question + "}")));
  EXPECT_EQ(child.take_line(), gave_up("\"q\"", kNoAnswer));
  EXPECT_THAT(after(kTimeout - Duration{1}), IsEmpty());
  EXPECT_THAT(after(Duration{1}), ElementsAre(gave_up("1", kSilence)));
}

// The client may be away for this long. When it comes back, it is asked again.
TEST(LingeringQuestions, StayAsLongAsTheirChild) {
  backend::BackendOptions options = own_children();
  options.config.linger = 3 * kInput;
  options.config.timeout = options.config.max_time = hours(1);
  BackendBench bench(options);
  FakeSession session(bench.callers);
  bench.open(session);
  FakeChild& child = bench.start_child();
  bench.call(session);
  child.take_ids();
  child.say(request_text("\"q\"", "ask"));
  session.take();
  bench.advance(3 * kInput - Duration{1});
  EXPECT_THAT(child.take_lines(), IsEmpty());
  bench.advance(3 * kLook + Duration{1});
  EXPECT_EQ(child.take_line(),
            gave_up("\"q\"", "the client has not answered within 2m (backends.fake.linger)"));
}

// No call waits for the answer, so a person may take all day.
TEST_F(Questions, WithoutACallStayOpen) {
  const std::string question = ask();
  EXPECT_THAT(after(10 * kInput), IsEmpty());
  EXPECT_THAT(child.take_lines(), IsEmpty());
  bench.call(session);
  child.take_lines();
  EXPECT_THAT(after(kInput + kLook),
              ElementsAre(note_text("$/cancelRequest", R"({"id":)" + question + "}")))
      << "now somebody does";
  EXPECT_EQ(child.take_line(), gave_up("\"q\"", kNoAnswer));
}

TEST_F(Questions, EachHasItsOwnTime) {
  bench.call(session);
  ask("1");
  bench.advance(seconds(20));
  ask("2");
  child.take_lines();
  EXPECT_EQ(after(seconds(20) + kLook).size(), 1U);
  EXPECT_EQ(child.take_lines().size(), 1U);
  EXPECT_THAT(after(seconds(19)), IsEmpty());
  EXPECT_EQ(after(seconds(1) + kLook).size(), 1U);
  EXPECT_EQ(child.take_lines().size(), 1U);
  EXPECT_THAT(after(seconds(8)), IsEmpty());
  EXPECT_THAT(after(seconds(2)), ElementsAre(gave_up("1", kSilence)));
}

TEST_F(Questions, OfAChildThatHasGoneAreForgotten) {
  bench.call(session);
  ask();
  child.die(9);
  session.take();
  bench.close(session);
  bench.advance(2 * kInput);
  EXPECT_EQ(bench.log.find("question withdrawn"), nullptr);
}

TEST(QueueAndQuestion, WhatWaitsForTheChildWaitsForTheClientToo) {
  backend::BackendOptions options = own_children();
  options.config.pool.max_in_flight = 1;
  BackendBench bench(options);
  FakeSession session(bench.callers);
  bench.open(session);
  FakeChild& child = bench.start_child();
  bench.call(session, "1");
  bench.call(session, "2");
  const std::string call = child.take_ids().at(0);
  child.say(request_text("7", "ask"));
  const std::string question = id_in(session.take().at(0));
  bench.advance(kInput - seconds(1));
  EXPECT_THAT(session.take(), IsEmpty());
  bench.send(session, result_text(question));
  child.answer(call);
  EXPECT_THAT(session.take(), ElementsAre(result_text("1")));
  child.answer(child.take_ids().at(0));
  EXPECT_THAT(session.take(), ElementsAre(result_text("2")));
}

TEST(LspQuestion, GivesPeopleTimeToThink) {
  backend::BackendOptions options = own_children(config::Protocol::lsp);
  BackendBench bench(options, std::make_unique<lsp::LspDialect>());
  FakeSession session(bench.callers);
  bench.open(session);
  FakeChild& child = bench.start_child();
  bench.call(session);
  const std::string call = child.take_ids().at(0);
  child.say(request_text("7", "window/showMessageRequest"));
  const std::string question = id_in(session.take().at(0));
  bench.advance(kInput - seconds(1));
  EXPECT_THAT(session.take(), IsEmpty());
  bench.advance(seconds(1));
  EXPECT_THAT(session.take(),
              ElementsAre(note_text("$/cancelRequest", R"({"id":)" + question + "}")));
  EXPECT_THAT(child.take_lines(), ElementsAre(gave_up("7", kNoAnswer)));
  EXPECT_EQ(bench.send(session, error_text(question, -32800, "cancelled")),
            backend::Admission::dropped);
  child.answer(call);
  EXPECT_THAT(session.take(), ElementsAre(result_text("1")));
}

// A shared child that waits for one client delays the other clients' calls. The child is not
// replaced for that.
TEST_F(SharedClock, AQuestionStopsTheClockOfItsSessionAlone) {
  bench.send(one, tool_call("1", "1"));
  child.take_lines();
  child.say(request_text("7", "elicitation/create"));
  const std::string question = id_in(one.take().at(0));
  for (const char* id : {"2", "3", "4", "5"}) bench.send(two, tool_call(id, "1"));
  bench.advance(kTimeout);
  EXPECT_EQ(two.take().size(), 4U);
  EXPECT_THAT(one.take(), IsEmpty());
  EXPECT_THAT(child.ends(), IsEmpty());
  bench.advance(kInput - kTimeout - Duration{1});
  child.take_lines();
  EXPECT_THAT(one.take(), IsEmpty());
  bench.send(one, result_text(question));
  EXPECT_THAT(child.take_lines(), ElementsAre(result_text("7")));
  bench.advance(kTimeout - Duration{1});
  EXPECT_THAT(one.take(), IsEmpty());
  bench.advance(Duration{1});
  EXPECT_THAT(one.take(), ElementsAre(gave_up("1", kSilence, -31504)));
}

TEST_F(SharedClock, AQuestionIsWithdrawnAtBothSides) {
  bench.send(one, tool_call("1", "1"));
  child.take_lines();
  child.say(request_text("7", "elicitation/create"));
  const std::string question = id_in(one.take().at(0));
  bench.advance(kInput);
  EXPECT_THAT(one.take(), ElementsAre(note_text("notifications/cancelled",
                                                R"({"requestId":)" + question +
                                                    R"(,"reason":"deadline exceeded"})")));
  EXPECT_THAT(child.take_lines(), ElementsAre(gave_up("7", kNoAnswer, -31504)));
}

}  // namespace
}  // namespace stdgate::test

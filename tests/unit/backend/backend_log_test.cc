// The log lines of a backend. At level debug they show the way of each message, without its
// payload. At other levels there is a line for each event that an operator looks for.

#include "gateway/pool/call_table.h"
#include "tests/support/backend_fixture.h"

namespace stdgate::test {
namespace {

backend::BackendOptions logged_child() {
  backend::BackendOptions options = plain_options();
  options.config.timeout = seconds(600);
  options.config.pool.min = options.config.pool.max = 1;
  options.config.pool.max_in_flight = 1;
  options.config.pool.backoff_min = milliseconds(100);
  options.config.pool.backoff_max = seconds(30);
  options.config.pool.breaker_failures = 3;
  return options;
}

// The lines since the last take. If `event` is given, only the lines of this event are returned.
std::vector<std::string> take(BackendBench& bench, std::string_view event = {}) {
  std::vector<std::string> lines;
  for (std::string& line : std::exchange(bench.log.lines, {})) {
    if (line.starts_with(event)) lines.push_back(std::move(line));
  }
  return lines;
}

std::string of_child(const FakeChild& child, int number) {
  return " child=" + std::to_string(number) + " pid=" + std::to_string(child.pid());
}

TEST(BackendLog, ShowsTheWayOfACall) {
  BackendBench bench(logged_child());
  FakeClient client(bench.callers);
  FakeChild& child = bench.start_child();
  bench.call(client);
  child.answer(child.take_ids().at(0));
  take(bench);
  const std::string text = R"({"jsonrpc":"2.0","id":"a","method":"m","params":["confidential"]})";
  bench.send(client, text);
  const std::string wire_id = child.take_ids().at(0);
  child.answer(wire_id, "\"confidential\"");
  const std::string call = " backend=fake id=\"a\" connection=0";
  const auto lines = take(bench);
  EXPECT_THAT(lines, Each(Not(HasSubstr("confidential"))));
  EXPECT_THAT(lines, ElementsAre("call arrived" + call +
                                     " method=m transport=rpc bytes=" + std::to_string(text.size()),
                                 "call sent" + call + of_child(child, 1) + " wire_id=" + wire_id,
                                 StartsWith("call answered" + call + of_child(child, 1) +
                                            " wire_id=" + wire_id + " bytes=")));
}

TEST(BackendLog, ShowsWhatWaits) {
  BackendBench bench(logged_child());
  FakeClient client(bench.callers);
  FakeChild& child = bench.start_child();
  bench.call(client, "1");
  take(bench);
  bench.call(client, "2");
  bench.call(client, "3");
  EXPECT_THAT(take(bench, "call queued"),
              ElementsAre(testing::EndsWith(" id=2 connection=0 waiting=1"),
                          testing::EndsWith(" id=3 connection=0 waiting=2")));
  child.answer(child.take_ids().at(0));
  EXPECT_THAT(take(bench, "call sent"), ElementsAre(HasSubstr(" id=2 ")));
}

TEST(BackendLog, ShowsWhatWaitsForTheChildOfASession) {
  BackendBench bench(session_options(4));
  FakeSession session(bench.callers);
  ASSERT_FALSE(bench.open(session));
  take(bench);
  bench.call(session, "1");
  EXPECT_THAT(take(bench, "call queued"), ElementsAre(HasSubstr(" id=1 ")));
  bench.start_child();
  EXPECT_THAT(take(bench, "call sent"), ElementsAre(HasSubstr(" id=1 ")));
}

TEST(BackendLog, ShowsOtherMessages) {
  BackendBench bench(logged_child());
  FakeClient client(bench.callers);
  FakeChild& child = bench.start_child();
  take(bench);
  bench.send(client, R"({"jsonrpc":"2.0","method":"note","params":["confidential"]})");
  EXPECT_THAT(take(bench),
              ElementsAre(StartsWith("message sent backend=fake" + of_child(child, 1))));
  child.say(R"({"jsonrpc":"2.0","method":"news","params":["confidential"]})");
  EXPECT_THAT(take(bench), ElementsAre(StartsWith("child notifies backend=fake" +
                                                  of_child(child, 1) + " method=news bytes="),
                                       "message dropped backend=fake reason=no_listener"));
  child.say(R"({"jsonrpc":"2.0","id":1,"method":"who"})");
  EXPECT_THAT(take(bench, "child asks"), ElementsAre(HasSubstr(" method=who ")));
  bench.call(client, "1");
  bench.leave(client);
  EXPECT_THAT(take(bench, "call abandoned"), ElementsAre(HasSubstr(" id=1 ")));
}

TEST(BackendLog, ABackendIsReadyOnce) {
  BackendBench bench(logged_child());
  FakeClient client(bench.callers);
  EXPECT_THAT(take(bench, "backend ready"), IsEmpty());
  bench.advance(milliseconds(40));
  FakeChild& child = bench.start_child();
  EXPECT_THAT(take(bench, "backend ready"), IsEmpty()) << "it runs, and may crash in a moment";
  bench.advance(seconds(20));  // no call comes; this time is no part of the start
  bench.call(client);
  child.answer(child.take_ids().at(0));
  EXPECT_THAT(take(bench, "backend ready"),
              ElementsAre(HasSubstr(" backend=fake child=1 start_ms=40000000ns")));
  bench.child(0).die(9);
  EXPECT_THAT(take(bench, "child ended"), ElementsAre(HasSubstr(" reason=signal ")));
  bench.advance(pool::Breaker::kAtOnce);
  bench.start_child();
  EXPECT_THAT(take(bench, "backend ready"), IsEmpty());
}

TEST(BackendLog, TellsWhenTheBreakerOpensAndCloses) {
  BackendBench bench(logged_child());
  FakeClient client(bench.callers);
  for (size_t i = 0; i < 4; ++i) {
    ASSERT_EQ(bench.launcher.launched(), i + 1);
    bench.child(i).exit(7);
    const auto lines = take(bench, "breaker opened");
    if (i == 2) {
      EXPECT_THAT(
          lines,
          ElementsAre(HasSubstr(" backend=fake failures=3 cause=the child exited with code 7")));
    } else {
      EXPECT_THAT(lines, IsEmpty());
    }
    bench.advance(seconds(30));
  }
  FakeChild& child = bench.start_child();
  for (const char* id : {"1", "2"}) {
    take(bench);
    bench.call(client, id);
    child.answer(child.take_ids().at(0));
    EXPECT_EQ(take(bench, "breaker closed").size(), id[0] == '1' ? 1U : 0U);
  }
}

// --- Sessions and clients in lines ------------------------------------------------------------

TEST(BackendLog, AChildsLinesNameTheSessionThatHasIt) {
  BackendBench bench(session_options(4));
  FakeSession session(bench.callers);
  ASSERT_FALSE(bench.open(session, *ClientAddress::parse("192.0.2.7")));
  const auto lines = take(bench);
  const auto opened = std::ranges::find_if(
      lines, [](const std::string& line) { return line.starts_with("session opened "); });
  ASSERT_NE(opened, lines.end());
  EXPECT_THAT(*opened, HasSubstr(" client=192.0.2.7 "));
  const size_t at = opened->find(" session=");
  const std::string name = opened->substr(at, std::string(" session=12345678").size());
  EXPECT_THAT(lines, testing::Contains("session has a child backend=fake child=1" + name +
                                       " client=192.0.2.7"));
  FakeChild& child = bench.start_child();
  const std::string whose = of_child(child, 1) + name + " client=192.0.2.7";
  EXPECT_THAT(take(bench, "child started"), ElementsAre(HasSubstr(whose)));
  bench.call(session, "1");
  EXPECT_THAT(take(bench, "call arrived"), ElementsAre(HasSubstr(name + " ")));
  child.say("no JSON");
  EXPECT_THAT(take(bench, "child output dropped"), ElementsAre(HasSubstr(whose)));
  child.die(9);
  EXPECT_THAT(take(bench, "child ended"), ElementsAre(HasSubstr(whose + " reason=signal ")));
  EXPECT_EQ(bench.observer.records.back().session, name.substr(9));
  EXPECT_EQ(bench.observer.records.back().child_number, 1U);
  bench.close(session);
  EXPECT_THAT(take(bench, "session ended"),
              ElementsAre(HasSubstr(name + " client=192.0.2.7 child=1 ")));
}

TEST(BackendLog, AChildIsItsSessionsToTheEnd) {
  BackendBench bench(session_options(4));
  FakeSession session(bench.callers);
  ASSERT_FALSE(bench.open(session, *ClientAddress::parse("192.0.2.7")));
  FakeChild& child = bench.start_child();
  bench.close(session);
  child.exit(0);
  EXPECT_THAT(take(bench, "child ended"), ElementsAre(HasSubstr(" client=192.0.2.7 ")));
}

// --- Useless output of a child ----------------------------------------------------------------

TEST(BackendLog, ALateAnswerIsNoTrouble) {
  backend::BackendOptions options = logged_child();
  options.config.timeout = seconds(10);
  options.config.pool.max_in_flight = 8;
  BackendBench bench(options);
  FakeClient client(bench.callers);
  FakeChild& child = bench.start_child();
  bench.call(client, "1");
  bench.advance(seconds(10));
  FakeClient other(bench.callers);
  bench.call(other, "2");
  bench.leave(other);
  const auto ids = child.take_ids();
  bench.log.lines.clear();
  bench.log.levels.clear();
  child.answer(ids[0]);
  child.answer(ids[1]);
  EXPECT_FALSE(bench.log.has_trouble());
  const std::string dropped = "message dropped backend=fake reason=unknown_id";
  EXPECT_THAT(take(bench),
              ElementsAre(dropped, HasSubstr("wire_id=" + ids[0] + " why=deadline exceeded"),
                          dropped, HasSubstr("wire_id=" + ids[1] + " why=the client has left")));
  EXPECT_EQ(bench.observer.dropped[DropReason::unknown_id], 2);
}

TEST(BackendLog, AnAnswerToNothingShowsWhatItIs) {
  BackendBench bench(logged_child());
  FakeClient client(bench.callers);
  FakeChild& child = bench.start_child();
  bench.call(client, "1");
  const std::string id = child.take_ids().at(0);
  child.answer(id);
  take(bench);
  child.answer(id);
  EXPECT_THAT(take(bench, "child output dropped"),
              ElementsAre(testing::AllOf(
                  HasSubstr(" reason=unknown_id why=its call has been answered already id=" + id),
                  HasSubstr(R"( text={"jsonrpc":"2.0","id":)" + id))));
  const std::string invented = R"({"jsonrpc":"2.0","id":"x","result":1})";
  child.say(invented);
  EXPECT_THAT(take(bench, "child output dropped"),
              ElementsAre(HasSubstr(R"( why=no call has had this id id="x" bytes=)" +
                                    std::to_string(invented.size()) + " text=" + invented)));
}

TEST(BackendLog, TheBeginningOfWhatIsTooLongIsShown) {
  backend::BackendOptions options = logged_child();
  options.limits.message = 1000;
  options.hide_secrets = [](std::string_view text) {
    std::string safe(text);
    const size_t at = safe.find("hush");
    if (at != std::string::npos) safe.replace(at, 4, "***");
    return safe;
  };
  BackendBench bench(options);
  FakeChild& child = bench.start_child();
  const std::string text = R"({"jsonrpc":"2.0","id":7,"result":"hush)" + std::string(2000, 'x');
  child.say(text);
  const auto lines = take(bench, "child output dropped");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], HasSubstr(" reason=oversized "));
  EXPECT_THAT(lines[0], HasSubstr(" bytes=" + std::to_string(text.size()) + " "));
  EXPECT_THAT(lines[0], HasSubstr(R"( text={"jsonrpc":"2.0","id":7,"result":"***xxx)"));
  EXPECT_LT(lines[0].size(), 600U);
}

TEST(GivenUpCalls, AreTheLastOnes) {
  pool::GivenUpCalls calls;
  for (rpc::WireId id = 1; id <= pool::GivenUpCalls::kMaxKept; ++id) {
    calls.add(id, pool::CancelReason::deadline);
  }
  EXPECT_EQ(calls.find(1), pool::CancelReason::deadline);
  calls.add(pool::GivenUpCalls::kMaxKept + 1, pool::CancelReason::client_left);
  EXPECT_EQ(calls.find(1), std::nullopt);
  EXPECT_EQ(calls.find(2), pool::CancelReason::deadline);
  EXPECT_EQ(calls.find(pool::GivenUpCalls::kMaxKept + 1), pool::CancelReason::client_left);
}

}  // namespace
}  // namespace stdgate::test

// What a backend writes into the log: the way of each message at level debug, without its payload,
// and a line for each thing that an operator looks for.

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

// Its lines since the last look, those of one event only if it is named.
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
  FakeChild& child = bench.start_child();
  EXPECT_THAT(take(bench, "backend ready"), IsEmpty()) << "it runs, and may crash in a moment";
  bench.call(client);
  child.answer(child.take_ids().at(0));
  EXPECT_THAT(take(bench, "backend ready"),
              ElementsAre(HasSubstr(" backend=fake child=1 start_ms=")));
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

}  // namespace
}  // namespace stdgate::test

// Calls of one backend with different deadlines: each call expires at its own deadline, wherever it
// waits.

#include "tests/support/backend_fixture.h"

namespace stdgate::test {
namespace {

backend::BackendOptions options_for(uint32_t max_in_flight) {
  backend::BackendOptions options = plain_options();
  options.config.pool.min = options.config.pool.max = 1;
  options.config.pool.max_in_flight = max_in_flight;
  options.config.pool.start_timeout = seconds(300);
  return options;
}

// Sends a request that expires `time` after its arrival.
void call(BackendBench& bench, session::Caller caller, session::SessionId session, session::Tag tag,
          Duration time) {
  std::string text = R"({"jsonrpc":"2.0","id":)" + std::to_string(tag) + R"(,"method":"m"})";
  rpc::EnvelopeParser parser(bench.backend.envelope_limits());
  call::CallContext context;
  context.caller = caller;
  context.session = session;
  context.tag = tag;
  context.arrived = bench.clock.now();
  context.timeout = time;
  bench.backend.accept(parser.parse(text).value().messages[0], context);
}

void call(BackendBench& bench, FakeClient& client, session::Tag tag, Duration time) {
  call(bench, client.caller(), session::SessionId(), tag, time);
}

// The tags of the calls that have timed out.
std::vector<session::Tag> timed_out(const FakeClient& client) {
  std::vector<session::Tag> tags;
  for (const FakeClient::Answer& answer : client.answers) {
    if (answer.fault == rpc::Fault::timeout) tags.push_back(answer.tag);
  }
  return tags;
}

TEST(CallDeadline, InFlightALaterCallMayExpireFirst) {
  BackendBench bench(options_for(10));
  FakeClient client(bench.callers);
  FakeChild& child = bench.start_child();
  call(bench, client, 1, seconds(8));
  call(bench, client, 2, seconds(3));
  call(bench, client, 3, seconds(5));
  const auto ids = child.take_ids();
  bench.advance(seconds(3) - Duration{1});
  EXPECT_THAT(client.answers, IsEmpty());
  bench.advance(Duration{1});
  EXPECT_THAT(timed_out(client), ElementsAre(2U));
  EXPECT_THAT(child.take_lines(),
              ElementsAre(R"({"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":)" +
                          ids[1] + "}}"));
  bench.advance(seconds(2));
  EXPECT_THAT(timed_out(client), ElementsAre(2U, 3U));
  bench.advance(seconds(3));
  EXPECT_THAT(timed_out(client), ElementsAre(2U, 3U, 1U));
}

TEST(CallDeadline, MayBeLaterThanTheBackendsTimeout) {
  BackendBench bench(options_for(10));
  FakeClient client(bench.callers);
  FakeChild& child = bench.start_child();
  call(bench, client, 1, seconds(100));
  bench.call(client, "2", 2);
  const auto ids = child.take_ids();
  bench.advance(seconds(10));
  EXPECT_THAT(timed_out(client), ElementsAre(2U)) << "the other has the backend's";
  bench.advance(seconds(89));
  child.answer(ids[0]);
  ASSERT_EQ(client.answers.size(), 2U);
  EXPECT_FALSE(client.answers[1].fault.has_value());
}

TEST(CallDeadline, InTheQueueALaterCallMayExpireFirst) {
  BackendBench bench(options_for(10));
  FakeClient client(bench.callers);
  call(bench, client, 1, seconds(8));
  call(bench, client, 2, seconds(3));
  call(bench, client, 3, seconds(5));
  bench.advance(seconds(3));
  EXPECT_THAT(timed_out(client), ElementsAre(2U));
  EXPECT_EQ(bench.status().queued, 2U);
  bench.advance(seconds(2));
  EXPECT_THAT(timed_out(client), ElementsAre(2U, 3U));
  EXPECT_EQ(bench.start_child().take_ids().size(), 1U) << "no child hears of those";
}

TEST(CallDeadline, GoesAlongFromTheQueueToTheChild) {
  BackendBench bench(options_for(1));
  FakeClient client(bench.callers);
  FakeChild& child = bench.start_child();
  call(bench, client, 1, seconds(2));
  call(bench, client, 2, seconds(20));
  call(bench, client, 3, seconds(6));
  EXPECT_EQ(child.take_ids().size(), 1U);
  bench.advance(seconds(2));
  EXPECT_THAT(timed_out(client), ElementsAre(1U));
  const auto ids = child.take_ids();
  ASSERT_EQ(ids.size(), 1U);
  bench.advance(seconds(2));
  child.answer(ids[0]);
  EXPECT_EQ(client.answers.back().tag, 2U);
  EXPECT_EQ(child.take_ids().size(), 1U) << "the third is in flight";
  bench.advance(seconds(2));
  EXPECT_THAT(timed_out(client), ElementsAre(1U, 3U));
  bench.backend.check_invariants();
  bench.advance(seconds(20));
  EXPECT_EQ(client.answers.size(), 3U) << "the second one's is over with its answer";
}

TEST(CallDeadline, OfACallThatHasEndedIsForgotten) {
  BackendBench bench(options_for(1));
  FakeChild& child = bench.start_child();
  {
    FakeClient client(bench.callers);
    call(bench, client, 1, seconds(1));
    call(bench, client, 2, seconds(2));
    bench.leave(client);
  }
  bench.backend.check_invariants();
  FakeClient client(bench.callers);
  call(bench, client, 3, seconds(5));
  child.take_lines();
  bench.advance(seconds(5) - Duration{1});
  EXPECT_THAT(client.answers, IsEmpty());
  EXPECT_THAT(child.take_lines(), IsEmpty());
  bench.advance(Duration{1});
  EXPECT_THAT(timed_out(client), ElementsAre(3U));
}

TEST(CallDeadline, ThatHasPassedOnArrivalIsATimeout) {
  BackendBench bench(options_for(1));
  FakeClient client(bench.callers);
  bench.start_child();
  bench.advance(seconds(1));
  call(bench, client, 1, -seconds(1));
  bench.settle();
  EXPECT_THAT(timed_out(client), ElementsAre(1U));
}

TEST(CallDeadline, OfSessionsInTheQueueOfTheirChild) {
  backend::BackendOptions options = session_options(2);
  options.config.pool.max_in_flight = 1;
  BackendBench bench(options);
  FakeSession session(bench.callers);
  bench.open(session);
  FakeChild& child = bench.start_child();
  call(bench, session.caller(), session.id, 1, seconds(9));
  call(bench, session.caller(), session.id, 2, seconds(4));
  call(bench, session.caller(), session.id, 3, seconds(3));
  bench.advance(seconds(3));
  EXPECT_THAT(session.take(), ElementsAre(testing::HasSubstr(R"("id":3,"error":{"code":-32003)")));
  bench.advance(seconds(1));
  EXPECT_THAT(session.take(), ElementsAre(testing::HasSubstr(R"("id":2,"error":{"code":-32003)")));
  EXPECT_EQ(child.take_ids().size(), 1U);
  bench.advance(seconds(5));
  EXPECT_THAT(session.take(), ElementsAre(testing::HasSubstr(R"("id":1,"error":{"code":-32003)")));
}

TEST(CallDeadline, ShortOnesShowTooThatAChildHangs) {
  BackendBench bench(options_for(10));
  FakeClient client(bench.callers);
  FakeChild& child = bench.start_child();
  call(bench, client, 1, seconds(9));
  for (const session::Tag tag : {2U, 3U, 4U}) call(bench, client, tag, seconds(tag));
  bench.advance(seconds(3));
  EXPECT_THAT(child.ends(), IsEmpty());
  bench.advance(seconds(1));
  EXPECT_EQ(child.ends().size(), 1U);
  EXPECT_THAT(timed_out(client), ElementsAre(2U, 3U, 4U));
  ASSERT_EQ(client.answers.size(), 4U);
  EXPECT_EQ(client.answers[3].tag, 1U);
  EXPECT_EQ(client.answers[3].fault, rpc::Fault::child_failed);
}

}  // namespace
}  // namespace stdgate::test

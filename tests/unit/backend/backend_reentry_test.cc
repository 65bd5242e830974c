// Backend: clients that send, cancel and leave from within an answer.

#include "tests/support/backend_fixture.h"

namespace stdgate::test {
namespace {

backend::BackendOptions reentrant_options(uint32_t min, uint32_t max, uint32_t max_in_flight) {
  backend::BackendOptions options = plain_options();
  options.config.timeout = seconds(10);
  options.config.pool.min = min;
  options.config.pool.max = max;
  options.config.pool.max_in_flight = max_in_flight;
  options.config.pool.breaker_failures = 100;
  return options;
}

// Sends a further request from within each answer, up to `count` times.
void send_on_each_answer(BackendBench& bench, FakeClient& client, int count) {
  client.after_reply = [&bench, &client, left = count](const FakeClient::Answer& answer) mutable {
    if (left-- > 0) bench.call(client, "1", answer.tag + 1000);
  };
}

void expect_balanced(const BackendBench& bench, const FakeClient& client, size_t calls) {
  EXPECT_EQ(client.answers.size(), calls);
  EXPECT_EQ(bench.observer.started, calls);
  EXPECT_EQ(bench.observer.records.size(), calls);
  EXPECT_EQ(bench.backend.calls(), 0U);
  EXPECT_EQ(bench.status().queued_bytes, 0U);
}

TEST(BackendReentry, TheNextRequestFromWithinAnAnswer) {
  BackendBench bench(reentrant_options(1, 1, 1));
  FakeClient client(bench.callers);
  FakeChild& child = bench.start_child();
  send_on_each_answer(bench, client, 50);
  for (session::Tag tag = 0; tag < 3; ++tag) bench.call(client, "1", tag);
  answer_all(child);
  expect_balanced(bench, client, 53);
}

TEST(BackendReentry, FromWithinTheDeathOfAChild) {
  BackendBench bench(reentrant_options(1, 1, 4));
  FakeClient client(bench.callers);
  FakeChild& first = bench.start_child();
  send_on_each_answer(bench, client, 6);
  for (session::Tag tag = 0; tag < 6; ++tag) bench.call(client, "1", tag);
  first.die(9);
  EXPECT_EQ(client.answers.size(), 4U);
  EXPECT_EQ(bench.backend.calls(), 6U) << "two waited, four came anew";
  bench.advance(seconds(1));
  answer_all(bench.start_child());
  expect_balanced(bench, client, 12);
}

TEST(BackendReentry, FromWithinTheFailureOfTheWholeQueue) {
  BackendBench bench(reentrant_options(0, 1, 4));
  FakeClient client(bench.callers);
  send_on_each_answer(bench, client, 4);
  for (session::Tag tag = 0; tag < 4; ++tag) bench.call(client, "1", tag);
  bench.child(0).fail_to_start("no");
  EXPECT_EQ(client.answers.size(), 4U) << "what came meanwhile is not failed with it";
  bench.advance(seconds(1));
  answer_all(bench.start_child());
  expect_balanced(bench, client, 8);
}

TEST(BackendReentry, FromWithinARefusal) {
  backend::BackendOptions options = reentrant_options(0, 1, 1);
  options.config.pool.queue = 1;
  BackendBench bench(options);
  FakeClient client(bench.callers);
  bench.call(client);
  send_on_each_answer(bench, client, 20);
  bench.call(client);
  EXPECT_EQ(client.answers.size(), 21U);
  client.after_reply = nullptr;
  answer_all(bench.start_child());
  expect_balanced(bench, client, 22);
}

TEST(BackendReentry, FromWithinTheDeadline) {
  BackendBench bench(reentrant_options(1, 2, 2));
  FakeClient client(bench.callers);
  bench.start_child();
  send_on_each_answer(bench, client, 7);
  for (session::Tag tag = 0; tag < 7; ++tag) bench.call(client, "1", tag);
  bench.child(0).output(" ");
  bench.advance(seconds(10));
  EXPECT_EQ(client.answers.size(), 7U);
  EXPECT_EQ(bench.backend.calls(), 7U);
  bench.advance(seconds(10));
  expect_balanced(bench, client, 14);
}

TEST(BackendReentry, FromWithinShutdown) {
  BackendBench bench(reentrant_options(1, 1, 2));
  FakeClient client(bench.callers);
  bench.start_child();
  send_on_each_answer(bench, client, 5);
  for (session::Tag tag = 0; tag < 5; ++tag) bench.call(client, "1", tag);
  bench.backend.drain();
  bench.backend.fail_calls(rpc::faults::plain(rpc::Fault::overloaded));
  expect_balanced(bench, client, 10);
}

TEST(BackendReentry, LeavingFromWithinAnAnswer) {
  BackendBench bench(reentrant_options(2, 2, 2));
  FakeClient client(bench.callers);
  FakeClient other(bench.callers);
  bench.child(0).start();
  bench.child(1).start();
  client.after_reply = [&](const FakeClient::Answer&) { bench.leave(client); };
  for (int i = 0; i < 3; ++i) {
    bench.call(client);
    bench.call(other);
  }
  bench.child(0).answer(bench.child(0).take_ids().at(0));
  EXPECT_EQ(client.answers.size(), 1U);
  answer_all(bench.child(0));
  answer_all(bench.child(1));
  EXPECT_EQ(client.answers.size(), 1U);
  EXPECT_EQ(other.answers.size(), 3U);
  EXPECT_EQ(bench.backend.calls(), 0U);
}

TEST(BackendReentry, LeavingFromWithinAMassFailure) {
  BackendBench bench(reentrant_options(1, 1, 4));
  FakeClient client(bench.callers);
  bench.start_child();
  client.after_reply = [&](const FakeClient::Answer&) { bench.leave(client); };
  for (int i = 0; i < 8; ++i) bench.call(client);
  bench.child(0).die(9);
  EXPECT_EQ(bench.backend.calls(), 0U) << "what was queued is withdrawn";
  EXPECT_EQ(bench.observer.records.size(), 8U);
}

TEST(BackendReentry, LeavingFromWithinAnEvent) {
  BackendBench bench(reentrant_options(1, 1, 4));

  struct Leaver final : session::ReplySink {
    explicit Leaver(BackendBench& b) : bench(b), caller(*b.callers.add(*this)) {}
    void on_reply(session::Tag, const session::Reply&) override { ++replies; }
    void on_event(session::Tag, std::string_view) override {
      bench.backend.cancel_calls_of(caller);
    }
    void on_cancelled(session::Tag) override {}
    BackendBench& bench;
    session::Caller caller;
    int replies = 0;
  } leaver(bench);

  FakeChild& child = bench.start_child();
  rpc::EnvelopeParser parser{rpc::EnvelopeLimits{}};
  std::string text = R"({"jsonrpc":"2.0","id":1,"method":"m"})";
  call::CallContext context;
  context.caller = leaver.caller;
  context.arrived = bench.clock.now();
  context.wants_events = true;
  bench.backend.accept(parser.parse(text).value().messages[0], context);
  const std::string note = R"({"jsonrpc":"2.0","method":"note"})";
  const std::string id = child.take_ids().at(0);
  child.output(note + "\n" + note + "\n" + R"({"jsonrpc":"2.0","result":1,"id":)" + id + "}\n");
  EXPECT_EQ(leaver.replies, 0);
  EXPECT_EQ(bench.observer.records.at(0).outcome, "cancelled");
  EXPECT_EQ(bench.observer.dropped[DropReason::no_listener], 1);
  EXPECT_EQ(bench.observer.dropped[DropReason::unknown_id], 1);
}

TEST(BackendReentry, WithdrawalStartsChildrenForWhatWaits) {
  // A failure makes the queue wait. When the client leaves, the wait has passed.
  backend::BackendOptions options = reentrant_options(1, 16, 1);
  BackendBench bench(options);
  FakeClient client(bench.callers);
  FakeClient other(bench.callers);
  bench.start_child();
  bench.call(client);
  for (int i = 0; i < 3; ++i) bench.call(other);
  ASSERT_EQ(bench.launcher.launched(), 4U);
  for (size_t i = 1; i < 4; ++i) bench.child(i).fail_to_start("no");
  EXPECT_EQ(bench.status().queued, 3U);
  // Time passes, but the timers have not run yet.
  bench.clock.set(bench.clock.now() + seconds(5));
  bench.leave(client);
  EXPECT_EQ(bench.status().queued, 2U);
  answer_all(bench.child(0));
  bench.settle();
  while (bench.backend.calls() > 0) answer_all(bench.start_child());
  EXPECT_EQ(other.answers.size(), 3U);
}

TEST(BackendReentry, AChildEndsInsideOfNobodysCall) {
  // One child ends while the faults for the death of another child are still being sent.
  BackendBench bench(reentrant_options(2, 2, 2));
  FakeClient client(bench.callers);
  bench.child(0).start();
  bench.child(1).start();
  for (int i = 0; i < 4; ++i) bench.call(client);
  bool done = false;
  client.after_reply = [&](const FakeClient::Answer&) {
    if (std::exchange(done, true)) return;
    bench.child(1).die(9);
    bench.call(client, "\"after\"");
  };
  bench.child(0).die(9);
  EXPECT_EQ(client.answers.size(), 4U);
  EXPECT_EQ(bench.status().queued, 1U);
  EXPECT_TRUE(bench.status().children.empty());
}

}  // namespace
}  // namespace stdgate::test

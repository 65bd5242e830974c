// Backend: which child gets a call, when another child is started, and what the queue holds.

#include "tests/support/backend_fixture.h"

namespace stdgate::test {
namespace {

backend::BackendOptions choice_options(uint32_t min, uint32_t max, uint32_t max_in_flight) {
  backend::BackendOptions options = plain_options();
  options.config.pool.min = min;
  options.config.pool.max = max;
  options.config.pool.max_in_flight = max_in_flight;
  return options;
}

std::string request_of_size(size_t size) {
  std::string text = R"({"jsonrpc":"2.0","id":1,"method":"m","params":[")";
  text.append(size - text.size() - 3, 'x');
  return text + "\"]}";
}

size_t in_flight(const BackendBench& bench, size_t child) {
  return bench.status().children.at(child).in_flight;
}

TEST(BackendChoice, TheChildWithTheFewestCallsIsNext) {
  BackendBench bench(choice_options(3, 3, 10));
  FakeClient client(bench.callers);
  for (size_t i = 0; i < 3; ++i) bench.child(i).start();
  for (int i = 0; i < 6; ++i) bench.call(client);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(in_flight(bench, i), 2U);
  const auto ids = bench.child(1).take_ids();
  bench.child(1).answer(ids[0]);
  bench.child(1).answer(ids[1]);
  bench.call(client);
  bench.call(client);
  EXPECT_EQ(in_flight(bench, 1), 2U);
  EXPECT_EQ(bench.child(1).take_ids().size(), 2U);
}

TEST(BackendChoice, SmallCallsDoNotQueueBehindALargeOne) {
  BackendBench bench(choice_options(2, 2, 100));
  FakeClient client(bench.callers);
  bench.child(0).start();
  bench.child(1).start();
  bench.send(client, request_of_size(512 << 10));  // as heavy as eight more calls
  for (int i = 0; i < 8; ++i) bench.call(client);
  EXPECT_EQ(in_flight(bench, 0), 1U);
  EXPECT_EQ(in_flight(bench, 1), 8U);
  bench.child(0).answer(bench.child(0).take_ids().at(0));
  bench.call(client);
  bench.call(client);
  EXPECT_EQ(in_flight(bench, 0), 2U) << "answered bytes weigh nothing";
  EXPECT_EQ(in_flight(bench, 1), 8U);
}

TEST(BackendChoice, StartsAnotherChildOnlyWhenAllAreFull) {
  BackendBench bench(choice_options(0, 3, 2));
  FakeClient client(bench.callers);
  EXPECT_EQ(bench.launcher.launched(), 0U);
  // Sends calls, and checks the number of children after each call.
  bench.call(client);
  EXPECT_EQ(bench.launcher.launched(), 1U);
  bench.call(client);
  EXPECT_EQ(bench.launcher.launched(), 1U) << "the one to come has room for two";
  bench.call(client);
  EXPECT_EQ(bench.launcher.launched(), 2U);
  bench.child(0).start();
  bench.child(1).start();
  EXPECT_EQ(bench.status().queued, 0U);
  bench.call(client);
  EXPECT_EQ(bench.launcher.launched(), 2U);
  bench.call(client);
  EXPECT_EQ(bench.launcher.launched(), 3U);
  for (int i = 0; i < 10; ++i) bench.call(client);
  EXPECT_EQ(bench.launcher.launched(), 3U) << "max";
  const std::vector<StartReason> demand(3, StartReason::demand);
  EXPECT_EQ(bench.observer.starts, demand);
}

TEST(BackendChoice, OneInFlightIsExclusive) {
  BackendBench bench(choice_options(1, 1, 1));
  FakeClient client(bench.callers);
  auto& child = bench.start_child();
  for (const char* id : {"1", "2", "3"}) bench.call(client, id);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(bench.status().children[0].state, ChildState::busy);
    const auto ids = child.take_ids();
    ASSERT_EQ(ids.size(), 1U) << "one at a time";
    child.answer(ids[0], std::to_string(i));
  }
  const std::vector<std::string> expected = {R"({"jsonrpc":"2.0","id":1,"result":0})",
                                             R"({"jsonrpc":"2.0","id":2,"result":1})",
                                             R"({"jsonrpc":"2.0","id":3,"result":2})"};
  EXPECT_EQ(client.texts(), expected);
  EXPECT_EQ(bench.status().children[0].state, ChildState::ready);
}

TEST(BackendQueue, RefusesTheCallBeyondItsLimit) {
  backend::BackendOptions options = choice_options(1, 1, 1);
  options.config.pool.queue = 3;
  BackendBench bench(options);
  FakeClient client(bench.callers);
  bench.start_child();
  for (int i = 0; i < 4; ++i) bench.call(client);
  EXPECT_EQ(bench.status().queued, 3U);
  EXPECT_TRUE(client.answers.empty());
  bench.call(client, "\"late\"");
  ASSERT_EQ(client.answers.size(), 1U);
  EXPECT_EQ(client.answers[0].fault, rpc::Fault::overloaded);
  EXPECT_EQ(client.answers[0].retry_after, Duration(std::chrono::seconds(1)));
  EXPECT_EQ(client.answers[0].text,
            R"({"jsonrpc":"2.0","id":"late","error":{"code":-32005,)"
            R"("message":"the queue of this backend is full","data":{"retryAfter":1}}})");
  EXPECT_EQ(bench.observer.records.at(0).outcome, "overloaded");
  bench.child(0).answer(bench.child(0).take_ids().at(0));
  bench.call(client);
  EXPECT_EQ(client.answers.size(), 2U) << "there is room again";
  EXPECT_EQ(bench.status().queued, 3U);
}

TEST(BackendQueue, RefusesTheByteBeyondItsLimit) {
  backend::BackendOptions options = choice_options(0, 1, 1);
  options.config.pool.queue_bytes = 1000;
  BackendBench bench(options);
  FakeClient client(bench.callers);
  bench.send(client, request_of_size(600));
  bench.send(client, request_of_size(401));
  ASSERT_EQ(client.answers.size(), 1U);
  EXPECT_EQ(client.answers[0].fault, rpc::Fault::overloaded);
  bench.send(client, request_of_size(400));
  EXPECT_EQ(client.answers.size(), 1U);
  EXPECT_EQ(bench.status().queued_bytes, 1000U);
  bench.start_child();
  EXPECT_EQ(bench.status().queued_bytes, 400U);
}

TEST(BackendQueue, HoldsNotificationsInTheirPlace) {
  backend::BackendOptions options = choice_options(0, 1, 5);
  options.config.pool.queue = 3;
  BackendBench bench(options);
  FakeClient client(bench.callers);
  const auto note = [](int i) {
    return R"({"jsonrpc":"2.0","method":"note","params":[)" + std::to_string(i) + "]}";
  };
  EXPECT_EQ(bench.send(client, note(1)), backend::Admission::delivered);
  bench.call(client);
  EXPECT_EQ(bench.send(client, note(2)), backend::Admission::delivered);
  EXPECT_EQ(bench.send(client, note(3)), backend::Admission::refused_overloaded);
  EXPECT_EQ(bench.observer.dropped[DropReason::overloaded], 1);
  EXPECT_EQ(bench.observer.notifications[Direction::to_child], 2);
  const auto lines = bench.start_child().take_lines();
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0], note(1));
  EXPECT_EQ(lines[2], note(2));
}

TEST(BackendQueue, IsServedInOrderOfArrival) {
  BackendBench bench(choice_options(0, 1, 2));
  FakeClient client(bench.callers);
  for (int i = 0; i < 5; ++i) {
    bench.send(client, R"({"jsonrpc":"2.0","id":1,"method":"m)" + std::to_string(i) + "\"}");
  }
  auto& child = bench.start_child();
  std::string seen;
  rpc::EnvelopeParser parser{rpc::EnvelopeLimits{}};
  for (std::vector<std::string> lines = child.take_lines(); !lines.empty();
       lines = child.take_lines()) {
    for (std::string& line : lines) {
      const rpc::Envelope request = parser.parse(line).value().messages[0].envelope;
      seen += request.method;
      child.answer(std::string(request.id));
    }
  }
  EXPECT_EQ(seen, "m0m1m2m3m4");
}

TEST(BackendStalledChild, GetsNoMoreThanItsWatermarkAndOthersGoOn) {
  backend::BackendOptions options = choice_options(2, 2, 4000);
  options.config.pool.queue = 100;
  BackendBench bench(options);
  FakeClient client(bench.callers);
  bench.child(0).start();
  bench.child(1).start();
  bench.child(0).stop_reading();
  const size_t size = 100'000;
  for (int i = 0; i < 60; ++i) bench.send(client, request_of_size(size));
  EXPECT_LE(bench.child(0).unsent(), pool::ChildLink::kHighWatermark + size);
  EXPECT_GE(bench.child(0).unsent(), pool::ChildLink::kHighWatermark);
  EXPECT_EQ(in_flight(bench, 0) + in_flight(bench, 1), 60U);
  EXPECT_EQ(bench.status().queued, 0U);

  bench.child(1).stop_reading();
  for (int i = 0; i < 30; ++i) bench.send(client, request_of_size(size));
  EXPECT_GT(bench.status().queued, 0U);
  bench.child(0).drain_stdin();
  EXPECT_EQ(bench.status().queued, 0U) << "what waited goes to the one that reads again";
}

TEST(BackendStalledChild, RepeatedCancelsDoNotPileUp) {
  BackendBench bench(choice_options(1, 1, 10));
  FakeClient client(bench.callers);
  bench.start_child().stop_reading();
  bench.call(client, "1");
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_EQ(
        bench.send(client, R"({"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}})"),
        backend::Admission::delivered);
  }
  EXPECT_LT(bench.child(0).unsent(), 1000U);
}

TEST(BackendStalledChild, ItsOwnRequestsAreAnsweredUpToALimit) {
  BackendBench bench(choice_options(1, 1, 10));
  auto& child = bench.start_child();
  child.stop_reading();
  std::string flood;
  for (int i = 0; i < 1000; ++i)
    flood += R"({"jsonrpc":"2.0","id":1,"method":"ask"})"
             "\n";
  for (int i = 0; i < 100; ++i) child.output(flood);
  EXPECT_LT(child.unsent(), 3 * pool::ChildLink::kHighWatermark);
  EXPECT_GT(bench.observer.dropped[DropReason::outbox_full], 0);
}

TEST(BackendFlood, NotificationsThatNobodyHearsAreOnlyCounted) {
  BackendBench bench(choice_options(1, 1, 10));
  FakeClient client(bench.callers);
  auto& child = bench.start_child();
  bench.call(client);
  std::string flood;
  for (int i = 0; i < 1000; ++i)
    flood += R"({"jsonrpc":"2.0","method":"note)" + std::to_string(i) + "\"}\n";
  for (int i = 0; i < 10; ++i) child.output(flood);
  EXPECT_EQ(bench.observer.dropped[DropReason::no_listener], 10'000);
  EXPECT_EQ(bench.observer.methods.size(), 1U) << "their names take no place";
  EXPECT_TRUE(child.take_lines().size() == 1U);
}

}  // namespace
}  // namespace stdgate::test

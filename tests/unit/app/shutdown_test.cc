// Which signals begin the shutdown, which signals shorten it, and which are a repetition of the
// same signal.
#include "gateway/app/shutdown.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <string>

#include "tests/support/backend_bench.h"

namespace stdgate {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

struct ShutdownBench {
  explicit ShutdownBench(Duration drain_timeout = std::chrono::hours(1)) : timeout(drain_timeout) {}

  const Duration timeout;
  test::ManualClock clock;
  TimerQueue timers;
  test::RecordingLog log;
  backend::Upstreams backends;
  int stopped = 0;  // how often the owner was told
  bool accepts = true;
  bool requests = false;  // requests that have arrived, but were not read
  bool drained = false;   // the clients have been drained
  bool idle = false;      // false: the clients are never done
  app::Shutdown shutdown{clock,
                         timers,
                         log,
                         backends,
                         {[this] { accepts = false; }, [this] { return requests; },
                          [this] { drained = true; }, [] {}, [this] { return idle; }},
                         timeout,
                         [this] { ++stopped; }};

  void signal_at(Duration since_start, int signal) {
    clock.set(TimePoint(since_start));
    shutdown.request(signal);
  }

  void advance_to(Duration since_start) {
    clock.set(TimePoint(since_start));
    timers.run_due(clock.now());
  }
};

TEST(Shutdown, TheSameSignalSoonAfterTheFirstIsNoSecondOne) {
  constexpr Duration kStart = milliseconds(10'000);
  struct Case {
    Duration later;
    int signal;
    bool hurries;
  };
  const Case cases[] = {{nanoseconds(0), SIGTERM, false},
                        {app::Shutdown::kSameRequest - nanoseconds(1), SIGTERM, false},
                        {app::Shutdown::kSameRequest, SIGTERM, true},
                        {nanoseconds(0), SIGINT, true},
                        {milliseconds(60'000), SIGINT, true}};
  for (const Case& c : cases) {
    ShutdownBench bench;
    bench.signal_at(kStart, SIGTERM);
    EXPECT_TRUE(bench.shutdown.requested());
    EXPECT_FALSE(bench.shutdown.was_hurried());
    bench.signal_at(kStart + c.later, c.signal);
    EXPECT_EQ(bench.shutdown.was_hurried(), c.hurries) << c.later.count() << " " << c.signal;
    EXPECT_EQ(bench.stopped > 0, c.hurries);
  }
}

TEST(Shutdown, LastCallsAreTakenBeforeItDrains) {
  ShutdownBench bench;
  bench.signal_at(Duration{0}, SIGTERM);
  EXPECT_FALSE(bench.accepts);
  bench.advance_to(app::Shutdown::kLastCalls - app::Shutdown::kPoll);
  EXPECT_FALSE(bench.drained);
  bench.advance_to(app::Shutdown::kLastCalls);
  EXPECT_TRUE(bench.drained);
}

TEST(Shutdown, WhatHasComeByThenIsReadFirst) {
  ShutdownBench bench;
  bench.requests = true;
  bench.signal_at(Duration{0}, SIGTERM);
  bench.advance_to(app::Shutdown::kLastCalls);
  EXPECT_FALSE(bench.drained);
  bench.requests = false;
  bench.advance_to(app::Shutdown::kLastCalls + app::Shutdown::kPoll);
  EXPECT_TRUE(bench.drained);
}

TEST(Shutdown, WhoSendsSlowlyPutsTheEndOffForAWhileOnly) {
  ShutdownBench bench;
  bench.requests = true;
  bench.signal_at(Duration{0}, SIGTERM);
  bench.advance_to(app::Shutdown::kReadCalls - app::Shutdown::kPoll);
  EXPECT_FALSE(bench.drained);
  bench.advance_to(app::Shutdown::kReadCalls);
  EXPECT_TRUE(bench.drained);
}

TEST(Shutdown, WithoutClientsItDrainsAtOnce) {
  ShutdownBench bench;
  bench.idle = true;
  bench.signal_at(Duration{0}, SIGTERM);
  EXPECT_TRUE(bench.drained);
  bench.advance_to(app::Shutdown::kPoll);
  EXPECT_EQ(bench.stopped, 1);
}

TEST(Shutdown, WithoutTimeToDrainThereAreNoLastCalls) {
  ShutdownBench bench(Duration{0});
  bench.signal_at(Duration{0}, SIGTERM);
  EXPECT_TRUE(bench.drained);
}

TEST(Shutdown, RepetitionsDoNotPutTheSecondOneOff) {
  ShutdownBench bench;
  bench.signal_at(Duration{0}, SIGTERM);
  bench.signal_at(app::Shutdown::kSameRequest / 2, SIGTERM);
  bench.signal_at(app::Shutdown::kSameRequest, SIGTERM);
  EXPECT_TRUE(bench.shutdown.was_hurried());
}

// The owner then gives up what it still waits for, such as the last spans.
TEST(Shutdown, ASignalAfterTheEndHurriesNothingButTheOwner) {
  ShutdownBench bench;
  bench.idle = true;
  bench.signal_at(Duration{0}, SIGTERM);
  bench.advance_to(app::Shutdown::kPoll);
  ASSERT_EQ(bench.stopped, 1);
  bench.signal_at(milliseconds(100), SIGTERM);
  EXPECT_EQ(bench.stopped, 1) << "the same signal";
  bench.signal_at(milliseconds(200), SIGINT);
  EXPECT_EQ(bench.stopped, 2);
  EXPECT_FALSE(bench.shutdown.was_hurried());
  EXPECT_FALSE(bench.shutdown.cut_calls_off());
  EXPECT_EQ(
      std::ranges::count_if(bench.log.lines,
                            [](const std::string& line) { return line.starts_with("stopped"); }),
      1);
}

}  // namespace
}  // namespace stdgate

#include "transports/net/loop.h"

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "tests/support/loop_runner.h"

namespace stdgate {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::run_until;

struct FlushProbe final : net::Flushable {
  explicit FlushProbe(std::function<void()> action) : on_flush(std::move(action)) {}
  void flush() override {
    ++count;
    on_flush();
  }
  std::function<void()> on_flush;
  int count = 0;
};

// Counts the turns of a loop.
class TurnCounter {
 public:
  explicit TurnCounter(net::Loop& loop) {
    uv_check_init(loop.uv(), &check_);
    check_.data = this;
    uv_check_start(&check_, [](uv_check_t* c) { ++static_cast<TurnCounter*>(c->data)->turns; });
    uv_unref(reinterpret_cast<uv_handle_t*>(&check_));
  }
  void close() { uv_close(reinterpret_cast<uv_handle_t*>(&check_), nullptr); }
  int turns = 0;

 private:
  uv_check_t check_{};
};

TEST(Loop, RunEndsWithoutHandles) {
  net::Loop loop;
  loop.run();
  loop.run_once();
}

TEST(Loop, ChecksEachTurnWhenItIsOverInDebugBuilds) {
  net::Loop loop;
  int checks = 0;
  int flushed_at_check = -1;
  FlushProbe probe([] {});
  loop.check_each_turn([&] {
    ++checks;
    flushed_at_check = probe.count;
  });
  loop.flush_later(probe);
  loop.run_once();
#ifdef NDEBUG
  EXPECT_EQ(checks, 0);
#else
  EXPECT_GE(checks, 1);
  EXPECT_EQ(flushed_at_check, 1);
#endif
}

TEST(Loop, FlushesEachFlushableOnceATurn) {
  net::Loop loop;
  FlushProbe probe([] {});
  loop.flush_later(probe);
  loop.flush_later(probe);
  EXPECT_EQ(probe.count, 0);
  loop.run_once();
  EXPECT_EQ(probe.count, 1);
  loop.run_once();
  EXPECT_EQ(probe.count, 1);
}

TEST(Loop, FlushAskedWhileFlushingComesInALaterPhaseWithoutSleep) {
  net::Loop loop;
  FlushProbe* asking = nullptr;
  FlushProbe probe([&] {
    if (asking->count < 100) loop.flush_later(*asking);
  });
  asking = &probe;
  bool late = false;
  Timer far(loop.timers(), [&] { late = true; });
  far.arm(loop.now() + seconds(30));
  loop.flush_later(probe);
  loop.run_once();
  EXPECT_GE(probe.count, 1);
  EXPECT_LE(probe.count, 2);  // before and after the sleep of a turn, at most
  EXPECT_TRUE(run_until(
      loop, [&] { return probe.count == 100; }, seconds(10)));
  EXPECT_FALSE(late);
}

TEST(Loop, FlushAskedByATimerDoesNotWaitForIo) {
  net::Loop loop;
  FlushProbe probe([] {});
  Timer timer(loop.timers(), [&] { loop.flush_later(probe); });
  timer.arm(loop.now() + milliseconds(1));
  loop.run();
  EXPECT_EQ(probe.count, 1);
}

TEST(Loop, ForgottenFlushablesAreNotCalled) {
  net::Loop loop;
  FlushProbe second([] {});
  FlushProbe first([&] { loop.forget(second); });
  FlushProbe third([] {});
  loop.flush_later(first);
  loop.flush_later(second);
  loop.flush_later(third);
  loop.forget(third);
  loop.run_once();
  EXPECT_EQ(first.count, 1);
  EXPECT_EQ(second.count, 0);
  EXPECT_EQ(third.count, 0);
  loop.flush_later(third);
  loop.run_once();
  EXPECT_EQ(third.count, 1);
}

struct Mourned {
  Mourned(std::string& list, char letter) : log(list), name(letter) {}
  ~Mourned() {
    log += name;
    if (heir != nullptr) loop->retire(std::move(heir));
  }
  std::string& log;
  char name;
  net::Loop* loop = nullptr;
  std::unique_ptr<Mourned> heir;
};

TEST(Loop, RetiredObjectsDieAtTheEndOfTheTurnAfterFlushes) {
  net::Loop loop;
  std::string log;
  FlushProbe probe([&] { log += "flush "; });
  Timer timer(loop.timers(), [&] {
    loop.retire(std::make_unique<Mourned>(log, 'a'));
    loop.retire(std::unique_ptr<Mourned>());
    loop.flush_later(probe);
    log += "timer ";
  });
  timer.arm(loop.now());
  loop.run();
  EXPECT_EQ(log, "timer flush a");
}

TEST(Loop, RetiringOnDestructionWorks) {
  std::string log;
  {
    net::Loop loop;
    auto first = std::make_unique<Mourned>(log, 'a');
    first->loop = &loop;
    first->heir = std::make_unique<Mourned>(log, 'b');
    loop.retire(std::move(first));
    loop.run();
    EXPECT_EQ(log, "ab");
    auto third = std::make_unique<Mourned>(log, 'c');
    third->loop = &loop;
    third->heir = std::make_unique<Mourned>(log, 'd');
    loop.retire(std::move(third));
  }
  EXPECT_EQ(log, "abcd");
}

TEST(Loop, TimersFireInOrderAndNeverEarly) {
  net::Loop loop;
  std::string fired;
  const TimePoint start = loop.now();
  const auto check = [&](char name, Duration after) {
    EXPECT_GE(loop.now() - start, after);
    fired += name;
  };
  Timer c(loop.timers(), [&] { check('c', milliseconds(12)); });
  Timer a(loop.timers(), [&] { check('a', microseconds(300)); });
  Timer b(loop.timers(), [&] { check('b', microseconds(5700)); });
  c.arm(start + milliseconds(12));
  a.arm(start + microseconds(300));
  b.arm(start + microseconds(5700));
  loop.run();
  EXPECT_EQ(fired, "abc");
}

TEST(Loop, ShortTimersDoNotSpin) {
  net::Loop loop;
  TurnCounter counter(loop);
  for (int i = 0; i < 10; ++i) {
    bool fired = false;
    Timer timer(loop.timers(), [&] { fired = true; });
    loop.refresh_now();
    timer.arm(loop.now() + microseconds(200));
    counter.turns = 0;
    while (!fired) loop.wait_once();
    EXPECT_LE(counter.turns, 3);
  }
  counter.close();
}

TEST(Loop, MovedTimersKeepTheirNewTime) {
  net::Loop loop;
  std::string fired;
  Timer later(loop.timers(), [&] { fired += 'l'; });
  Timer sooner(loop.timers(), [&] { fired += 's'; });
  Timer never(loop.timers(), [&] { fired += 'n'; });
  later.arm(loop.now() + milliseconds(2));
  sooner.arm(loop.now() + seconds(60));
  never.arm(loop.now() + milliseconds(1));
  loop.run_once();
  fired.clear();  // a slow machine may have fired some
  const TimePoint start = loop.now();
  later.arm(start + milliseconds(15));
  sooner.arm(start + milliseconds(5));
  never.disarm();
  loop.run();
  EXPECT_EQ(fired, "sl");
  EXPECT_GE(loop.now() - start, milliseconds(15));
  EXPECT_LT(loop.now() - start, seconds(30));
}

TEST(Loop, ATimerDueAtOnceWaitsForTheNextTurn) {
  net::Loop loop;
  int fired = 0;
  Timer* again = nullptr;
  Timer timer(loop.timers(), [&] {
    if (++fired < 5) again->arm(loop.now());
  });
  again = &timer;
  timer.arm(loop.now());
  loop.run_once();
  loop.run_once();
  EXPECT_LE(fired, 2);
  loop.run();
  EXPECT_EQ(fired, 5);
}

TEST(Loop, StopEndsRun) {
  net::Loop loop;
  Timer far(loop.timers(), [] {});
  far.arm(loop.now() + seconds(60));
  Timer near(loop.timers(), [&] { loop.stop(); });
  near.arm(loop.now() + milliseconds(1));
  loop.run();
  EXPECT_TRUE(far.armed());
  EXPECT_FALSE(near.armed());
}

TEST(Loop, WhatTheLastTimerDidIsEndedToo) {
  std::string log;
  net::Loop loop;
  Timer timer(loop.timers(), [&] {
    loop.retire(std::make_unique<Mourned>(log, 'a'));
    loop.stop();
  });
  timer.arm(loop.now() + milliseconds(1));
  loop.run();
  EXPECT_EQ(log, "a");
}

TEST(Loop, LagSaysHowLateATimerWas) {
  net::Loop loop;
  Timer timer(loop.timers(), [] {});
  do {  // again if the timer was due before the loop knew of it
    loop.refresh_now();
    timer.arm(loop.now() + milliseconds(20));
    loop.run_once();
  } while (!timer.armed());
  std::this_thread::sleep_until(timer.due() + milliseconds(30));
  loop.run();
  EXPECT_GE(loop.lag(), milliseconds(29));
  // A timer that was due before it was armed says nothing about the loop's lag.
  loop.refresh_now();
  timer.arm(loop.now() - seconds(30));
  loop.run();
  EXPECT_LT(loop.lag(), seconds(20));
}

TEST(Loop, NowStandsStillUntilRefreshed) {
  net::Loop loop;
  const TimePoint before = loop.now();
  std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(loop.now(), before);
  loop.refresh_now();
  EXPECT_GE(loop.now() - before, milliseconds(1));
}

TEST(Loop, FreesLargeStorageThatRests) {
  net::Loop loop;
  Timer begin(loop.timers(), [] {});  // an idle loop runs no turn
  begin.arm(loop.now());
  ByteQueue storage;
  storage.reserve(StoragePool::kSmall + 1);
  loop.storages().give_back(std::move(storage));
  ASSERT_TRUE(loop.storages().keeps_large());
  loop.run();  // returns when no timer is left
  EXPECT_FALSE(loop.storages().keeps_large());
}

TEST(Errands, AreRunElsewhereAndComeBack) {
  net::Loop loop;
  net::Errands errands(loop);
  std::thread::id worked_in;
  std::optional<std::thread::id> done_in;
  errands.start([&] { worked_in = std::this_thread::get_id(); },
                [&] { done_in = std::this_thread::get_id(); });
  EXPECT_FALSE(done_in.has_value());
  ASSERT_TRUE(run_until(loop, [&] { return done_in.has_value(); }));
  EXPECT_EQ(done_in, std::this_thread::get_id());
  EXPECT_NE(worked_in, std::this_thread::get_id());
}

// The loop continues during an errand.
TEST(Errands, HoldUpNothing) {
  net::Loop loop;
  net::Errands errands(loop);
  std::promise<void> may_end;
  bool is_done = false;
  bool has_fired = false;
  errands.start([&, wait = may_end.get_future().share()] { wait.wait(); }, [&] { is_done = true; });
  Timer timer(loop.timers(), [&] { has_fired = true; });
  timer.arm(loop.now());
  ASSERT_TRUE(run_until(loop, [&] { return has_fired; }));
  EXPECT_FALSE(is_done);
  may_end.set_value();
  EXPECT_TRUE(run_until(loop, [&] { return is_done; }));
}

TEST(Errands, NobodyHearsOfThoseThatOutliveTheirOwner) {
  std::promise<void> may_end;
  const auto witness = std::make_shared<int>();
  bool is_done = false;
  {
    net::Loop loop;
    {
      net::Errands errands(loop);
      errands.start([witness, wait = may_end.get_future().share()] { wait.wait(); },
                    [&] { is_done = true; });
    }
    may_end.set_value();
  }
  EXPECT_FALSE(is_done);
  EXPECT_EQ(witness.use_count(), 1) << "the errand has ended with the loop";
}

// An errand may be started when another one has finished.
TEST(Errands, MayBeginOthers) {
  net::Loop loop;
  net::Errands errands(loop);
  int done = 0;
  errands.start([] {},
                [&] {
                  ++done;
                  errands.start([] {}, [&] { ++done; });
                });
  EXPECT_TRUE(run_until(loop, [&] { return done == 2; }));
}

}  // namespace
}  // namespace stdgate

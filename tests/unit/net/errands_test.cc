#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <optional>
#include <thread>

#include "tests/support/loop_runner.h"
#include "transports/net/loop.h"

namespace stdgate {
namespace {

using test::run_until;

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

// The loop goes on meanwhile.
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

// One may be begun when another one has come back.
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

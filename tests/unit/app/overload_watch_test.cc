// The watch over memory and lag: readings, log lines, and the sources of the readings.
#include "gateway/app/overload_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/manual_clock.h"
#include "tests/support/recording_log.h"
#include "tests/support/test_folder.h"

namespace stdgate {
namespace {

using app::OverloadWatch;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

ByteQueue storage_of(size_t capacity) {
  ByteQueue storage;
  storage.reserve(capacity);
  return storage;
}

constexpr size_t kMiB = 1 << 20;

class FakeMemory final : public app::SystemReading {
 public:
  uint64_t used() override { return used_bytes; }
  uint64_t whole() override { return 4000 * kMiB; }
  Duration give_back() override {
    ++given_back;
    used_bytes -= free_bytes;
    free_bytes = 0;
    return cost;
  }
  uint64_t used_bytes = 0;
  uint64_t free_bytes = 0;  // part of used_bytes
  Duration cost{0};
  int given_back = 0;
};

// Memory of two clients: each event and each session is a share.
class FakeBallast final : public app::Ballast {
 public:
  size_t drop_replay(const Account* client, const Enough& is_enough) override {
    return drop(replay, client, is_enough, "replay");
  }
  size_t forget_sessions(const Account* client, const Enough& is_enough) override {
    return drop(sessions, client, is_enough, "session");
  }
  void drop_caches() override { dropped.emplace_back("caches"); }

  std::vector<Share> replay;
  std::vector<Share> sessions;
  std::vector<std::string> dropped;

 private:
  size_t drop(std::vector<Share>& shares, const Account* client, const Enough& is_enough,
              const char* what) {
    size_t count = 0;
    for (Share& share : shares) {
      if (is_enough()) break;
      if (share.bytes() == 0 || (client != nullptr && share.account() != client)) continue;
      share.set(0);
      dropped.emplace_back(what);
      ++count;
    }
    return count;
  }
};

class OverloadWatchTest : public testing::Test {
 protected:
  void start(std::optional<uint64_t> limit) {
    config::LimitsConfig limits;
    limits.memory = limit;
    limits.loop_lag = std::chrono::milliseconds(100);
    watch_.emplace(limits,
                   app::OverloadServices{clock_, timers_, log_, storages_, accounts_, ballast_},
                   memory_);
  }
  // One reading, which comes `late` after its time.
  void read(Duration late = Duration::zero()) {
    clock_.set(clock_.now() + OverloadWatch::kPeriod + late);
    timers_.run_due(clock_.now());
  }
  void read_for(Duration time) {
    for (const TimePoint end = clock_.now() + time; clock_.now() < end;) read();
  }
  Share share(const char* client, size_t bytes, Holding holding = Holding::sessions) {
    const AccountRef account = accounts_.of({nullptr, *ClientAddress::parse(client)});
    Share made({account.get(), &accounts_.unrouted()}, holding);
    made.set(bytes);
    return made;
  }

  static constexpr const char* kOne = "192.0.2.1";
  static constexpr const char* kOther = "192.0.2.2";

  test::ManualClock clock_;
  TimerQueue timers_;
  test::RecordingLog log_;
  StoragePool storages_;
  policy::Accounts accounts_{{.gateway = 1000 * kMiB, .client = 400 * kMiB}};
  FakeBallast ballast_;
  FakeMemory memory_;
  std::optional<OverloadWatch> watch_;
};

TEST_F(OverloadWatchTest, EachStageIsSaidOnce) {
  start(1000 * kMiB);
  for (const uint64_t used : {100, 850, 860, 950, 999, 940, 880, 860, 790, 100}) {
    memory_.used_bytes = used * kMiB;
    read_for(OverloadWatch::kPeriod * policy::Overload::kFullReadings);
  }
  EXPECT_THAT(log_.lines, ElementsAre(StartsWith("memory is tight used_bytes=891289600 limit_bytes"
                                                 "=1048576000"),
                                      StartsWith("memory is short used_bytes=996147200"),
                                      StartsWith("memory is tight used_bytes=922746880"),
                                      StartsWith("memory is free again used_bytes=828375040")));
}

// Caches are dropped once, at the beginning of the stage, because filling them again is work.
TEST_F(OverloadWatchTest, WhatNobodyWaitsForGoesInItsOrder) {
  start(1000 * kMiB);
  ballast_.replay.push_back(share(kOne, 300 * kMiB, Holding::replay));
  ballast_.sessions.push_back(share(kOne, 10 * kMiB));
  ballast_.sessions.push_back(share(kOther, 10 * kMiB));
  const Share rest = share("192.0.2.3", 785 * kMiB, Holding::receiving);
  storages_.give_back(storage_of(100'000));
  read();
  EXPECT_THAT(ballast_.dropped, ElementsAre("replay", "caches", "session"));
  EXPECT_FALSE(storages_.keeps_large());
  EXPECT_EQ(accounts_.gateway().used(), 795 * kMiB);
  read();
  EXPECT_THAT(ballast_.dropped, SizeIs(3));
  EXPECT_FALSE(watch_->stages().refuses_calls());
}

TEST_F(OverloadWatchTest, NoMoreGoesThanIsNeeded) {
  start(1000 * kMiB);
  for (int i = 0; i < 9; ++i) {
    ballast_.replay.push_back(share(i < 5 ? kOne : kOther, 60 * kMiB, Holding::replay));
  }
  const Share rest = share("192.0.2.3", 319 * kMiB, Holding::receiving);
  read();
  EXPECT_THAT(ballast_.dropped, ElementsAre("replay"));
}

// Only the client's own events are dropped, even though there is memory for others.
TEST_F(OverloadWatchTest, AClientThatNearsItsBoundGivesUpItsOwn) {
  start(4000 * kMiB);
  ballast_.replay.push_back(share(kOther, 40 * kMiB, Holding::replay));
  ballast_.replay.push_back(share(kOne, 60 * kMiB, Holding::replay));
  ballast_.sessions.push_back(share(kOne, 10 * kMiB));
  const Share rest = share(kOne, 285 * kMiB, Holding::receiving);
  read();
  EXPECT_THAT(ballast_.dropped, ElementsAre("replay"));
  EXPECT_EQ(ballast_.replay[0].bytes(), 40 * kMiB);
  EXPECT_THAT(log_.lines, ElementsAre(StartsWith("memory of sessions is given up client=192.0.2.1 "
                                                 "replay_logs=1 sessions=0 bytes=62914560")));
  EXPECT_EQ(watch_->stages().memory(), policy::Overload::Memory::free);
}

// The events are dropped in the next turn, without waiting for the next reading.
TEST_F(OverloadWatchTest, WhoComesNearItsBoundDoesNotHaveToWait) {
  start(4000 * kMiB);
  ballast_.replay.push_back(share(kOne, 100 * kMiB, Holding::replay));
  const Share rest = share(kOne, 250 * kMiB, Holding::receiving);
  timers_.run_due(clock_.now());
  EXPECT_THAT(ballast_.dropped, ElementsAre("replay"));
}

// Events are dropped at once, without waiting for the next turn, if a client is about to be cut or
// refused.
TEST_F(OverloadWatchTest, WhoIsAboutToBeCutIsRelievedAtOnce) {
  start(4000 * kMiB);
  ballast_.replay.push_back(share(kOther, 100 * kMiB, Holding::replay));
  ballast_.replay.push_back(share(kOne, 100 * kMiB, Holding::replay));
  const Share rest = share(kOne, 310 * kMiB, Holding::unsent);
  watch_->relieve_now();
  EXPECT_THAT(ballast_.dropped, ElementsAre("replay"));
  EXPECT_EQ(ballast_.replay[1].bytes(), 0U);
  watch_->relieve_now();
  EXPECT_THAT(ballast_.dropped, SizeIs(1)) << "it is not near its bound any more";
}

// Resident memory is charged to no account. Droppable memory is freed, and no more than the excess.
TEST_F(OverloadWatchTest, ResidentMemoryMakesRoomToo) {
  start(1000 * kMiB);
  ballast_.replay.push_back(share(kOne, 40 * kMiB, Holding::replay));
  ballast_.replay.push_back(share(kOne, 40 * kMiB, Holding::replay));
  ballast_.replay.push_back(share(kOne, 40 * kMiB, Holding::replay));
  memory_.used_bytes = 860 * kMiB;
  read();
  EXPECT_THAT(ballast_.dropped, ElementsAre("replay", "replay", "caches"));
}

TEST_F(OverloadWatchTest, MuchThatIsFreeIsGivenBack) {
  start(4000 * kMiB);
  memory_.used_bytes = 100 * kMiB;
  read();
  EXPECT_EQ(memory_.given_back, 0);
  memory_.used_bytes = 131 * kMiB;
  memory_.free_bytes = 31 * kMiB;
  read();
  EXPECT_EQ(memory_.given_back, 0);
  memory_.used_bytes = 132 * kMiB;
  memory_.free_bytes = 32 * kMiB;
  read();
  EXPECT_EQ(memory_.given_back, 1);
  EXPECT_EQ(watch_->resident(), 100 * kMiB);
  // The second time comes only after a wait.
  memory_.used_bytes = 200 * kMiB;
  memory_.free_bytes = 100 * kMiB;
  read_for(std::chrono::seconds(4));
  EXPECT_EQ(memory_.given_back, 1);
  read_for(std::chrono::seconds(2));
  EXPECT_EQ(memory_.given_back, 2);
  // Held memory is not free. Neither is memory that stays in use after it was given back.
  const Share held = share(kOne, 300 * kMiB);
  memory_.used_bytes = 400 * kMiB;
  read_for(std::chrono::seconds(20));
  EXPECT_EQ(memory_.given_back, 2);
  memory_.used_bytes = 500 * kMiB;
  read_for(std::chrono::seconds(20));
  EXPECT_EQ(memory_.given_back, 3);
}

TEST_F(OverloadWatchTest, WhatWasHeldIsGivenBack) {
  start(4000 * kMiB);
  memory_.used_bytes = 100 * kMiB;
  read();
  Share held = share(kOne, 40 * kMiB);
  memory_.used_bytes = 140 * kMiB;
  read();
  memory_.used_bytes = 120 * kMiB;  // some of it is free
  memory_.free_bytes = 20 * kMiB;
  held.set(21 * kMiB);
  read();
  EXPECT_EQ(memory_.given_back, 0);
  held.set(20 * kMiB);
  read();
  EXPECT_EQ(memory_.given_back, 1);
}

// Little is given back, so that the time that this takes does not add to the lag.
TEST_F(OverloadWatchTest, WhileMemoryIsTightLittleIsGivenBackAndSooner) {
  start(1000 * kMiB);
  memory_.used_bytes = 800 * kMiB;
  read();
  memory_.used_bytes = 880 * kMiB;
  memory_.free_bytes = 20 * kMiB;
  read();
  EXPECT_EQ(memory_.given_back, 1);
  memory_.used_bytes = 880 * kMiB;
  memory_.free_bytes = 20 * kMiB;
  memory_.cost = std::chrono::milliseconds(500);
  read_for(std::chrono::milliseconds(1000));
  EXPECT_EQ(memory_.given_back, 2);
  memory_.used_bytes = 880 * kMiB;
  memory_.free_bytes = 20 * kMiB;
  read_for(std::chrono::seconds(9));
  EXPECT_EQ(memory_.given_back, 2);
  read_for(std::chrono::seconds(2));
  EXPECT_EQ(memory_.given_back, 3);
}

TEST_F(OverloadWatchTest, TheLimitIsAPartOfTheWhole) {
  start({});
  EXPECT_EQ(watch_->memory_limit(), 3000 * kMiB);
  memory_.used_bytes = 1500 * kMiB;
  read();
  EXPECT_EQ(watch_->stages().pressure(), 0.5);
}

TEST_F(OverloadWatchTest, LagIsSaidOnce) {
  start(1000 * kMiB);
  read(std::chrono::milliseconds(150));
  EXPECT_THAT(log_.lines, IsEmpty());
  read(std::chrono::milliseconds(150));
  read(std::chrono::milliseconds(150));
  EXPECT_TRUE(watch_->stages().refuses_sessions());
  read();
  read();
  EXPECT_FALSE(watch_->stages().refuses_sessions());
  EXPECT_THAT(log_.lines, ElementsAre(StartsWith("event loop is late lag_ms=150"),
                                      StartsWith("event loop is in time again")));
}

// --- What the system says ------------------------------------------------------------------------

void put(const test::TestFolder& root, const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(root.path(path)).parent_path());
  std::ofstream(root.path(path)) << text;
}

TEST(SystemMemory, KnowsThisProcess) {
  app::SystemMemory memory;
  EXPECT_GT(memory.used(), 100'000U);
  EXPECT_GT(memory.whole(), memory.used());
}

TEST(SystemMemory, TheLeastOfAllGroupsCounts) {
  const uint64_t machine = app::SystemMemory("/no/such/root").whole();
  const struct {
    const char* groups;
    std::vector<std::pair<const char*, const char*>> files;
    uint64_t expected;
  } cases[] = {
      {"0::/a/b\n", {{"a/b/memory.max", "5000\n"}, {"a/memory.max", "max\n"}}, 5000},
      {"0::/a/b\n", {{"a/b/memory.max", "5000\n"}, {"a/memory.max", "4000\n"}}, 4000},
      {"0::/a\n", {{"a/memory.max", "max\n"}}, machine},
      {"0::/\n", {{"memory.max", "3000\n"}}, 3000},
      {"1:cpu:/x\n4:memory:/x\n", {{"memory/x/memory.limit_in_bytes", "2000\n"}}, 2000},
      {"4:memory:/x\n", {{"memory/memory.limit_in_bytes", "2500\n"}}, 2500},
      {"4:memory:/\n", {{"memory/memory.limit_in_bytes", "9223372036854771712\n"}}, machine},
      {"", {}, machine},
      {"no such thing\n", {}, machine},
  };
  for (const auto& item : cases) {
    const test::TestFolder root;
    put(root, "proc/self/cgroup", item.groups);
    for (const auto& [path, text] : item.files) {
      put(root, std::string("sys/fs/cgroup/") + path, text);
    }
    EXPECT_EQ(app::SystemMemory(root.path("")).whole(), item.expected) << item.groups;
  }
}

}  // namespace
}  // namespace stdgate

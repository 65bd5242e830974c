// The watch over memory and lag: readings, log lines, and what the system says.
#include "gateway/app/overload_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "gateway/app/system_memory.h"
#include "tests/support/manual_clock.h"
#include "tests/support/recording_log.h"
#include "tests/support/test_folder.h"

namespace stdgate {
namespace {

using app::OverloadWatch;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

ByteQueue storage_of(size_t capacity) {
  ByteQueue storage;
  storage.reserve(capacity);
  return storage;
}

class FakeMemory final : public app::MemoryReading {
 public:
  uint64_t used() override { return used_bytes; }
  uint64_t whole() override { return 4000; }
  uint64_t used_bytes = 0;
};

class CountingCaches final : public app::Caches {
 public:
  void drop() override { ++drops; }
  int drops = 0;
};

class OverloadWatchTest : public testing::Test {
 protected:
  void start(std::optional<uint64_t> limit) {
    config::LimitsConfig limits;
    limits.memory = limit;
    limits.loop_lag = std::chrono::milliseconds(100);
    watch_.emplace(limits, app::OverloadServices{clock_, timers_, log_, storages_, caches_},
                   memory_);
  }
  // One reading, so late.
  void read(Duration late = Duration::zero()) {
    clock_.set(clock_.now() + OverloadWatch::kPeriod + late);
    timers_.run_due(clock_.now());
  }

  test::ManualClock clock_;
  TimerQueue timers_;
  test::RecordingLog log_;
  StoragePool storages_;
  CountingCaches caches_;
  FakeMemory memory_;
  std::optional<OverloadWatch> watch_;
};

TEST_F(OverloadWatchTest, EachStageIsSaidOnce) {
  start(1000);
  for (const uint64_t used : {100, 850, 860, 950, 999, 940, 880, 860, 790, 100}) {
    memory_.used_bytes = used;
    read();
    read();
  }
  EXPECT_THAT(log_.lines, ElementsAre(StartsWith("memory is tight used_bytes=850 limit_bytes=1000"),
                                      StartsWith("memory is short used_bytes=950"),
                                      StartsWith("memory is tight used_bytes=880"),
                                      StartsWith("memory is free again used_bytes=790")));
}

// At the stage's beginning, not with each reading: caches that are dropped all the time are work.
TEST_F(OverloadWatchTest, CachesAreDroppedWhenAStageBegins) {
  start(1000);
  struct {
    uint64_t used;
    int drops;
  } const cases[] = {{849, 0}, {850, 1}, {900, 1}, {950, 2}, {990, 2}, {700, 2}, {860, 3}};
  for (const auto& item : cases) {
    storages_.give_back(storage_of(100'000));
    memory_.used_bytes = item.used;
    read();
    EXPECT_EQ(caches_.drops, item.drops) << item.used;
    if (item.used == 850 || item.used == 950) {
      EXPECT_FALSE(storages_.keeps_large()) << item.used;
    }
  }
}

TEST_F(OverloadWatchTest, TheLimitIsAPartOfTheWhole) {
  start({});
  EXPECT_EQ(watch_->memory_limit(), 3000U);
  memory_.used_bytes = 1500;
  read();
  EXPECT_EQ(watch_->stages().pressure(), 0.5);
}

TEST_F(OverloadWatchTest, LagIsSaidOnce) {
  start(1000);
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

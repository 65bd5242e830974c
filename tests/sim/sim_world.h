// SimWorld: simulated time and events for the whole core, from one seed.
//
// All randomness comes from random(), so a run is repeated by its seed. Time jumps from event to
// event, so an hour of timeouts costs nothing. SimSeeds are the seeds of a run.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <string>

#include "gateway/base/byte_storage.h"
#include "gateway/base/log.h"
#include "gateway/base/time.h"
#include "gateway/policy/accounts.h"
#include "tests/sim/sim_tally.h"

namespace stdgate::sim {

class SilentLog final : public Log {
 public:
  [[nodiscard]] bool enabled(LogLevel) const override { return false; }
  void write(LogLevel, std::string_view, std::initializer_list<LogField>) override {}
};

inline uint64_t number_from_environment(const char* name, uint64_t fallback) {
  const char* const text = std::getenv(name);
  return text == nullptr ? fallback : std::stoull(text);
}

// SimSeeds: STDGATE_SIM_SEEDS seeds from STDGATE_SIM_SEED on. If only STDGATE_SIM_SEED is set, that
// seed is the only one.
struct SimSeeds {
  explicit SimSeeds(uint64_t usual)
      : first(number_from_environment("STDGATE_SIM_SEED", 1)),
        count(number_from_environment("STDGATE_SIM_SEEDS",
                                      std::getenv("STDGATE_SIM_SEED") != nullptr ? 1 : usual)) {}

  const uint64_t first;
  const uint64_t count;
};

class SimWorld final : public Clock {
 public:
  explicit SimWorld(uint64_t seed) : random_(seed), accounts_(bounds_for(seed)) {}

  [[nodiscard]] TimePoint now() const override { return now_; }
  TimerQueue& timers() { return timers_; }
  std::mt19937_64& random() { return random_; }
  StoragePool& storages() { return storages_; }
  policy::Accounts& accounts() { return accounts_; }
  // The counts of the events that have happened.
  SimTally& tally() { return tally_; }

  // Whether the answer to the latest call comes from the memory of its server.
  [[nodiscard]] bool is_remembered() const { return is_remembered_; }
  void set_remembered(bool is_remembered) { is_remembered_ = is_remembered; }

  // A number from `low` to `high`, both included.
  uint64_t pick(uint64_t low, uint64_t high) {
    return std::uniform_int_distribution<uint64_t>(low, high)(random_);
  }
  bool chance(double probability) { return std::bernoulli_distribution(probability)(random_); }
  Duration pick_duration(Duration low, Duration high) {
    return Duration(static_cast<int64_t>(
        pick(static_cast<uint64_t>(low.count()), static_cast<uint64_t>(high.count()))));
  }

  // Runs `event` after `delay`, from the outermost level, as a loop would.
  void after(Duration delay, std::function<void()> event) {
    events_.emplace(now_ + delay, std::move(event));
  }

  // Runs one event or one round of due timers. Returns false when no event is left.
  bool step() {
    const auto timer = timers_.next_due();
    if (events_.empty() && !timer) return false;
    if (events_.empty() || (timer && *timer <= events_.begin()->first)) {
      now_ = std::max(now_, *timer);
      timers_.run_due(now_);
    } else {
      auto node = events_.extract(events_.begin());
      now_ = std::max(now_, node.key());
      node.mapped()();
    }
    return true;
  }

 private:
  // Some worlds have so little memory that clients are refused now and then.
  static policy::AccountBounds bounds_for(uint64_t seed) {
    if (seed % 5 != 0) return {};
    return {.gateway = 20'000, .client = seed % 2 == 0 ? 5'000U : 8'000U};
  }

  std::mt19937_64 random_;
  policy::Accounts accounts_;
  TimePoint now_{std::chrono::hours(1)};
  TimerQueue timers_;
  StoragePool storages_;
  SimTally tally_;
  bool is_remembered_ = false;
  std::multimap<TimePoint, std::function<void()>> events_;
};

}  // namespace stdgate::sim

// OverloadWatch: notices when memory or time runs short. SystemMemory: the system's numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "gateway/base/byte_storage.h"
#include "gateway/base/log.h"
#include "gateway/base/time.h"
#include "gateway/config/config.h"
#include "gateway/policy/accounts.h"
#include "gateway/policy/overload.h"

namespace stdgate::app {

// SystemReading: the system's numbers, as OverloadWatch asks for them.
class SystemReading {
 public:
  virtual ~SystemReading() = default;
  // Resident bytes of this process; 0: not known.
  virtual uint64_t used() = 0;
  // Bytes that the process could have, if nothing else needed memory.
  virtual uint64_t whole() = 0;
  // Gives free memory back to the system; returns how long that took.
  virtual Duration give_back() = 0;
};

// limits.memory, or its default.
uint64_t memory_limit(const config::LimitsConfig& limits, SystemReading& memory);

// Frees memory that no client waits for: of one client, or of all (null), until `is_enough()`.
// Returns the number of sessions that lost some.
class Ballast {
 public:
  using Enough = std::function<bool()>;
  virtual ~Ballast() = default;
  virtual size_t drop_replay(const Account* client, const Enough& is_enough) = 0;
  virtual size_t forget_sessions(const Account* client, const Enough& is_enough) = 0;
  // Frees caches, which only save time.
  virtual void drop_caches() = 0;
};

struct OverloadServices {
  const Clock& clock;
  TimerQueue& timers;
  Log& log;
  StoragePool& storages;
  policy::Accounts& accounts;
  Ballast& ballast;
};

// OverloadWatch: reads the memory in use and the lag of the loop every kPeriod, logs when a stage
// of the Overload begins and ends, and gives memory up before clients are refused.
//
// While memory is tight, memory that no client waits for is dropped, in this order: events kept for
// clients that come back, caches, idle buffers, sessions that have been idle longest. Each only as
// far as is needed. A single client that nears its own bound loses such memory of its own. This
// happens in the turn after an account has come near its bound, with each reading, and before a
// connection is cut or refused because of its memory.
//
// The allocator returns freed memory to the system only on request. The gateway requests it in
// three cases: kMuch has gathered; the held memory has fallen to half, from at least kMuch; or
// memory is tight, and kLittle has gathered. Returning a gigabyte takes the loop some 130 ms. So
// the gateway pauses before the next request: at least kRest (kRestWhileTight), and 20 times as
// long as the last request took (kRestPerCost). Owner: the worker.
class OverloadWatch final : public policy::Relief {
 public:
  static constexpr Duration kPeriod = std::chrono::milliseconds(250);
  static constexpr double kDefaultPart = 0.75;  // of the whole memory
  // Free memory that is worth giving back; and while memory is tight.
  static constexpr uint64_t kMuch = 32 << 20;
  static constexpr uint64_t kLittle = 1 << 20;
  static constexpr Duration kRest = std::chrono::seconds(5);
  static constexpr Duration kRestWhileTight = std::chrono::seconds(1);
  static constexpr int kRestPerCost = 20;

  OverloadWatch(const config::LimitsConfig& limits, const OverloadServices& services,
                SystemReading& memory);
  ~OverloadWatch() override { services_.accounts.gateway().set_watch(nullptr); }
  OverloadWatch(const OverloadWatch&) = delete;
  OverloadWatch& operator=(const OverloadWatch&) = delete;

  void relieve_now() override;  // policy::Relief; the stages follow with the next reading
  // Takes effect with the next reading.
  void set_limits(const config::LimitsConfig& limits);

  [[nodiscard]] const policy::Overload& stages() const { return stages_; }
  [[nodiscard]] uint64_t memory_limit() const { return memory_limit_; }
  [[nodiscard]] uint64_t resident() const { return resident_; }

 private:
  void look();
  void look_at_memory();
  void look_at_lag(Duration lag);
  void give_back();
  void relieve(bool is_new_stage);
  void relieve_clients();
  void log_given_up(size_t replays, size_t sessions, size_t bytes, std::string_view client);
  [[nodiscard]] double part_of(uint64_t bytes) const {
    return static_cast<double>(bytes) / static_cast<double>(memory_limit_);
  }

  const OverloadServices services_;
  SystemReading& memory_;
  uint64_t memory_limit_;
  policy::Overload stages_;
  uint64_t resident_ = 0;          // as read last
  std::optional<uint64_t> other_;  // its least part that is not held, since memory was given back
  uint64_t most_held_ = 0;         // since then
  TimePoint give_back_after_{};
  TimePoint drop_caches_after_{};
  RateLimit lines_{1};
  Timer timer_;
  Timer relief_timer_;
};

// SystemMemory: the memory of this process, and how much there is, from the system.
//
// Reads /proc/self/statm. The total is the smaller of the machine's memory and the limit of control
// groups (version 2, or 1), read once.
class SystemMemory final : public SystemReading {
 public:
  // `root`: the folder with proc and sys/fs/cgroup; "": the system's.
  explicit SystemMemory(std::string root = "") : root_(std::move(root)) {}

  uint64_t used() override;
  uint64_t whole() override;
  Duration give_back() override;

 private:
  const std::string root_;
  const std::string statm_ = root_ + "/proc/self/statm";
};

}  // namespace stdgate::app

// OverloadWatch: reads every kPeriod how much memory is used and how late the loop is, and says in
// the log when a stage of the Overload begins and ends.
//
// Owner: the worker. While memory is short it gives the loop's spare storage back to the system;
// when a stage of it begins, the Caches too.
#pragma once

#include <cstdint>

#include "gateway/base/log.h"
#include "gateway/base/storage_pool.h"
#include "gateway/base/timers.h"
#include "gateway/config/config.h"
#include "gateway/policy/overload.h"

namespace stdgate::app {

class MemoryReading {
 public:
  virtual ~MemoryReading() = default;
  // Bytes of this process, resident; 0: nobody knows.
  virtual uint64_t used() = 0;
  // Bytes that it could have, if nothing else needed any.
  virtual uint64_t whole() = 0;
};

// What is kept only to be faster.
class Caches {
 public:
  virtual ~Caches() = default;
  virtual void drop() = 0;
};

struct OverloadServices {
  const Clock& clock;
  TimerQueue& timers;
  Log& log;
  StoragePool& storages;
  Caches& caches;
};

class OverloadWatch {
 public:
  static constexpr Duration kPeriod = std::chrono::milliseconds(250);
  static constexpr double kDefaultPart = 0.75;  // of the whole memory

  OverloadWatch(const config::LimitsConfig& limits, const OverloadServices& services,
                MemoryReading& memory);

  [[nodiscard]] const policy::Overload& stages() const { return stages_; }
  [[nodiscard]] uint64_t memory_limit() const { return memory_limit_; }

 private:
  void look();
  void look_at_memory();
  void look_at_lag(Duration lag);

  const OverloadServices services_;
  MemoryReading& memory_;
  const uint64_t memory_limit_;
  policy::Overload stages_;
  Timer timer_;
};

}  // namespace stdgate::app

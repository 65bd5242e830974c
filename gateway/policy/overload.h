// Overload: how near the gateway is to what it may use: stages of memory, and whether its loop
// comes late.
//
// Pure: readings go in, from a timer and not with each call; what is refused comes out. Two parts
// of memory are read: what the process has (resident), of limits.memory, and what is kept for
// clients (held), of limits.buffered. Either makes memory tight, and then memory that no client
// waits for is given up. Refusals for want of memory follow the accounts of the clients; only a
// resident part that stays too large, though free memory is given back, refuses all. A stage ends
// kSlack below where it begins, so that it does not flap. Owner: the worker.
#pragma once

#include <cstdint>

#include "gateway/base/time.h"

namespace stdgate::policy {

class Overload {
 public:
  // Parts of the memory that may be used.
  static constexpr double kTight = 0.85;
  static constexpr double kFull = 0.95;
  static constexpr double kSlack = 0.05;
  // Readings in a row with a resident part of kFull and more, before it counts: meanwhile free
  // memory is given back.
  static constexpr unsigned kFullReadings = 8;
  // Readings in a row that are late, before it counts: one may be the system's doing.
  static constexpr unsigned kLateReadings = 2;

  enum class Memory : uint8_t { free, tight, full };

  // `lag` zero: the loop is never too late.
  explicit Overload(Duration lag) : max_lag_(lag) {}

  void set_max_lag(Duration lag) { max_lag_ = lag; }

  // The parts of the memory that are used. True: the stage is another one.
  bool note_memory(double resident, double held);
  // How late the loop was. True: it is too late from now on, or no longer.
  bool note_lag(Duration lag);

  [[nodiscard]] Memory memory() const { return memory_; }
  // The resident part.
  [[nodiscard]] double pressure() const { return resident_; }
  [[nodiscard]] bool is_late() const { return is_late_; }

  // Connections are closed with their answers.
  [[nodiscard]] bool ends_connections() const { return memory_ != Memory::free; }
  [[nodiscard]] bool refuses_calls() const { return memory_ == Memory::full; }
  [[nodiscard]] bool refuses_sessions() const { return memory_ == Memory::full || is_late_; }

 private:
  Duration max_lag_;
  double resident_ = 0;
  unsigned full_readings_ = 0;
  unsigned late_readings_ = 0;
  Memory memory_ = Memory::free;
  bool is_late_ = false;
};

// Relief: gives up memory that no client waits for, before clients are refused or cut.
class Relief {
 public:
  virtual ~Relief() = default;
  // Acts at once, as far as accounts are near their bounds. Not to be called from inside a call of
  // the core.
  virtual void relieve_now() = 0;
};

}  // namespace stdgate::policy

// The time of the core: clocks, calendar time, and timers.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace stdgate {

// --- The core's time
//
// Nothing under gateway/ reads a clock: code that needs the time is given a Clock, so tests control
// it.

using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

// Clock: the core's time. Implemented by transports/net.
class Clock {
 public:
  virtual ~Clock() = default;
  // Monotonic. The edge may serve one value for all events of a turn of the loop.
  [[nodiscard]] virtual TimePoint now() const = 0;
};

inline double to_seconds(Duration d) { return std::chrono::duration<double>(d).count(); }

// Calendar time.
using WallTime = std::chrono::time_point<std::chrono::system_clock, Duration>;

// WallClock: calendar time, for reports about the past. No deadline of the core depends on it,
// because it jumps when the clock is set.
class WallClock {
 public:
  virtual ~WallClock() = default;
  // The calendar time at that time of the core's Clock.
  [[nodiscard]] virtual WallTime at(TimePoint time) const = 0;
};

// A calendar time in the resolution of the system's clock. Nanoseconds reach from 1678 to 2262. A
// time after 2200 counts as never, a time before 1970 as long past.
std::chrono::system_clock::time_point calendar_time(std::chrono::sys_seconds time);

class Timer;

// TimerQueue: timers in a queue that the edge drives.
//
// Job: give the core deadlines without a clock or a loop. The edge asks next_due() how long it may
// sleep, and then calls run_due(now). A simulation does the same with simulated time. Owner: the
// loop, or a simulation; the queue outlives all its timers. Callbacks run from run_due() only,
// never from arm(). Limit: none of its own; a child, a pool and a connection have a few timers
// each, a call has none.
class TimerQueue {
 public:
  TimerQueue() = default;
  TimerQueue(const TimerQueue&) = delete;
  TimerQueue& operator=(const TimerQueue&) = delete;

  // When the earliest timer is due; nothing when none is armed.
  [[nodiscard]] std::optional<TimePoint> next_due() const;

  // Fires the timers that are due at `now`, in the order of time. A timer that a callback arms for
  // `now` or earlier fires in the next call, so that a callback cannot keep the loop here.
  void run_due(TimePoint now);

 private:
  friend class Timer;
  static constexpr size_t kNotQueued = SIZE_MAX;

  void insert(Timer* timer);
  void erase(Timer* timer);
  void sift_up(size_t position);
  void sift_down(size_t position);
  void place(size_t position, Timer* timer);

  // A binary heap by due_. Each timer knows its position, here and in firing_, so disarming is
  // O(log n).
  std::vector<Timer*> heap_;
  std::vector<Timer*> firing_;
};

// Timer: a one-shot alarm of a TimerQueue. Owner: the object whose callback it calls; the timer
// disarms itself when that object ends.
class Timer {
 public:
  Timer(TimerQueue& queue, std::function<void()> callback)
      : queue_(queue), callback_(std::move(callback)) {}
  ~Timer() { disarm(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Arms the timer, or moves it.
  void arm(TimePoint due);
  // Arms the timer, unless it is due by then; max(): never. It is moved only towards the present.
  void arm_by(TimePoint due) {
    if (due != TimePoint::max() && (!armed() || due < due_)) arm(due);
  }
  void disarm();
  [[nodiscard]] bool armed() const { return position_ != TimerQueue::kNotQueued; }
  [[nodiscard]] TimePoint due() const { return due_; }

 private:
  friend class TimerQueue;
  TimerQueue& queue_;
  std::function<void()> callback_;
  TimePoint due_{};
  size_t position_ = TimerQueue::kNotQueued;  // in the heap, or in firing_
  bool firing_ = false;                       // taken off the heap, about to be called by run_due()
};

}  // namespace stdgate

// SignsOfLife: when a process last showed that it works, and whether it hangs.
//
// Owner: the child. The clocks of the child's calls depend on it, see call_clock.h.
#pragma once

#include <cstdint>

#include "gateway/base/time.h"

namespace stdgate::pool {

class SignsOfLife {
 public:
  // `is_of_one`: the process serves one session, so its output concerns every call in flight.
  explicit SignsOfLife(bool is_of_one) : is_of_one_(is_of_one) {}

  // The process has read something, or written something.
  void note_reading(TimePoint now) {
    last_ = now;
    silent_timeouts_ = 0;
  }
  void note_writing(TimePoint now) {
    note_reading(now);
    if (is_of_one_) heard_ = now;
  }
  // The latest output concerns every call in flight.
  void note_heard() { heard_ = last_; }
  // Restarts the clocks of all calls in flight, without output.
  void note_heard(TimePoint now) { heard_ = now; }
  // A call has waited for a silent process until its deadline. True if the process counts as hung,
  // because that has happened to so many calls in a row.
  bool note_silent_timeout() { return ++silent_timeouts_ >= kHungAfterTimeouts; }

  [[nodiscard]] TimePoint last() const { return last_; }
  // The last sign of life that concerned every call in flight.
  [[nodiscard]] TimePoint heard() const { return heard_; }
  [[nodiscard]] bool is_silent_since(TimePoint then) const { return last_ <= then; }

 private:
  static constexpr uint32_t kHungAfterTimeouts = 3;

  const bool is_of_one_;
  TimePoint last_{};
  TimePoint heard_{};
  uint32_t silent_timeouts_ = 0;
};

}  // namespace stdgate::pool

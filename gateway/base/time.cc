#include "gateway/base/time.h"

#include <utility>

namespace stdgate {

std::chrono::system_clock::time_point calendar_time(std::chrono::sys_seconds time) {
  using std::chrono::January;
  constexpr std::chrono::sys_seconds kLast =
      std::chrono::sys_days(std::chrono::year(2200) / January / 1);
  if (time < std::chrono::sys_seconds()) return {};
  return time < kLast ? time : kLast;
}

void Timer::arm(TimePoint due) {
  disarm();
  due_ = due;
  queue_.insert(this);
}

void Timer::disarm() {
  if (position_ == TimerQueue::kNotQueued) return;
  if (std::exchange(firing_, false)) {
    queue_.firing_[std::exchange(position_, TimerQueue::kNotQueued)] = nullptr;
  } else {
    queue_.erase(this);
  }
}

std::optional<TimePoint> TimerQueue::next_due() const {
  if (heap_.empty()) return std::nullopt;
  return heap_.front()->due_;
}

void TimerQueue::run_due(TimePoint now) {
  while (!heap_.empty() && heap_.front()->due_ <= now) {
    Timer* timer = heap_.front();
    erase(timer);
    timer->firing_ = true;
    timer->position_ = firing_.size();
    firing_.push_back(timer);
  }
  // By index: a callback may disarm or destroy timers that are still to fire (they become null).
  for (size_t i = 0; i < firing_.size(); ++i) {
    Timer* timer = firing_[i];
    if (timer == nullptr) continue;
    firing_[i] = nullptr;
    timer->firing_ = false;
    timer->position_ = kNotQueued;
    timer->callback_();
  }
  firing_.clear();
}

void TimerQueue::insert(Timer* timer) {
  heap_.push_back(timer);
  timer->position_ = heap_.size() - 1;
  sift_up(timer->position_);
}

void TimerQueue::erase(Timer* timer) {
  const size_t position = timer->position_;
  timer->position_ = kNotQueued;
  Timer* last = heap_.back();
  heap_.pop_back();
  if (last == timer) return;
  place(position, last);
  sift_up(position);
  sift_down(last->position_);
}

void TimerQueue::place(size_t position, Timer* timer) {
  heap_[position] = timer;
  timer->position_ = position;
}

void TimerQueue::sift_up(size_t position) {
  Timer* timer = heap_[position];
  while (position > 0) {
    const size_t parent = (position - 1) / 2;
    if (heap_[parent]->due_ <= timer->due_) break;
    place(position, heap_[parent]);
    position = parent;
  }
  place(position, timer);
}

void TimerQueue::sift_down(size_t position) {
  Timer* timer = heap_[position];
  for (;;) {
    size_t child = 2 * position + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1]->due_ < heap_[child]->due_) ++child;
    if (timer->due_ <= heap_[child]->due_) break;
    place(position, heap_[child]);
    position = child;
  }
  place(position, timer);
}

}  // namespace stdgate

// Loop: the event loop of a worker: libuv, the core's timers, and what happens at the end of a
// turn.
//
// A turn is one round of libuv: I/O callbacks, then flush, then retire. Writes of a turn are
// collected (corked), and go out in one gather-write per descriptor when the turn ends. Objects
// that were retired during the turn are destroyed then, so nothing dies inside its own call stack.
// Owner: the worker; the loop outlives everything that has a handle on it.
#pragma once

#include <uv.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "gateway/base/byte_storage.h"
#include "gateway/base/time.h"

namespace stdgate::net {

// Something with unsent bytes. Asks once per turn with Loop::flush_later() to be flushed.
class Flushable {
 public:
  virtual void flush() = 0;

 protected:
  virtual ~Flushable() = default;

 private:
  friend class Loop;
  uint32_t flush_place_ = 0;  // in the loop's list, once it has asked
  bool flush_asked_ = false;
};

// A budget of bytes that is full again with each turn.
class TurnShare {
 public:
  explicit TurnShare(size_t whole) : whole_(whole) {}
  [[nodiscard]] size_t left(uint64_t turn) const { return turn == turn_ ? left_ : whole_; }
  void use(uint64_t turn, size_t count) {
    left_ = left(turn) - std::min(count, left(turn));
    turn_ = turn;
  }

 private:
  const size_t whole_;
  size_t left_ = 0;
  uint64_t turn_ = UINT64_MAX;  // that left_ is about
};

class Loop final : public Clock {
 public:
  Loop();  // throws std::system_error when the system has no descriptors left
  // All handles must have been closed (asserted). Waits for processes that were told to go.
  ~Loop() override;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Runs until stop(), or until no handle is active and no timer armed.
  void run();
  void stop();
  // One turn that does not wait, or waits for an event; for tests.
  void run_once();
  void wait_once();

  // The time of the current event. Every libuv callback begins with refresh_now().
  [[nodiscard]] TimePoint now() const override { return now_; }
  void refresh_now();

  TimerQueue& timers() { return timers_; }
  uv_loop_t* uv() { return &uv_; }

  // `check` is called after each turn, outside of every other call, in debug builds: for the
  // invariants of what runs on the loop. Without effect where NDEBUG is defined.
  void check_each_turn([[maybe_unused]] const std::function<void()>& check) {
#ifndef NDEBUG
    turn_check_ = check;
#endif
  }

  // `watch` is called after each turn too, in all builds: for work that any event may cause. The
  // call has to be cheap while there is no such work.
  void watch_turns(std::function<void()> watch) { turn_watch_ = std::move(watch); }

  // Calls flush() at the end of this turn; when asked during that, in the next turn, which then
  // does not wait.
  void flush_later(Flushable& flushable);
  void forget(Flushable& flushable);  // before it is destroyed

  // Destroys `object` at the end of the turn.
  template <class T>
  void retire(std::unique_ptr<T> object) {
    retired_.emplace_back(object.release(), [](void* p) { delete static_cast<T*>(p); });
    stay_awake();
  }

  // Where streams read into: shared, because each read is handled before the next one starts.
  std::span<char> read_buffer() { return {read_buffer_.get(), kReadBufferSize}; }
  static constexpr size_t kReadBufferSize = 128 << 10;

  // Memory lent for bytes that are received or wait to be sent.
  StoragePool& storages() { return storages_; }

  // The number of the current turn: a stream has its share of each.
  [[nodiscard]] uint64_t turn() const { return turn_; }
  // The bytes that all streams together may still write in this turn: one broadcast to many of them
  // must not hold up the others.
  TurnShare& write_share() { return write_share_; }
  static constexpr size_t kWriteShare = 4 << 20;

  // How late the loop came back from its last timer, for stdgate_loop_lag_seconds.
  [[nodiscard]] Duration lag() const { return lag_; }

 private:
  void end_turn();
  void release_storages();
  void flush_asked();
  void destroy_retired();
  void fire_timers();
  void arm();
  void stay_awake() {  // until end_turn() finds nothing left to flush and to retire
    if (!ends_turn_) keep_awake();
  }
  void keep_awake();
  void sleep();

  uv_loop_t uv_{};
  uv_timer_t timer_{};
  uv_prepare_t prepare_{};  // end of turn for what timers did, before the loop sleeps
  uv_check_t check_{};      // end of turn for what I/O did
  uv_idle_t idle_{};        // active while something is left to flush or to retire: no sleep
  TimerQueue timers_;
  TurnShare write_share_{kWriteShare};
  // The time that timer_ is set to. Never later than the earliest timer; may be earlier, when that
  // one was moved: one idle turn is cheaper than moving timer_ with each request.
  std::optional<TimePoint> wake_at_;
  TimePoint now_{};
  Duration lag_{0};
  std::vector<Flushable*> to_flush_;
  std::vector<Flushable*> flushing_;
  std::vector<std::unique_ptr<void, void (*)(void*)>> retired_;
  uint64_t turn_ = 0;
  bool awake_ = false;      // idle_ is active
  bool ends_turn_ = false;  // I/O is under way: check_ follows before the loop sleeps
  StoragePool storages_;
  Timer release_timer_;  // armed while storages_ keeps large ones
  std::unique_ptr<char[]> read_buffer_;
  std::function<void()> turn_watch_;  // empty: none
#ifndef NDEBUG
  std::function<void()> turn_check_;
#endif
};

// SystemWallClock: the system's wall clock for times of the loop's clock.
//
// Compares the two clocks at most once in kMaxAge, so that a call costs no look at the clock; a
// step of the system's clock is noticed that much later. Owner: the worker.
class SystemWallClock final : public WallClock {
 public:
  static constexpr Duration kMaxAge = std::chrono::seconds(1);

  explicit SystemWallClock(const Clock& clock) : clock_(clock) { compare(); }

  [[nodiscard]] WallTime at(TimePoint time) const override {
    if (clock_.now() - compared_at_ > kMaxAge) compare();
    return WallTime(time.time_since_epoch() + offset_);
  }

 private:
  void compare() const {
    compared_at_ = TimePoint(Duration(uv_hrtime()));
    offset_ = std::chrono::system_clock::now().time_since_epoch() - compared_at_.time_since_epoch();
  }

  const Clock& clock_;
  mutable TimePoint compared_at_{};
  mutable Duration offset_{0};  // from the loop's clock to the wall clock
};

// Signals: signals of the process as events of the loop.
// Owner: the process, or its StrangerWatch. Does not keep the loop running.
class Signals {
 public:
  Signals(Loop& loop, std::function<void(int)> on_signal);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  void watch(int signal);

 private:
  struct Watch;  // the libuv handle; frees itself in the close callback

  Loop& loop_;
  std::function<void(int)> on_signal_;
  std::vector<Watch*> watches_;
};

// Errands: work that would hold up the loop, done by libuv's thread pool meanwhile.
//
// The work owns what it needs: it shares nothing with the loop's thread while it runs. Owner: the
// process. The loop finishes an errand that outlives this object; its `done` is not called. Limit:
// none here; the callers bound how many are under way.
class Errands {
 public:
  explicit Errands(Loop& loop);
  ~Errands();
  Errands(const Errands&) = delete;
  Errands& operator=(const Errands&) = delete;

  // `work` runs on another thread, must not throw; `done` follows on the loop's, outside of every
  // other call.
  void start(std::function<void()> work, std::function<void()> done);

 private:
  struct Errand;

  Loop& loop_;
  std::unordered_set<Errand*> under_way_;  // each deletes itself when it has come back
};

}  // namespace stdgate::net

#include "transports/net/loop.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <utility>

#include "gateway/base/check.h"

namespace stdgate::net {

namespace {

// Large storage is freed when it has been of no use for one to two of these.
constexpr Duration kStorageRest = std::chrono::milliseconds(500);

template <class HandleType>
uv_handle_t* as_handle(HandleType& handle) {
  return reinterpret_cast<uv_handle_t*>(&handle);
}

}  // namespace

Loop::Loop()
    : release_timer_(timers_, [this] { storages_.release_unused(); }),
      read_buffer_(new char[kReadBufferSize]) {
  const int error = uv_loop_init(&uv_);
  if (error != 0) throw std::system_error(-error, std::generic_category(), "event loop");
  uv_.data = this;
  uv_timer_init(&uv_, &timer_);
  uv_idle_init(&uv_, &idle_);
  uv_prepare_init(&uv_, &prepare_);
  uv_check_init(&uv_, &check_);
  uv_prepare_start(&prepare_, [](uv_prepare_t* h) {
    auto* const loop = static_cast<Loop*>(h->loop->data);
    loop->end_turn();
    loop->ends_turn_ = true;
  });
  uv_check_start(&check_, [](uv_check_t* h) {
    auto* const loop = static_cast<Loop*>(h->loop->data);
    loop->ends_turn_ = false;
    loop->end_turn();
    ++loop->turn_;
  });
  uv_unref(as_handle(prepare_));
  uv_unref(as_handle(check_));
  refresh_now();
}

Loop::~Loop() {
  while (!retired_.empty()) destroy_retired();
  uv_handle_t* const own[] = {as_handle(timer_), as_handle(idle_), as_handle(prepare_),
                              as_handle(check_)};
  for (uv_handle_t* handle : own) uv_close(handle, nullptr);
  uv_walk(
      &uv_,
      [](uv_handle_t* handle, void*) {
        [[maybe_unused]] const bool ends_by_itself =
            uv_is_closing(handle) != 0 || handle->type == UV_PROCESS;
        assert(ends_by_itself);
      },
      nullptr);
  uv_run(&uv_, UV_RUN_DEFAULT);
  [[maybe_unused]] const int error = uv_loop_close(&uv_);
  assert(error == 0);
}

void Loop::run() {
  arm();
  uv_run(&uv_, UV_RUN_DEFAULT);
  end_turn();  // of a timer that has stopped the loop
}

void Loop::stop() { uv_stop(&uv_); }

void Loop::run_once() {
  arm();
  uv_run(&uv_, UV_RUN_NOWAIT);
}

void Loop::wait_once() {
  arm();
  uv_run(&uv_, UV_RUN_ONCE);
}

void Loop::refresh_now() { now_ = TimePoint(Duration(uv_hrtime())); }

void Loop::flush_later(Flushable& flushable) {
  if (flushable.flush_asked_) return;
  flushable.flush_asked_ = true;
  flushable.flush_place_ = static_cast<uint32_t>(to_flush_.size());
  to_flush_.push_back(&flushable);
  stay_awake();
}

void Loop::forget(Flushable& flushable) {
  if (!flushable.flush_asked_) return;
  flushable.flush_asked_ = false;
  const size_t place = flushable.flush_place_;
  const bool is_of_next_flush = place < to_flush_.size() && to_flush_[place] == &flushable;
  (is_of_next_flush ? to_flush_ : flushing_)[place] = nullptr;
}

void Loop::keep_awake() {
  if (!std::exchange(awake_, true)) uv_idle_start(&idle_, [](uv_idle_t*) {});
}

void Loop::sleep() {
  if (std::exchange(awake_, false)) uv_idle_stop(&idle_);
}

void Loop::end_turn() {
  if (!to_flush_.empty()) flush_asked();
  if (!retired_.empty()) destroy_retired();
  if (turn_watch_) turn_watch_();
  release_storages();
  arm();
  if (to_flush_.empty() && retired_.empty()) sleep();
#ifndef NDEBUG
  if (turn_check_) turn_check_();
#endif
}

void Loop::flush_asked() {
  flushing_.swap(to_flush_);
  // By index, each taken out before its call: it may ask again, and forget() reaches the others.
  for (size_t i = 0; i < flushing_.size(); ++i) {
    Flushable* const flushable = std::exchange(flushing_[i], nullptr);
    if (flushable == nullptr) continue;
    flushable->flush_asked_ = false;
    flushable->flush();
  }
  flushing_.clear();
}

void Loop::destroy_retired() {
  auto retired = std::exchange(retired_, {});
  retired.clear();
}

void Loop::release_storages() {
  if (!storages_.keeps_large() || release_timer_.armed()) return;
  refresh_now();
  release_timer_.arm(now_ + kStorageRest);
}

void Loop::fire_timers() {
  refresh_now();
  if (wake_at_) lag_ = std::max(Duration::zero(), now_ - *wake_at_);
  wake_at_.reset();
  timers_.run_due(now_);
  // Since libuv 1.45 timers come last in a turn, and what they did has to be ended too.
  stay_awake();
}

// libuv's clock counts whole milliseconds of the same monotonic clock, so waking at the next whole
// one after `due` finds the timer due: no turn is spent on waking early.
void Loop::arm() {
  const std::optional<TimePoint> due = timers_.next_due();
  if (!due) {
    if (wake_at_) uv_timer_stop(&timer_);
    wake_at_.reset();
    return;
  }
  if (wake_at_ && *wake_at_ <= *due) return;
  const auto wake = std::chrono::ceil<std::chrono::milliseconds>(*due);
  if (wake_at_ && *wake_at_ <= wake) return;
  uv_update_time(&uv_);
  const auto now = static_cast<int64_t>(uv_now(&uv_));
  const int64_t wait = std::max<int64_t>(0, wake.time_since_epoch().count() - now);
  wake_at_ = TimePoint(std::chrono::milliseconds(now + wait));
  uv_timer_start(
      &timer_, [](uv_timer_t* h) { static_cast<Loop*>(h->loop->data)->fire_timers(); },
      static_cast<uint64_t>(wait), 0);
}

struct Signals::Watch {
  uv_signal_t handle{};
  Signals* owner = nullptr;
};

Signals::Signals(Loop& loop, std::function<void(int)> on_signal)
    : loop_(loop), on_signal_(std::move(on_signal)) {}

Signals::~Signals() {
  for (Watch* watch : watches_) {
    watch->owner = nullptr;
    uv_close(reinterpret_cast<uv_handle_t*>(&watch->handle),
             [](uv_handle_t* handle) { delete static_cast<Watch*>(handle->data); });
  }
}

void Signals::watch(int signal) {
  auto watch = std::make_unique<Watch>();
  watch->owner = this;
  watch->handle.data = watch.get();
  uv_signal_init(loop_.uv(), &watch->handle);
  uv_signal_start(
      &watch->handle,
      [](uv_signal_t* handle, int number) {
        Signals* owner = static_cast<Watch*>(handle->data)->owner;
        if (owner == nullptr) return;
        owner->loop_.refresh_now();
        owner->on_signal_(number);
      },
      signal);
  uv_unref(reinterpret_cast<uv_handle_t*>(&watch->handle));
  watches_.push_back(watch.release());
}

struct Errands::Errand {
  uv_work_t request{};
  Errands* owner = nullptr;  // null: it is gone
  std::function<void()> work;
  std::function<void()> done;
};

// One thread suffices; libuv would start four with the first errand, and end the process if it may
// not have them.
Errands::Errands(Loop& loop) : loop_(loop) { ::setenv("UV_THREADPOOL_SIZE", "1", 0); }

Errands::~Errands() {
  for (Errand* const errand : under_way_) errand->owner = nullptr;
}

void Errands::start(std::function<void()> work, std::function<void()> done) {
  auto* const errand = new Errand{{}, this, std::move(work), std::move(done)};
  errand->request.data = errand;
  under_way_.insert(errand);
  const int error = uv_queue_work(
      loop_.uv(), &errand->request,
      [](uv_work_t* request) { static_cast<Errand*>(request->data)->work(); },
      [](uv_work_t* request, int /*cancelled*/) {
        const std::unique_ptr<Errand> back(static_cast<Errand*>(request->data));
        if (back->owner == nullptr) return;
        back->owner->loop_.refresh_now();
        back->owner->under_way_.erase(back.get());
        back->done();
      });
  STDGATE_CHECK(error == 0);  // it fails without a function only
}

}  // namespace stdgate::net

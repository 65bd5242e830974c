#include "gateway/app/shutdown.h"

#include <algorithm>
#include <utility>

namespace stdgate::app {

namespace {
// Beyond the two waits of `grace`, for the kernel to do its part.
constexpr Duration kAfterLastSignal = std::chrono::seconds(1);
}  // namespace

Shutdown::Shutdown(const Clock& clock, TimerQueue& timers, Log& log, backend::Upstreams& backends,
                   ClientSide clients, const Duration& drain_timeout, std::function<void()> stopped)
    : clock_(clock),
      log_(log),
      backends_(backends),
      clients_(std::move(clients)),
      drain_timeout_(drain_timeout),
      stopped_(std::move(stopped)),
      poll_(timers, [this] { advance(); }) {}

void Shutdown::request(int signal) {
  const bool is_first = step_ == Step::running;
  if (!is_first && signal == first_signal_ && clock_.now() - first_at_ < kSameRequest) return;
  if (step_ == Step::stopped) return stopped_();
  if (is_first) {
    first_signal_ = signal;
    first_at_ = clock_.now();
    step_ = Step::last_calls;
    deadline_ = clock_.now() + drain_timeout_;
    log_.write(LogLevel::info, "draining", {{"calls", static_cast<uint64_t>(backends_.calls())}});
    clients_.stop_accepting();
  } else if (!hurried_) {
    hurried_ = true;
    log_.write(LogLevel::warn, "second signal: ending at once",
               {{"calls", static_cast<uint64_t>(backends_.calls())}});
    cut_off_ = cut_off_ || backends_.calls() > 0;
    step_ = Step::ending;
    deadline_ = clock_.now() + kAfterLastSignal;
    clients_.close_all();
    backends_.kill_children();
  }
  advance();
}

void Shutdown::advance() {
  const bool is_late = clock_.now() >= deadline_;
  if (step_ == Step::last_calls && (is_late || are_last_calls_in())) drain();
  if (step_ == Step::draining) {
    const bool is_drained = backends_.calls() == 0 && clients_.is_idle();
    if (!is_drained && is_late) {
      cut_off_ = backends_.calls() > 0;
      log_.write(LogLevel::warn, "drain timed out",
                 {{"calls", static_cast<uint64_t>(backends_.calls())}});
      backends_.fail_calls(rpc::faults::shutting_down());
    }
    if (is_drained || is_late) end_children();
  } else if (step_ == Step::ending && (!backends_.has_children() || is_late)) {
    stop();
  }
  if (step_ != Step::stopped) poll_.arm(clock_.now() + kPoll);
}

bool Shutdown::are_last_calls_in() const {
  const Duration passed = clock_.now() - first_at_;
  if (clients_.is_idle() || passed >= kReadCalls) return true;
  return passed >= kLastCalls && !clients_.has_requests();
}

void Shutdown::drain() {
  step_ = Step::draining;
  backends_.drain();
  clients_.drain();
}

Duration Shutdown::patience() const { return drain_timeout_ + time_of_children(); }

// Asked to end, sent SIGTERM, sent SIGKILL.
Duration Shutdown::time_of_children() const { return 2 * backends_.grace() + kAfterLastSignal; }

void Shutdown::end_children() {
  step_ = Step::ending;
  deadline_ = clock_.now() + time_of_children();
  backends_.end_children();
}

void Shutdown::stop() {
  step_ = Step::stopped;
  clients_.close_all();
  log_.write(LogLevel::info, "stopped", {{"calls_cut_off", cut_off_}});
  stopped_();
}

}  // namespace stdgate::app

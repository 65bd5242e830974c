#include "gateway/shutdown.h"

#include <algorithm>
#include <utility>

namespace stdgate {

namespace {
// Beyond the two waits of `grace`, for the kernel to do its part.
constexpr Duration kAfterLastSignal = std::chrono::seconds(1);
}  // namespace

Shutdown::Shutdown(const Clock& clock, TimerQueue& timers, Log& log, BackendSet& backends,
                   ClientSide clients, Duration drain_timeout, std::function<void()> stopped)
    : clock_(clock),
      log_(log),
      backends_(backends),
      clients_(std::move(clients)),
      drain_timeout_(drain_timeout),
      stopped_(std::move(stopped)),
      poll_(timers, [this] { advance(); }) {}

void Shutdown::request() {
  if (step_ == Step::running) {
    step_ = Step::draining;
    deadline_ = clock_.now() + drain_timeout_;
    log_.write(LogLevel::info, "draining", {{"calls", static_cast<uint64_t>(backends_.calls())}});
    backends_.drain();
    clients_.drain();
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
  if (step_ == Step::draining) {
    const bool is_drained = backends_.calls() == 0 && clients_.is_idle();
    if (!is_drained && is_late) {
      cut_off_ = backends_.calls() > 0;
      log_.write(LogLevel::warn, "drain timed out",
                 {{"calls", static_cast<uint64_t>(backends_.calls())}});
      backends_.fail_calls({Fault::overloaded, "the gateway is shutting down", {}, {}});
    }
    if (is_drained || is_late) end_children();
  } else if (step_ == Step::ending && (!backends_.has_children() || is_late)) {
    stop();
  }
  if (step_ != Step::stopped) poll_.arm(clock_.now() + kPoll);
}

void Shutdown::end_children() {
  step_ = Step::ending;
  Duration grace{0};
  for (const auto& backend : backends_.all()) grace = std::max(grace, backend->grace());
  deadline_ = clock_.now() + 2 * grace + kAfterLastSignal;
  backends_.end_children();
}

void Shutdown::stop() {
  step_ = Step::stopped;
  clients_.close_all();
  log_.write(LogLevel::info, "stopped", {{"calls_cut_off", cut_off_}});
  stopped_();
}

}  // namespace stdgate

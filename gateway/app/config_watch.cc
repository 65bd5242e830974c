#include "gateway/app/config_watch.h"

#include <utility>

namespace stdgate::app {

ConfigWatch::ConfigWatch(const Clock& clock, TimerQueue& timers, std::function<void()> changed)
    : clock_(clock), changed_(std::move(changed)), timer_(timers, [this] { look(); }) {}

void ConfigWatch::follow(std::vector<std::string> files) {
  files_ = std::move(files);
  timer_.disarm();
  if (files_.empty()) return;
  read_ = seen_ = net::stamps_of(files_);
  timer_.arm(clock_.now() + kWatch);
}

void ConfigWatch::look() {
  net::FileStamps present = net::stamps_of(files_);
  const bool has_settled = present == seen_;
  seen_ = std::move(present);
  timer_.arm(clock_.now() + kWatch);
  if (!has_settled || seen_ == read_) return;
  read_ = seen_;
  changed_();
}

}  // namespace stdgate::app

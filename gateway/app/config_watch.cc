#include "gateway/app/config_watch.h"

#include <algorithm>
#include <utility>

namespace stdgate::app {

ConfigWatch::ConfigWatch(const Clock& clock, TimerQueue& timers, std::function<void()> changed)
    : clock_(clock), changed_(std::move(changed)), timer_(timers, [this] { look(); }) {}

void ConfigWatch::note_reading() { read_ = seen_ = net::stamps_of(files_); }

void ConfigWatch::follow(const std::vector<std::string>& files) {
  net::FileStamps stamps = net::stamps_of(files);
  for (size_t i = 0; i < files.size(); ++i) {
    const auto known = std::ranges::find(files_, files[i]);
    if (known != files_.end()) stamps[i] = read_[static_cast<size_t>(known - files_.begin())];
  }
  files_ = files;
  read_ = seen_ = std::move(stamps);
  timer_.disarm();
  if (!files_.empty()) timer_.arm(clock_.now() + kWatch);
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

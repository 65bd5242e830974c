#include "gateway/app/reloads.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace stdgate::app {

namespace {

std::string joined(const std::vector<std::string>& keys) {
  std::string text;
  for (const std::string& key : keys) text.append(text.empty() ? "" : ",").append(key);
  return text;
}

}  // namespace

void Reloads::note_failure(const std::string& problem) {
  ++facts_.failed;
  facts_.last_was_good = false;
  facts_.problem = problem;
  while (facts_.problem.ends_with('\n')) facts_.problem.pop_back();
  // A line for each mistake.
  for (std::string_view rest = facts_.problem; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    log_.write(LogLevel::error, "configuration not reloaded", {{"problem", rest.substr(0, end)}});
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

void Reloads::note(const config::ConfigChanges& changes) {
  ++facts_.good;
  facts_.last_was_good = true;
  facts_.problem.clear();
  facts_.restart = changes.restart;
  // Whatever log.level has become by that.
  log_.confirm(LogLevel::info, "configuration reloaded",
               {{"changed", changes.taken.empty() ? "none" : joined(changes.taken)}});
  if (facts_.restart.empty()) return;
  log_.confirm(
      LogLevel::warn, "configuration needs a restart",
      {{"keys", joined(facts_.restart)},
       {"advice",
        "these keys still have their values from the start; restart stdgate to use the new ones"}});
}

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

// Reloads of the configuration: when its files have changed, and how each reload ended.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gateway/base/log.h"
#include "gateway/base/time.h"
#include "gateway/config/config_changes.h"
#include "transports/net/file_stamps.h"

namespace stdgate::app {

// For /debug/state and metrics.
struct ReloadFacts {
  uint64_t good = 0;
  uint64_t failed = 0;
  bool last_was_good = true;         // also before the first
  std::string problem;               // of the last reload; empty: it was good
  std::vector<std::string> restart;  // keys of the file that differ from the running configuration
};

// Reloads: the results of requests to read the configuration again. Owner: the process.
class Reloads {
 public:
  explicit Reloads(ConfirmingLog& log) : log_(log) {}

  // The file cannot be used: nothing has changed. `problem` has a line for each mistake.
  void note_failure(const std::string& problem);
  void note(const config::ConfigChanges& changes);
  [[nodiscard]] const ReloadFacts& facts() const { return facts_; }

 private:
  ConfirmingLog& log_;
  ReloadFacts facts_;
};

// ConfigWatch: whether the files of the configuration have changed on disk.
//
// The files are checked every kWatch. A change is reported when they have stayed the same for as
// long, so several files may be written one after the other. Links are followed, so a replaced
// folder, as of a Kubernetes ConfigMap, is a change. Owner: the process.
class ConfigWatch {
 public:
  static constexpr Duration kWatch = std::chrono::seconds(1);

  ConfigWatch(const Clock& clock, TimerQueue& timers, std::function<void()> changed);

  // Called before files are read, so that later changes are noticed.
  void note_reading();
  // The files that have been read. None: nothing is checked.
  void follow(const std::vector<std::string>& files);

 private:
  void look();

  const Clock& clock_;
  const std::function<void()> changed_;
  std::vector<std::string> files_;
  net::FileStamps read_;
  net::FileStamps seen_;  // at the last check
  Timer timer_;
};

}  // namespace stdgate::app

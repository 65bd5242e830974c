// Reloads of the configuration: when its files have changed, and how each reload ended.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gateway/base/confirming_log.h"
#include "gateway/base/time.h"
#include "gateway/base/timers.h"
#include "gateway/config/config_changes.h"
#include "transports/net/file_stamps.h"

namespace stdgate::app {

// For /debug/state and metrics.
struct ReloadFacts {
  uint64_t good = 0;
  uint64_t failed = 0;
  bool last_was_good = true;         // also before the first
  std::string problem;               // of the last one; empty: it was good
  std::vector<std::string> restart;  // keys of the file that differ from what runs
};

// Reloads: what has become of the requests to read the configuration again. Owner: the process.
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
// They are looked at every kWatch; a change is told when they have stayed as they are for as long,
// so that several may be written one after the other. Links are followed, so a folder that is
// swapped, as with a ConfigMap of Kubernetes, is a change. Owner: the process.
class ConfigWatch {
 public:
  static constexpr Duration kWatch = std::chrono::seconds(1);

  ConfigWatch(const Clock& clock, TimerQueue& timers, std::function<void()> changed);

  // To be called before files are read: what changes meanwhile is seen later.
  void note_reading();
  // The files that have been read. None: nothing is looked at.
  void follow(const std::vector<std::string>& files);

 private:
  void look();

  const Clock& clock_;
  const std::function<void()> changed_;
  std::vector<std::string> files_;
  net::FileStamps read_;
  net::FileStamps seen_;  // when they were looked at last
  Timer timer_;
};

}  // namespace stdgate::app

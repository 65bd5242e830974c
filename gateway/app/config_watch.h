// ConfigWatch: whether the files of the configuration have changed on disk.
//
// They are looked at every kWatch; a change is told when they have stayed as they are for as long,
// so that several may be written one after the other. Links are followed, so that a folder that is
// swapped, as those of a ConfigMap of Kubernetes are, is a change. Owner: the process.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gateway/base/time.h"
#include "gateway/base/timers.h"
#include "transports/net/file_stamps.h"

namespace stdgate::app {

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

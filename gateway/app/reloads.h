// Reloads: what has become of the requests to read the configuration again. Owner: the process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gateway/base/confirming_log.h"
#include "gateway/config/config_changes.h"

namespace stdgate::app {

// For /debug/state and metrics.
struct ReloadFacts {
  uint64_t good = 0;
  uint64_t failed = 0;
  bool last_was_good = true;         // also before the first
  std::string problem;               // of the last one; empty: it was good
  std::vector<std::string> restart;  // keys of the file that differ from what runs
};

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

}  // namespace stdgate::app

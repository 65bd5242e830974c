// StderrLog: what a child writes to stderr, as log lines.
//
// Owner: the child's link. Bytes come in as they were read; lines go to the log with backend and
// pid. Limits: a longer line than kLineLimit is cut; of more than kLinesPerSecond the rest is
// counted.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "gateway/base/log.h"
#include "gateway/base/rate_limit.h"
#include "gateway/base/time.h"

namespace stdgate {

class StderrLog {
 public:
  static constexpr size_t kLineLimit = 8 << 10;
  static constexpr uint32_t kLinesPerSecond = 100;

  StderrLog(Log& log, std::string backend) : log_(log), backend_(std::move(backend)) {}

  void set_pid(int pid) { pid_ = pid; }
  void add(std::string_view bytes, TimePoint now);
  void end(TimePoint now);  // the last line counts without a line feed too

 private:
  void end_line(TimePoint now);
  void tell_suppressed();

  Log& log_;
  const std::string backend_;
  int64_t pid_ = 0;   // 0 until the command runs
  std::string line_;  // so far, cut
  RateLimit rate_{kLinesPerSecond};
};

}  // namespace stdgate

// StderrLog: what a child writes to stderr, as log lines.
//
// Owner: the child's link. Bytes come in as they were read; lines go to the log with backend and
// pid. Limits: a longer line than kMaxLine is cut; of more than kLinesPerSecond the rest is
// counted. The last few are kept, however many there were.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/base/log.h"
#include "gateway/base/rate_limit.h"
#include "gateway/base/time.h"

namespace stdgate::stdio {

class StderrLog {
 public:
  static constexpr size_t kMaxLine = 8 << 10;
  static constexpr uint32_t kLinesPerSecond = 100;
  static constexpr size_t kLastLines = 5;
  static constexpr size_t kLastLineBytes = 256;

  StderrLog(Log& log, std::string backend) : log_(log), backend_(std::move(backend)) {}

  void set_pid(int pid) { pid_ = pid; }
  void add(std::string_view bytes, TimePoint now);
  // The last kLastLines lines, oldest first, each cut to kLastLineBytes.
  [[nodiscard]] std::vector<std::string> last_lines() const {
    return {last_lines_.begin(), last_lines_.end()};
  }
  void end(TimePoint now);  // the last line counts without a line feed too

 private:
  void end_line(TimePoint now);
  void keep_line();
  void tell_suppressed();

  Log& log_;
  const std::string backend_;
  int64_t pid_ = 0;   // 0 until the command runs
  std::string line_;  // so far, cut
  std::deque<std::string> last_lines_;
  RateLimit rate_{kLinesPerSecond};
};

}  // namespace stdgate::stdio

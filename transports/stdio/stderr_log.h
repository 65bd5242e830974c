// StderrLog: what a child writes to stderr, as log lines.
//
// Owner: the child's link. Bytes come in as they were read; lines go to the log with the names of
// backend, child and session. Lines that a child writes while the gateway asks it something that it
// may not know (ChildName::probe) are marked so. Limits: a line longer than kMaxLine is cut; beyond
// kMaxLinesPerSecond lines are counted, not logged. The last kMaxLastLines are kept in any case.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/base/log.h"
#include "gateway/base/time.h"
#include "gateway/pool/child_link.h"

namespace stdgate::stdio {

class StderrLog {
 public:
  static constexpr size_t kMaxLine = 8 << 10;
  static constexpr uint32_t kMaxLinesPerSecond = 100;
  static constexpr size_t kMaxLastLines = 5;
  static constexpr size_t kMaxLastLine = 256;

  StderrLog(Log& log, std::string backend) : log_(log), backend_(std::move(backend)) {}

  void set_pid(int pid) { pid_ = pid; }
  // How lines name the child from now on, but for its pid.
  void set_name(const pool::ChildName& name) { name_ = name; }
  void add(std::string_view bytes, TimePoint now);
  // The last kMaxLastLines lines, oldest first, each cut to kMaxLastLine.
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
  pool::ChildName name_;
  int64_t pid_ = 0;   // 0 until the command runs
  std::string line_;  // incomplete, cut at kMaxLine
  std::deque<std::string> last_lines_;
  RateLimit rate_{kMaxLinesPerSecond};
};

}  // namespace stdgate::stdio

// Output of programs: the stdout of a command of the shell, and the stderr of children.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/base/log.h"
#include "gateway/base/time.h"
#include "gateway/pool/child_link.h"
#include "transports/net/byte_stream.h"
#include "transports/net/loop.h"

namespace stdgate::stdio {

// CommandOutput: what a command of the shell prints, read on the loop.
//
// The command has the environment and stderr of this process, and an empty stdin. Its process group
// is killed when the time is up or this object is destroyed. Owner: the code that wants the output.
// Limits: kMaxOutput bytes, the given time.
class CommandOutput final : private net::StreamEvents {
 public:
  static constexpr size_t kMaxOutput = 64 << 10;
  static constexpr Duration kPoll = std::chrono::milliseconds(5);
  // The error says why there is no output.
  using Result = tl::expected<std::string, std::string>;

  // `done` is called once, from the outermost level of the loop, and may destroy this object.
  CommandOutput(net::Loop& loop, const std::string& command, Duration time,
                std::function<void(Result)> done);
  ~CommandOutput() override;
  CommandOutput(const CommandOutput&) = delete;
  CommandOutput& operator=(const CommandOutput&) = delete;

 private:
  void start(const std::string& command);
  void on_bytes(std::span<char> bytes) override;
  void on_end() override { look(); }
  void on_error(int /*error*/) override { look(); }
  void look();
  void finish(Result result);
  void kill_all();

  net::Loop& loop_;
  const TimePoint due_;
  std::function<void(Result)> done_;
  std::unique_ptr<net::ByteStream> stream_;
  std::string output_;
  pid_t pid_ = -1;  // until it has been waited for
  Timer timer_;
};

// StderrLog: what a child writes to stderr, as log lines.
//
// Owner: the child's link. Bytes come in as they were read; lines go to the log with the names of
// backend, child and session. Lines that a child writes while the gateway asks it something that it
// may not know (ChildName::probe) are marked so. Limits: a line longer than kMaxLine is cut; beyond
// kMaxLinesPerSecond lines are counted, not logged. The last kMaxLastLines are kept in any case.
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
  // The last kMaxLastLines lines, oldest first, each cut to kMaxLastLine. Without what follows the
  // reason of a crash: the frames of a stack, and the version of Node.js.
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

// LogWriter: the log as lines on a descriptor, JSON or text, one event a line.
//
// Job: render (spdlog: level, time stamp, pattern), collect, and write without ever blocking the
// loop. Lines are collected until flush(), once per turn of the loop. A regular file takes them at
// once. A pipe, terminal or socket takes pieces of at most PIPE_BUF bytes, and only while poll(2)
// says that it has room: the descriptor's flags are shared with other programs, so O_NONBLOCK is
// not ours to set. Pieces end at line ends where they can, so lines of several writers do not mix.
// Owner: the composition root; used on the loop's thread only. The descriptor is not owned; the
// program ignores SIGPIPE.
// Limits: kUnsentLimit bytes are kept; beyond that whole lines are dropped, and "log lines dropped"
// says how many as soon as half of it has gone. A field's text is cut at kTextLimit bytes.
// Time is RFC 3339 in UTC with milliseconds.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "gateway/base/byte_queue.h"
#include "gateway/base/log.h"
#include "gateway/config/config.h"

namespace spdlog {
class logger;
}  // namespace spdlog

namespace stdgate {

class LogWriter final : public Log {
 public:
  static constexpr size_t kUnsentLimit = 1 << 20;
  static constexpr size_t kTextLimit = 64 << 10;
  static constexpr std::chrono::milliseconds kLastWordsWait{500};

  LogWriter(int fd, LogLevel level, LogFormat format);
  ~LogWriter() override;
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  [[nodiscard]] bool enabled(LogLevel level) const override;
  void write(LogLevel level, std::string_view event,
             std::initializer_list<LogField> fields) override;

  // Writes what the descriptor takes now. What is left goes with a later flush().
  void flush();
  // The last words at exit: waits for the descriptor, at most `wait` in all.
  void flush_blocking(std::chrono::milliseconds wait = kLastWordsWait);

  // Not zero after flush(): flush again soon, even when nothing else happens.
  [[nodiscard]] size_t unsent_bytes() const { return unsent_.size(); }

 private:
  class Sink;
  enum class Progress : uint8_t { some, none };

  void take_line(std::string_view line);
  [[nodiscard]] bool has_room_for(size_t size);
  void report_dropped();
  Progress write_piece(std::chrono::milliseconds wait);

  const int fd_;
  const bool regular_file_;
  const LogFormat format_;
  std::unique_ptr<spdlog::logger> logger_;
  std::string body_;  // of the line being rendered; kept for its memory
  ByteQueue unsent_;  // whole lines, but for the first one's written part
  uint64_t dropped_ = 0;
  bool stuck_ = false;  // this turn's attempt to write left something
};

}  // namespace stdgate

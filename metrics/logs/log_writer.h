// LogWriter: the log as lines on a descriptor, JSON or text, one event a line.
//
// Job: collect lines until flush(), and write them without ever blocking the loop. A regular file,
// and what is like /dev/null, takes them at once. A pipe, terminal or socket takes pieces of at
// most PIPE_BUF bytes, and only while it has room: the descriptor's flags are shared with other
// programs, so O_NONBLOCK is not ours to set. RWF_NOWAIT says the same for one write; what does not
// know it (terminals, named pipes, Linux before 6.4) is asked by poll(2) before each. Pieces end at
// line ends where they can, and a pipe takes such a piece whole or not at all. So lines up to
// PIPE_BUF of several writers do not mix; larger writes would be cheaper, and would give that up.
// Owner: the worker; used on the loop's thread only. The descriptor is not owned; the program
// ignores SIGPIPE. Limits: kMaxUnsent bytes are kept; beyond that whole lines are dropped, and "log
// lines dropped" says how many as soon as half of it has gone.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>
#include <string_view>

#include "gateway/base/byte_storage.h"
#include "gateway/base/log.h"
#include "gateway/base/time.h"
#include "gateway/config/config.h"
#include "metrics/logs/log_line.h"

namespace stdgate::logs {

// LineSink: takes a log line whose fields log_style.h has rendered beforehand: the line of a call,
// which is written for each call.
class LineSink {
 public:
  virtual ~LineSink() = default;
  [[nodiscard]] virtual bool enabled(LogLevel level) const = 0;
  [[nodiscard]] virtual config::LogFormat format() const = 0;
  // `fields` are in format(). `event` is a short constant phrase.
  virtual void write_rendered(LogLevel level, std::string_view event, std::string_view fields) = 0;
};

class LogWriter final : public ConfirmingLog, public LineSink {
 public:
  static constexpr size_t kMaxUnsent = 1 << 20;
  static constexpr std::chrono::milliseconds kLastWordsWait{500};

  // `events` stands still inside of an event, and so may the time of the lines; without it each
  // line asks for the time.
  LogWriter(int fd, LogLevel level, config::LogFormat format, const Clock* events = nullptr,
            LineLook look = LineLook::plain);
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  void set_level(LogLevel level) { level_ = level; }
  [[nodiscard]] bool enabled(LogLevel level) const override;
  void write(LogLevel level, std::string_view event,
             std::initializer_list<LogField> fields) override;
  void confirm(LogLevel level, std::string_view event,
               std::initializer_list<LogField> fields) override;
  [[nodiscard]] config::LogFormat format() const override { return line_.format(); }
  void write_rendered(LogLevel level, std::string_view event, std::string_view fields) override;

  // Writes what the descriptor takes now. The rest goes with a later flush().
  void flush();
  // The last words at exit: waits for the descriptor, at most `wait` in all.
  void flush_blocking(std::chrono::milliseconds wait = kLastWordsWait);

  // Not zero after flush(): flush again soon, even when nothing else happens.
  [[nodiscard]] size_t unsent_bytes() const { return unsent_.size(); }

 private:
  enum class Progress : uint8_t { some, none };
  // All at once; a piece, if there is room; a piece, when poll(2) says that there is.
  enum class Way : uint8_t { whole, nowait, polled };

  LogLine::Time time();
  void take_line(std::string_view line);
  [[nodiscard]] bool has_room_for(size_t size);
  void report_dropped();
  static Way way_of(int fd);
  Progress write_piece(std::chrono::milliseconds wait);
  [[nodiscard]] ssize_t write_some() const;  // as write(2)

  const int fd_;
  Way way_;
  LogLevel level_;
  const Clock* const events_;
  TimePoint event_{};
  LogLine::Time event_time_{};
  LogLine line_;
  ByteQueue unsent_;  // whole lines, but for the first one's written part
  uint64_t dropped_ = 0;
  bool stuck_ = false;  // this turn's attempt to write left something
};

// Writes to stderr why a program cannot start. The form is text or, where the log is JSON, lines of
// level error, because only JSON may be written then. The configured level does not hide them:
// otherwise the reason would be lost.
//
// `text`: lines, each with its end. As JSON each is one line, an `event` with the field "error";
// for the journal each has its priority. `environment`: the program's own.
void write_start_error(config::LogFormat format, std::string_view event, std::string_view text,
                       const std::map<std::string, std::string>& environment);

}  // namespace stdgate::logs

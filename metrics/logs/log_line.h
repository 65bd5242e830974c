// LogLine: one event of the log as text: `{"time":…,"level":…,"event":…,…}` or `time level event
// key=value …`, with its line end.
//
// Job: render without allocating, as there may be a line for each call. spdlog makes the time and
// the level, and only when they differ from the line before: time has milliseconds (RFC 3339, UTC).
// Owner: a LogWriter. Limits: see log_style.h.
#pragma once

#include <chrono>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "gateway/base/byte_storage.h"
#include "gateway/base/log.h"
#include "gateway/config/config.h"
#include "metrics/logs/log_style.h"

namespace spdlog {
class formatter;
}  // namespace spdlog

namespace stdgate::logs {

// How lines of text look to their reader: a terminal, the journal of systemd, or anything else.
enum class LineLook : uint8_t { plain, coloured, journal };

// Of lines that are written to `fd`.
LineLook look_of(int fd, const std::map<std::string, std::string>& environment);

// Whether `fd` leads to the journal, as JOURNAL_STREAM says (systemd.exec(5)).
bool is_journal(int fd, const std::map<std::string, std::string>& environment);

// Whether `fd` is a terminal with colours (TERM), and NO_COLOR is unset or empty (no-color.org).
bool takes_colour(int fd, const std::map<std::string, std::string>& environment);

class LogLine {
 public:
  using Time = std::chrono::time_point<std::chrono::system_clock, std::chrono::milliseconds>;

  // `look`: of lines of text.
  explicit LogLine(config::LogFormat format, LineLook look = LineLook::plain);
  ~LogLine();
  LogLine(const LogLine&) = delete;
  LogLine& operator=(const LogLine&) = delete;

  [[nodiscard]] config::LogFormat format() const { return format_; }

  // Valid until the next one.
  std::string_view render(Time time, LogLevel level, std::string_view event,
                          std::initializer_list<LogField> fields);
  // Appends a line to `to`, with fields that log_style.h has rendered in this line's format.
  void append(ByteQueue& to, Time time, LogLevel level, std::string_view event,
              std::string_view fields);

 private:
  std::string_view prefix(Time time, LogLevel level);
  void make_prefix(Time time, LogLevel level);

  const config::LogFormat format_;
  const std::unique_ptr<spdlog::formatter> prefix_formatter_;
  std::string prefix_;  // of prefix_time_ and prefix_level_
  Time prefix_time_{};
  LogLevel prefix_level_ = LogLevel::off;
  ByteQueue line_;
  std::string scratch_;  // a text with escapes
};

}  // namespace stdgate::logs

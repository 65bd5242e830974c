// TurnLog: the log of one loop. Warnings and errors are written at the end of the turn, other lines
// within kDelay, so that a line for each call does not cost a system call for each.
//
// Owner: the worker. `writer` outlives it.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string_view>

#include "gateway/base/confirming_log.h"
#include "gateway/base/timers.h"
#include "metrics/logs/line_sink.h"
#include "metrics/logs/log_writer.h"
#include "transports/net/loop.h"

namespace stdgate::app {

class TurnLog final : public ConfirmingLog, public logs::LineSink, private net::Flushable {
 public:
  TurnLog(net::Loop& loop, logs::LogWriter& writer);
  ~TurnLog() override;
  TurnLog(const TurnLog&) = delete;
  TurnLog& operator=(const TurnLog&) = delete;

  [[nodiscard]] bool enabled(LogLevel level) const override { return writer_.enabled(level); }
  void write(LogLevel level, std::string_view event,
             std::initializer_list<LogField> fields) override;
  void confirm(LogLevel level, std::string_view event,
               std::initializer_list<LogField> fields) override;
  [[nodiscard]] config::LogFormat format() const override { return writer_.format(); }
  void write_rendered(LogLevel level, std::string_view event, std::string_view fields) override;

 private:
  static constexpr Duration kDelay = std::chrono::milliseconds(20);
  static constexpr size_t kEnough = 32 << 10;  // bytes that are written without waiting
  static constexpr Duration kRetry = std::chrono::milliseconds(50);

  void schedule(LogLevel level);
  void flush() override;

  net::Loop& loop_;
  logs::LogWriter& writer_;
  Timer timer_;
};

}  // namespace stdgate::app

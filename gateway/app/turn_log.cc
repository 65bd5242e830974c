#include "gateway/app/turn_log.h"

namespace stdgate::app {

TurnLog::TurnLog(net::Loop& loop, logs::LogWriter& writer)
    : loop_(loop), writer_(writer), timer_(loop.timers(), [this] { flush(); }) {}

TurnLog::~TurnLog() { loop_.forget(*this); }

void TurnLog::write(LogLevel level, std::string_view event,
                    std::initializer_list<LogField> fields) {
  if (!writer_.enabled(level)) return;
  writer_.write(level, event, fields);
  schedule(level);
}

void TurnLog::confirm(LogLevel level, std::string_view event,
                      std::initializer_list<LogField> fields) {
  writer_.confirm(level, event, fields);
  schedule(level);
}

void TurnLog::write_rendered(LogLevel level, std::string_view event, std::string_view fields) {
  writer_.write_rendered(level, event, fields);
  schedule(level);
}

void TurnLog::schedule(LogLevel level) {
  if (level >= LogLevel::warn || writer_.unsent_bytes() >= kEnough) {
    loop_.flush_later(*this);
  } else if (!timer_.armed()) {
    timer_.arm(loop_.now() + kDelay);
  }
}

void TurnLog::flush() {
  writer_.flush();
  if (writer_.unsent_bytes() > 0) timer_.arm(loop_.now() + kRetry);
}

}  // namespace stdgate::app

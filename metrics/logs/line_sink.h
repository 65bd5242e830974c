// LineSink: where a log line goes whose fields have been rendered beforehand, by log_style.h: that
// of a call, as there is one for each.
#pragma once

#include <string_view>

#include "gateway/base/log.h"
#include "gateway/config/config.h"

namespace stdgate::logs {

class LineSink {
 public:
  virtual ~LineSink() = default;
  [[nodiscard]] virtual bool enabled(LogLevel level) const = 0;
  [[nodiscard]] virtual config::LogFormat format() const = 0;
  // `fields` are in format(). `event` is a short constant phrase.
  virtual void write_rendered(LogLevel level, std::string_view event, std::string_view fields) = 0;
};

}  // namespace stdgate::logs

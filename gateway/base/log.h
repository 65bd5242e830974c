// The log as the core sees it: one event a line, with named fields. Lines below the level are not
// formatted. The edge (metrics/logs) renders JSON or text.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <variant>

#include "gateway/base/time.h"

namespace stdgate {

enum class LogLevel : uint8_t { debug, info, warn, error, off };

// Nothing: the field is left out. A duration is written in milliseconds.
using LogValue =
    std::variant<std::monostate, std::string_view, int64_t, uint64_t, double, bool, Duration>;

struct LogField {
  std::string_view key;  // a JSON-safe literal
  LogValue value;
};

// Leaves a field out if it is empty, or 0.
inline LogValue if_any(std::string_view text) { return text.empty() ? LogValue() : LogValue(text); }
inline LogValue if_any(uint64_t number) { return number == 0 ? LogValue() : LogValue(number); }

class Log {
 public:
  virtual ~Log() = default;
  [[nodiscard]] virtual bool enabled(LogLevel level) const = 0;
  // `event`: a short constant phrase; varying parts are fields. Fields are copied.
  virtual void write(LogLevel level, std::string_view event,
                     std::initializer_list<LogField> fields) = 0;
};

// ConfirmingLog: a log that confirms what an operator has asked for.
class ConfirmingLog : public Log {
 public:
  // As write(), but the line appears at every level of the log except `off`.
  virtual void confirm(LogLevel level, std::string_view event,
                       std::initializer_list<LogField> fields) = 0;
};

}  // namespace stdgate

// The log as the core sees it, a limit on the rate of its lines, and the names of sessions in it.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <variant>

#include "gateway/base/time.h"

namespace stdgate {

enum class LogLevel : uint8_t { debug, info, warn, error, off };

// The value of a field; nothing: the field is left out. A duration is written in milliseconds.
using LogValue =
    std::variant<std::monostate, std::string_view, int64_t, uint64_t, double, bool, Duration>;

// A named value in a line.
struct LogField {
  std::string_view key;  // a JSON-safe literal
  LogValue value;
};

// Leaves a field out if it is empty, or 0.
inline LogValue if_any(std::string_view text) { return text.empty() ? LogValue() : LogValue(text); }
inline LogValue if_any(uint64_t number) { return number == 0 ? LogValue() : LogValue(number); }

// Log: one event a line, with named fields. Lines below the level are not formatted. Implemented by
// metrics/logs, which renders JSON or text.
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

// RateLimit: lets a number of events pass in each second, and counts the others. Used for log lines
// that children and clients can cause. A value; time is passed in.
class RateLimit {
 public:
  explicit RateLimit(uint32_t per_second) : per_second_(per_second) {}

  bool allow(TimePoint now) {
    if (now - window_ >= std::chrono::seconds(1)) begin_window(now);
    if (++in_window_ > per_second_) ++suppressed_;
    return in_window_ <= per_second_;
  }

  // Events that did not pass since the last call.
  uint64_t take_suppressed() {
    const uint64_t count = suppressed_;
    suppressed_ = 0;
    return count;
  }

 private:
  void begin_window(TimePoint now) {
    window_ = now;
    in_window_ = 0;
  }

  const uint32_t per_second_;
  TimePoint window_{};
  uint64_t in_window_ = 0;  // events, those that did not pass included
  uint64_t suppressed_ = 0;
};

// SessionName: how log and audit name a session: eight hex digits.
//
// An id of MCP is a credential, so it is never written there. The name is the beginning of the id's
// SHA-256, which everyone with the id can compute. A session without an id (WebSocket) has a random
// name. A value.
struct SessionName {
  std::array<char, 8> digits{};  // zeros: none

  // `bits`: the 32 highest bits of a digest, or random bits.
  static SessionName of(uint32_t bits) {
    SessionName name;
    for (char& digit : name.digits) digit = "0123456789abcdef"[(bits = std::rotl(bits, 4)) & 15];
    return name;
  }
  [[nodiscard]] bool is_none() const { return digits[0] == 0; }
  // Empty for none.
  [[nodiscard]] std::string_view view() const {
    return is_none() ? std::string_view() : std::string_view(digits.data(), digits.size());
  }
};

}  // namespace stdgate

// RecordingLog: keeps log events as lines "event key=value ..." for a test to look at.
#pragma once

#include <algorithm>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "gateway/base/log.h"

namespace stdgate::test {

struct RecordingLog final : Log {
  explicit RecordingLog(LogLevel lowest_level = LogLevel::info) : lowest(lowest_level) {}
  [[nodiscard]] bool enabled(LogLevel level) const override { return level >= lowest; }
  void write(LogLevel level, std::string_view event,
             std::initializer_list<LogField> fields) override {
    std::string line(event);
    for (const LogField& field : fields) {
      if (std::holds_alternative<std::monostate>(field.value)) continue;
      line.append(" ").append(field.key).append("=");
      std::visit(
          [&line](const auto& value) {
            using Value = std::decay_t<decltype(value)>;
            if constexpr (std::is_same_v<Value, std::string_view>) {
              line.append(value);
            } else if constexpr (std::is_same_v<Value, Duration>) {
              line.append(std::to_string(value.count())).append("ns");
            } else if constexpr (!std::is_same_v<Value, std::monostate>) {
              line.append(std::to_string(value));
            }
          },
          field.value);
    }
    lines.push_back(line);
    levels.push_back(level);
  }

  // The first line of this event; null if there is no such line.
  [[nodiscard]] const std::string* find(std::string_view event) const {
    for (const std::string& line : lines) {
      if (line.starts_with(event)) return &line;
    }
    return nullptr;
  }
  [[nodiscard]] bool has_trouble() const {
    return std::any_of(levels.begin(), levels.end(),
                       [](LogLevel level) { return level >= LogLevel::warn; });
  }

  const LogLevel lowest;
  std::vector<std::string> lines;
  std::vector<LogLevel> levels;  // of these lines
};

}  // namespace stdgate::test

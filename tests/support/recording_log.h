// RecordingLog: log events as lines "event key=value ...", kept for a test to look at.
#pragma once

#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "gateway/base/log.h"

namespace stdgate::test {

struct RecordingLog final : Log {
  [[nodiscard]] bool enabled(LogLevel /*level*/) const override { return true; }
  void write(LogLevel /*level*/, std::string_view event,
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
  }

  std::vector<std::string> lines;
};

}  // namespace stdgate::test

// PayloadLog: the observer that writes the messages themselves, for those who look for a fault.
//
// Owner: the worker, which adds it only with log.payloads. One line a message and
// direction; members named in log.redact are hidden at any depth, and what is longer than
// log.payload_limit is cut.
#pragma once

#include <utility>

#include "gateway/base/log.h"
#include "gateway/config/config.h"
#include "gateway/observer.h"
#include "metrics/backend_names.h"

namespace stdgate::logs {

class PayloadLog final : public Observer {
 public:
  PayloadLog(Log& log, config::LogConfig config) : log_(log), config_(std::move(config)) {}
  void set_config(const config::LogConfig& config) { config_ = config; }

  void on_backend(BackendId backend, std::string_view name) override {
    backends_.add(backend, name);
  }
  void on_message(BackendId backend, Direction direction,
                  std::span<const std::string_view> parts) override;

  static constexpr LogLevel kLevel = LogLevel::info;  // of its lines

 private:
  Log& log_;
  config::LogConfig config_;
  BackendNames backends_;
};

}  // namespace stdgate::logs

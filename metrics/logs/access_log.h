// AccessLog: the observer that writes one line per finished call.
//
// Owner: the worker, which adds it only when calls are to be logged. Level info for what the child
// answered and for cancelled calls, warn for faults of the gateway.
// Limit: an id is shown up to kMaxId bytes, the name of a tool up to kMaxTool.
#pragma once

#include <string>
#include <utility>

#include "gateway/base/byte_storage.h"
#include "gateway/base/log.h"
#include "gateway/config/config.h"
#include "gateway/observer.h"
#include "metrics/logs/log_writer.h"
#include "metrics/observers.h"

namespace stdgate::logs {

class AccessLog final : public Observer {
 public:
  explicit AccessLog(LineSink& log) : log_(log) {}

  void on_backend(BackendId backend, std::string_view name) override {
    backends_.add(backend, name);
  }
  void on_call_finished(const CallRecord& call) override;

  static constexpr LogLevel kHighestLevel = LogLevel::warn;  // of its lines
  static constexpr size_t kMaxId = 128;
  static constexpr size_t kMaxTool = 128;  // MCP 2025-11-25, "Tool Names"

 private:
  std::string_view text_of(const ClientAddress& client);

  LineSink& log_;
  BackendNames backends_;
  ByteQueue fields_;     // of the line at hand
  std::string scratch_;  // a text with escapes
  // The last client's address: most calls in a row have the same.
  ClientAddress client_;
  std::string client_text_;
};

// PayloadLog: the observer that writes the messages themselves, for debugging.
//
// Owner: the worker, which adds it only with log.payloads. One line a message and
// direction; members named in log.redact are hidden at any depth, and what is longer than
// log.payload_limit is cut.
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

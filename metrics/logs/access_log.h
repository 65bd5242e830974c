// AccessLog: the observer that writes one line per finished call.
//
// Owner: the worker, which adds it only when calls are to be logged. Level info for what the child
// answered and for cancelled calls, warn for faults of the gateway.
// Limit: an id is shown up to kMaxId bytes, the name of a tool up to kMaxTool.
#pragma once

#include <string>

#include "gateway/base/byte_queue.h"
#include "gateway/observer.h"
#include "metrics/backend_names.h"
#include "metrics/logs/line_sink.h"

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

}  // namespace stdgate::logs

#include "metrics/access_log.h"

namespace stdgate {
namespace {

LogField if_any(std::string_view key, std::string_view text) {
  if (text.empty()) return {key, {}};
  return {key, text};
}

LogLevel level_of(Outcome outcome) {
  return outcome.is_fault() ? AccessLog::kHighestLevel : LogLevel::info;
}

}  // namespace

void AccessLog::on_call_finished(const CallRecord& call) {
  const LogLevel level = level_of(call.outcome);
  if (!log_.enabled(level)) return;
  // A refused call may have no id that could be read; it was answered with null.
  const std::string_view id = call.id.empty() ? "null" : call.id.substr(0, kIdLimit);
  log_.write(level, "call",
             {{"backend", backends_.of(call.backend)},
              {"method", call.method_name},
              if_any("tool", call.tool_name.substr(0, kToolLimit)),
              {"outcome", call.outcome.name()},
              {"transport", transport_name(call.transport)},
              {"duration_ms", call.total},
              {"queue_ms", call.queued},
              {"child_ms", call.child},
              {"id", id},
              {"connection", call.connection},
              {"bytes_in", uint64_t{call.bytes_in}},
              {"bytes_out", uint64_t{call.bytes_out}},
              if_any("trace_id", call.trace_id),
              if_any("detail", call.detail)});
}

}  // namespace stdgate

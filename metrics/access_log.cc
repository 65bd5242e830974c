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
  const LogField backend = {"backend", backends_.of(call.backend)};
  const LogField method = {"method", call.method_name};
  const LogField tool = if_any("tool", call.tool_name.substr(0, kToolLimit));
  const LogField outcome = {"outcome", call.outcome.name()};
  const LogField transport = {"transport", transport_name(call.transport)};
  const LogField total = {"duration_ms", call.total};
  const LogField queued = {"queue_ms", call.queued};
  const LogField child = {"child_ms", call.child};
  // A refused call may have no id that could be read; it was answered with null.
  const LogField id = {"id", call.id.empty() ? "null" : call.id.substr(0, kIdLimit)};
  const LogField connection = {"connection", call.connection};
  const LogField bytes_in = {"bytes_in", uint64_t{call.bytes_in}};
  const LogField bytes_out = {"bytes_out", uint64_t{call.bytes_out}};
  log_.write(
      level, "call",
      {backend, method, tool, outcome, transport, total, queued, child, id, connection, bytes_in,
       bytes_out, if_any("trace_id", call.trace_id), if_any("detail", call.detail)});
}

}  // namespace stdgate

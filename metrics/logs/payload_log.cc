#include "metrics/logs/payload_log.h"

#include <string>

#include "metrics/logs/redaction.h"

namespace stdgate::logs {

void PayloadLog::on_message(BackendId backend, Direction direction,
                            std::span<const std::string_view> parts) {
  if (!log_.enabled(kLevel)) return;
  std::string text;
  for (const std::string_view part : parts) text += part;
  const std::string shown = redact(text, config_.redact, config_.payload_limit);
  log_.write(kLevel, "message",
             {{"backend", backends_.of(backend)},
              {"direction", direction_name(direction)},
              {"text", std::string_view(shown)}});
}

}  // namespace stdgate::logs

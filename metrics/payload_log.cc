#include "metrics/payload_log.h"

#include "metrics/redaction.h"

namespace stdgate {

void PayloadLog::on_backend(BackendId backend, std::string_view name) {
  if (backends_.size() <= backend) backends_.resize(backend + size_t{1});
  backends_[backend] = name;
}

void PayloadLog::on_message(BackendId backend, Direction direction,
                            std::span<const std::string_view> parts) {
  if (!log_.enabled(LogLevel::info)) return;
  std::string text;
  for (const std::string_view part : parts) text += part;
  const std::string shown = redact(text, config_.redact, config_.payload_limit);
  log_.write(LogLevel::info, "message",
             {{"backend", std::string_view(backends_[backend])},
              {"direction", direction_name(direction)},
              {"text", std::string_view(shown)}});
}

}  // namespace stdgate

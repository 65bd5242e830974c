#include "metrics/logs/start_error.h"

#include <unistd.h>

#include <cstdio>

#include "metrics/logs/log_writer.h"

namespace stdgate::logs {

void write_start_error(config::LogFormat format, std::string_view event, std::string_view text) {
  if (format == config::LogFormat::text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    return;
  }
  LogWriter log(STDERR_FILENO, LogLevel::error, format);
  while (!text.empty()) {
    const size_t end = text.find('\n');
    log.write(LogLevel::error, event, {{"error", text.substr(0, end)}});
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  log.flush_blocking();
}

}  // namespace stdgate::logs

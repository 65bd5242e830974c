#include "metrics/logs/start_error.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "metrics/logs/line_look.h"
#include "metrics/logs/log_writer.h"

namespace stdgate::logs {

namespace {

void write_to_journal(std::string_view text) {
  while (!text.empty()) {
    const size_t size = std::min(text.find('\n'), text.size() - 1) + 1;
    std::fprintf(stderr, "<3>%.*s", static_cast<int>(size), text.data());
    text.remove_prefix(size);
  }
}

}  // namespace

void write_start_error(config::LogFormat format, std::string_view event, std::string_view text,
                       const std::map<std::string, std::string>& environment) {
  if (format == config::LogFormat::text && !is_journal(STDERR_FILENO, environment)) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    return;
  }
  if (format == config::LogFormat::text) return write_to_journal(text);
  LogWriter log(STDERR_FILENO, LogLevel::error, format);
  while (!text.empty()) {
    const size_t end = text.find('\n');
    log.write(LogLevel::error, event, {{"error", text.substr(0, end)}});
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  log.flush_blocking();
}

}  // namespace stdgate::logs

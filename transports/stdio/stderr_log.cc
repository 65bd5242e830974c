#include "transports/stdio/stderr_log.h"

#include <algorithm>

#include "gateway/base/encodings.h"

namespace stdgate::stdio {

void StderrLog::add(std::string_view bytes, TimePoint now) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    line_.append(piece.substr(0, std::min(piece.size(), kMaxLine - line_.size())));
    if (end == std::string_view::npos) return;
    end_line(now);
    bytes.remove_prefix(end + 1);
  }
}

void StderrLog::end(TimePoint now) {
  end_line(now);
  tell_suppressed();
}

void StderrLog::end_line(TimePoint now) {
  // Not in the middle of a character, when the limit has cut the line.
  if (line_.size() == kMaxLine) line_.resize(line_.size() - incomplete_utf8_tail(line_));
  if (line_.ends_with('\r')) line_.pop_back();
  keep_line();
  if (!line_.empty() && rate_.allow(now)) {
    tell_suppressed();
    log_.write(LogLevel::info, "child stderr",
               {{"backend", backend_},
                {"child", if_any(name_.number)},
                {"pid", pid_},
                {"session", if_any(name_.session.view())},
                {"client", if_any(name_.client)},
                {"principal", if_any(name_.principal)},
                {"probe", if_any(name_.probe)},
                {"line", std::string_view(line_)}});
  }
  line_.clear();
}

void StderrLog::keep_line() {
  if (line_.empty()) return;
  if (last_lines_.size() == kMaxLastLines) last_lines_.pop_front();
  last_lines_.emplace_back(cut_utf8(line_, kMaxLastLine));
}

void StderrLog::tell_suppressed() {
  const uint64_t lines = rate_.take_suppressed();
  if (lines == 0) return;
  log_.write(LogLevel::warn, "child stderr suppressed",
             {{"backend", backend_},
              {"child", if_any(name_.number)},
              {"pid", pid_},
              {"session", if_any(name_.session.view())},
              {"lines", lines}});
}

}  // namespace stdgate::stdio

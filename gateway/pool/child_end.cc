#include "gateway/pool/child_end.h"

#include <cstring>

namespace stdgate::pool {

namespace {

// Left out where it is empty.
decltype(LogField::value) field(std::string_view text) {
  if (text.empty()) return std::monostate();
  return text;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text.append(text.empty() ? "" : " | ").append(line);
  return text;
}

}  // namespace

std::string exit_text(const ExitStatus& status) {
  switch (status.kind) {
    case ExitStatus::Kind::exited:
      return "exited with code " + std::to_string(status.value);
    case ExitStatus::Kind::signaled: {
      const char* name = sigabbrev_np(status.value);
      return "was killed by signal " + std::to_string(status.value) +
             (name == nullptr ? "" : std::string(" (SIG") + name + ")");
    }
    case ExitStatus::Kind::not_started:
      break;
  }
  return "could not be started";
}

ChildEnd end_by_itself(const ExitStatus& status, bool was_ready) {
  const std::string text = exit_text(status);
  ChildEnd end;
  end.was_ready = was_ready;
  end.message = "the child " + text;
  end.detail = status.reason.empty() ? text : text + ": " + status.reason;
  if (!end.was_ready) {
    end.reason = ExitReason::start_failed;
  } else if (status.kind == ExitStatus::Kind::signaled) {
    end.reason = ExitReason::signal;
  } else {
    end.reason = status.value == 0 ? ExitReason::exit_zero : ExitReason::exit_nonzero;
  }
  return end;
}

void log_end(Log& log, const EndedChild& child, const ChildEnd& end, bool is_fine,
             bool never_served) {
  const std::string last_words = never_served ? joined(end.last_words) : std::string();
  log.write(is_fine ? LogLevel::info : LogLevel::warn, "child ended",
            {{"backend", child.backend},
             {"child", child.number},
             {"pid", static_cast<int64_t>(child.pid)},
             {"reason", exit_reason_name(end.reason)},
             {"status", end.detail},
             {"hint", field(is_fine ? std::string_view() : end.hint)},
             {"stderr", field(last_words)},
             {"in_flight", static_cast<uint64_t>(end.in_flight)}});
}

}  // namespace stdgate::pool

#include "gateway/pool/child_end.h"

#include <cstring>

namespace stdgate::pool {

std::string_view replace_wait_name(ReplaceWait wait) {
  switch (wait) {
    case ReplaceWait::none:
      break;
    case ReplaceWait::work:
      return "work";
    case ReplaceWait::room:
      return "room";
    case ReplaceWait::successor:
      return "successor";
  }
  return "none";
}

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

}  // namespace stdgate::pool

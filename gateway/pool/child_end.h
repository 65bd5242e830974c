// ChildEnd: how a child ended, in words for metrics, clients and the log.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gateway/base/log.h"
#include "gateway/observer.h"
#include "gateway/pool/child_link.h"

namespace stdgate::pool {

struct ChildEnd {
  ExitReason reason = ExitReason::asked;
  std::string message;  // for clients: exit code or signal, no caught text
  std::string detail;   // for the log
  bool was_ready = false;
  size_t in_flight = 0;                      // its calls when it ended
  std::string hint = {};                     // what may be wrong with it, for people; may be empty
  std::vector<std::string> last_words = {};  // lines of stderr, oldest first
};

// "exited with code 1", "was killed by signal 9 (SIGKILL)"
std::string exit_text(const ExitStatus& status);

// Of a child that the gateway has not asked to go.
ChildEnd end_by_itself(const ExitStatus& status, bool was_ready);

// Whose end it is.
struct EndedChild {
  std::string_view backend;
  uint64_t number = 0;
  int pid = 0;
};
// `is_fine`: nothing has failed. `never_served`: its last words are in no other line that matters.
void log_end(Log& log, const EndedChild& child, const ChildEnd& end, bool is_fine,
             bool never_served);

}  // namespace stdgate::pool

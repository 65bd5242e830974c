// Wear: why a child is to be replaced. ChildEnd: how it ended, in words for metrics, clients and
// the log (ChildLog).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/base/time.h"
#include "gateway/observer.h"
#include "gateway/pool/child_link.h"

namespace stdgate::pool {

// Why a child that is to be replaced serves on for the moment.
enum class ReplaceWait : uint8_t {
  none,       // it does not, or nothing is known against it
  work,       // it holds work, and there is no room for a successor
  room,       // another child goes first
  successor,  // its successor is not ready
};
std::string_view replace_wait_name(ReplaceWait wait);

// Owner: the child. Replacement decides by it.
struct Wear {
  std::optional<ReplaceReason> reason;  // nothing: the child stays
  TimePoint since{};  // while the child serves: when it began to be worn; then: see Replacement
  ReplaceWait wait = ReplaceWait::none;
  bool is_wait_told = false;
  uint64_t successor = 0;  // the number of the child that takes its place; 0: none
  uint64_t memory = 0;     // resident bytes of the process and its descendants; 0: not measured yet

  void begin(std::optional<ReplaceReason> why, TimePoint now) {
    reason = why;
    since = now;
  }
};

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

// The end of a child that the gateway has not asked to go.
ChildEnd end_by_itself(const ExitStatus& status, bool was_ready);

}  // namespace stdgate::pool

// SessionMemo: which part of a message to a session's own child has to be repeated for the
// session's next child.
#pragma once

#include <cstdint>

namespace stdgate::call {

enum class SessionMemo : uint8_t {
  none,
  first,       // only that this is the first call of a session from another process
  greeting,    // the params of the greeting
  completion,  // the notification that completes the greeting
  severity,    // the level from which log messages are wanted
  subscribe,
  unsubscribe,
};

}  // namespace stdgate::call

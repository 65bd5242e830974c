// SessionMemo: which part of what a session has told its own child another child would have to be
// told again.
#pragma once

#include <cstdint>

namespace stdgate::pool {

enum class SessionMemo : uint8_t {
  none,
  greeting,    // its params
  completion,  // of the greeting, by the client's notification
  severity,    // from which on log messages are wanted
  subscribe,
  unsubscribe,
};

}  // namespace stdgate::pool

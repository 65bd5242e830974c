// SessionMemo: which part of what a session has told its own child another child would have to be
// told again.
#pragma once

#include <cstdint>

namespace stdgate::call {

enum class SessionMemo : uint8_t {
  none,
  first,       // nothing but that it is the first call of a session from another process
  greeting,    // its params
  completion,  // of the greeting, by the client's notification
  severity,    // from which on log messages are wanted
  subscribe,
  unsubscribe,
};

}  // namespace stdgate::call

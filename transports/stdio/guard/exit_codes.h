// Exit codes of the guard itself (sysexits.h); 127 as a shell's for a command that was not started.
#pragma once

namespace stdgate::guard {

inline constexpr int kBadUsage = 64;
inline constexpr int kSystemFailed = 71;
inline constexpr int kNotStarted = 127;

}  // namespace stdgate::guard

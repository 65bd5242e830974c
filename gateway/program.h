// The composition root: makes every part, connects them, and runs the loop until the program ends.
#pragma once

#include <map>
#include <string>

#include "gateway/config/config.h"

namespace stdgate {

// Exit codes beside kUsageError and 128 + signal (a second signal cut the drain short).
inline constexpr int kCleanExit = 0;
inline constexpr int kCouldNotStart = 1;
inline constexpr int kDrainTimedOut = 3;  // calls were cut off

// This very binary, even when its file has been replaced meanwhile.
inline constexpr const char* kOwnBinary = "/proc/self/exe";

// Serves until a signal ends it; gives the exit code. `environment` is the gateway's own;
// `guard_binary` is what runs as guard (transports/stdio/guard.h).
int serve(const Config& config, const std::map<std::string, std::string>& environment,
          const std::string& guard_binary = kOwnBinary);

}  // namespace stdgate

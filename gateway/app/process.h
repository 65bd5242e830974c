// The process: its signals, its admin listener, its worker and the one reaper of orphans. Owner:
// main().
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/config/config.h"

namespace stdgate::app {

// Exit codes beside kUsageError and 128 + signal (a second signal cut the drain short).
inline constexpr int kCleanExit = 0;
inline constexpr int kCouldNotStart = 1;
inline constexpr int kDrainTimedOut = 3;  // calls were cut off

// A line for each backend whose program, user, working directory or paths of its sandbox cannot be
// found here and now, whose user this process may not become, or whose sandbox this kernel cannot
// hold.
std::vector<std::string> unstartable_children(
    const config::Config& config, const std::map<std::string, std::string>& environment);

// A line for each file with secrets that every user of this machine can read, and one for secrets
// that others may read on their way.
std::vector<std::string> exposed_files(const config::Config& config);

// A line for each API key that is not accepted any more.
std::vector<std::string> expired_keys(const config::Config& config, std::chrono::sys_seconds now);

// Why the audit cannot be written, as far as can be seen without making its file; empty: nothing is
// known against it.
std::string unusable_audit(const config::Config& config);

// What is wrong with files of keys that are read only where they are used: lines with the path of
// the key.
std::vector<std::string> unusable_keys(const config::Config& config);

// Reads the configuration again, checked as at the start; or says what is wrong with it.
using ConfigSource = std::function<tl::expected<config::Config, std::string>()>;

struct ServeOptions {
  std::string guard_path{};   // empty: beside this program (transports/stdio/guard_binary.h)
  ConfigSource read_again{};  // on SIGHUP; null: it is not read again
};

// Serves until a signal ends it; gives the exit code. `environment` is the gateway's own.
int serve(const config::Config& config, const std::map<std::string, std::string>& environment,
          const ServeOptions& options = {});

}  // namespace stdgate::app

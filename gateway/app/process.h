// The process: its signals, its admin listener, its worker, and the only reaper of orphans. Owner:
// main().
#pragma once

#include <functional>
#include <map>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/config/config.h"
#include "transports/net/systemd.h"

namespace stdgate::app {

// Exit codes beside kUsageError and 128 + signal (a second signal cut the drain short).
inline constexpr int kCleanExit = 0;
inline constexpr int kCouldNotStart = 1;
inline constexpr int kDrainTimedOut = 3;  // calls were cut off

// Reads the configuration again, checked as at the start. An error says what is wrong with it.
using ConfigSource = std::function<tl::expected<config::Config, std::string>()>;

// What serve() needs besides the configuration. Filled by main().
struct ServeOptions {
  std::string guard_path{};   // empty: beside this program (transports/stdio/guard_process.h)
  ConfigSource read_again{};  // on SIGHUP; null: it is not read again
  std::string config_file{};  // for the log; empty: a command line
  // The files that were read for the configuration, or could not be, the last time.
  const std::vector<std::string>* files = nullptr;
  // The terminal of the program's user; null: none.
  net::PassedSockets* sockets = nullptr;
};

// Serves until a signal ends it; gives the exit code. `environment` is the gateway's own.
int serve(const config::Config& config, const std::map<std::string, std::string>& environment,
          const ServeOptions& options = {});

}  // namespace stdgate::app

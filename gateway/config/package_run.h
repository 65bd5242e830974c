// PackageRun: a command that fetches the package which it then runs: npx, uvx and the like.
// start_time_of(): how long a backend's processes may take to start. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "gateway/config/config.h"

namespace stdgate::config {

struct PackageRun {
  std::string runner;    // as people call it: "npx", "npm exec"
  std::string package;   // without its version; empty: it is not known
  size_t words = 1;      // of the command, that are the runner
  bool may_ask = false;  // npm's, without a word on whether it may install
  bool fetches = true;   // not with --offline and the like
};

// Nothing: the command is none, as far as its words show.
std::optional<PackageRun> package_run_of(const std::vector<std::string>& command);

// Whether a process of the backend may fetch its package before it starts.
bool may_fetch(const BackendConfig& backend);
// Within which a process must become ready.
Duration start_time_of(const BackendConfig& backend);

}  // namespace stdgate::config

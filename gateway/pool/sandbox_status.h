// SandboxStatus: which parts of a backend's sandbox this machine can hold, for reports. A value,
// made by the launcher.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace stdgate::pool {

struct SandboxStatus {
  bool used = false;
  bool required = false;
  // Parts out of "system_calls", "files" and "network" that the configuration asks for.
  std::vector<std::string_view> holds;
  std::vector<std::string_view> lacks;
  std::string_view missing;  // the first missing feature of the kernel, for people; empty: none
  uint64_t incomplete_starts = 0;  // starts of children without the whole sandbox
};

}  // namespace stdgate::pool

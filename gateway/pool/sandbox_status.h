// SandboxStatus: what of a backend's sandbox this machine holds, for reports. A value, made by the
// launcher.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace stdgate::pool {

struct SandboxStatus {
  bool used = false;
  bool required = false;
  // Of "system_calls", "files" and "network", as far as the configuration asks for it.
  std::vector<std::string_view> holds;
  std::vector<std::string_view> lacks;
  std::string_view missing;        // the first that the kernel lacks, for people; empty: nothing
  uint64_t incomplete_starts = 0;  // of children without all of it
};

}  // namespace stdgate::pool

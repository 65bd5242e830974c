// The kernel's figures of a process, from /proc (proc(5)), for the process_* metrics. Reads a few
// small files, about 50 µs; done for each scrape, never per message.
#pragma once

#include <cstdint>
#include <optional>

namespace stdgate::metrics {

struct ProcessStats {
  double cpu_seconds = 0;         // user and system
  double start_time_seconds = 0;  // since the epoch
  uint64_t resident_bytes = 0;
  uint64_t virtual_bytes = 0;
  uint64_t open_fds = 0;
  uint64_t max_fds = 0;
};

// Of this process. Nothing when /proc is not mounted or says something unknown.
std::optional<ProcessStats> read_process_stats();

}  // namespace stdgate::metrics

// Process trees as /proc shows them (proc(5)): who is whose child, and what a tree uses.
//
// Job: let the guard find what it has to end, and a scrape of the metrics sum up a backend.
// Limits: a snapshot that may be out of date when it is returned; unreadable means empty.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stdgate::stdio {

// The direct children of `pid`, zombies included. Takes the kernel's own list, or, where that is
// not built in, looks at every process.
std::vector<pid_t> children_of(pid_t pid);
std::vector<pid_t> children_by_scan(pid_t pid);

// A file of the kernel's, whose size is not known before; nothing: it cannot be opened.
std::optional<std::string> read_whole(const std::string& path);

struct ProcessUsage {
  double cpu_seconds = 0;       // user and system, of descendants that were waited for too
  uint64_t resident_bytes = 0;  // pages that processes share count once for each
};

// The usage of `root` and all its descendants.
ProcessUsage process_tree_usage(pid_t root);

}  // namespace stdgate::stdio

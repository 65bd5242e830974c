// Confinement: how far children are kept apart from each other and from the gateway, for log and
// reports. A value, made by transports/stdio.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace stdgate::pool {

struct Confinement {
  int landlock_abi = 0;         // 0: the kernel has no Landlock
  bool children_apart = false;  // children cannot trace each other or read each other's memory
  bool signals_scoped = false;  // children can signal only their own descendants
  bool abstract_sockets_scoped = false;  // children cannot connect to abstract sockets of others
  bool syscalls_filtered = false;        // in a sandbox
  bool gateway_dumpable = true;          // processes of its user may trace it and read its memory
  bool runs_as_root = false;
  std::vector<std::string_view> capabilities;  // that the gateway has and its children keep
  uint64_t unconfined_starts = 0;  // starts of children that the kernel refused to confine
};

}  // namespace stdgate::pool

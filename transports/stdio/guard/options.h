// Options: the guard's arguments, parsed (protocol.h).
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "transports/stdio/guard/protocol.h"
#include "transports/stdio/guard/sandbox.h"

namespace stdgate::guard {

struct Identity {
  uid_t user = 0;
  gid_t group = 0;
  size_t group_count = 0;  // of `groups`
  std::array<gid_t, kMaxGroups> groups{};
};

struct Options {
  const char* directory = nullptr;  // null: as it is
  std::optional<Identity> identity;
  std::array<std::optional<uint64_t>, kLimitOptions.size()> limits;  // as kLimitOptions
  Sandbox sandbox;
  const char* cgroup = nullptr;  // the file to write to; null: none is joined
  int64_t linger_ms = 0;
  char** command = nullptr;  // argv of the command, ends with null
};

// False when they are none of ours.
bool parse_options(int argc, char** argv, Options* options);

}  // namespace stdgate::guard

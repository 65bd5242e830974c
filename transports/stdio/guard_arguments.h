// The guard's arguments for a command (guard/protocol.h), with its user's name looked up.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/pool/child_link.h"

namespace stdgate::stdio {

// argv of the guard for `spec`; argv[0] is a name for process lists. `identity` is what
// look_identity_up() has given for spec.user, and empty when that is.
std::vector<std::string> guard_arguments(const pool::LaunchSpec& spec, const std::string& identity);

// "UID:GID:GID,..." of `user`, a name of the user database or a number; errno when there is none,
// or when it has more than guard::kMaxGroups groups. Reads files, and may ask the network.
tl::expected<std::string, int> look_identity_up(const std::string& user);

}  // namespace stdgate::stdio

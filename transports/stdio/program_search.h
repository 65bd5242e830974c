// Whether what a LaunchSpec names is there, looked for as the guard will (guard.cc: user, working
// directory, then execvp in the child's own PATH), without starting anything.
//
// A moment later it may be otherwise, and what a user of the spec may do is judged by the mode of
// the file alone: so this is for words to a human, not for a decision.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "gateway/pool/child_link.h"

namespace stdgate::stdio {

// Else what is wrong: `program "npx" not found in PATH "/usr/bin:/bin"`.
tl::expected<void, std::string> find_program(const pool::LaunchSpec& spec);

}  // namespace stdgate::stdio

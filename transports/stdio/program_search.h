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

// Else what is wrong: `program "npx" not found in PATH "/usr/bin:/bin"`. Of a script its first line
// is looked at too: whether what it names is there to run it.
tl::expected<void, pool::LaunchProblem> find_program(const pool::LaunchSpec& spec);

// The file that the spec's program is; empty: there is none.
std::string locate_program(const pool::LaunchSpec& spec);

// The program of the spec is no file, and reads like a command line: "npx -y server".
bool is_command_line(const pool::LaunchSpec& spec);
// What to say of such a program.
pool::LaunchProblem command_line_problem(const std::string& program);

}  // namespace stdgate::stdio

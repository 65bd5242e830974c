// Whether what a LaunchSpec names is there, looked for as the guard will (guard.cc: user, working
// directory, then execvp in the child's own PATH), without starting anything.
//
// A moment later it may be otherwise, and what a user of the spec may do is judged by the mode of
// the file alone: so this is for words to a human, not for a decision.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "gateway/pool/child_link.h"

namespace stdgate::stdio {

// The first line of a script, "#!/usr/bin/env python3", as the kernel reads it, and what is wrong
// with it. Reads a file; starts nothing.
struct ScriptHead {
  std::string interpreter;    // the program that the kernel executes
  std::string searched;       // of env: the program that is searched in PATH; may be empty
  bool ends_with_cr = false;  // lines end as on Windows, and the names have a \r at their end

  // Nothing: the text begins with no such line.
  static std::optional<ScriptHead> parse(std::string_view text);
  // Reads the first line of a file; nothing also where it cannot be read.
  static std::optional<ScriptHead> read(const std::string& path);
};

// Else what is wrong: `program "npx" not found in PATH "/usr/bin:/bin"`. The first line of a script
// is looked at too: whether the interpreter that it names exists.
tl::expected<void, pool::LaunchProblem> find_program(const pool::LaunchSpec& spec);

// The file of the spec's program; empty: none.
std::string locate_program(const pool::LaunchSpec& spec);

// The program of the spec is no file, and reads like a command line: "npx -y server".
bool is_command_line(const pool::LaunchSpec& spec);
// The error for such a program.
pool::LaunchProblem command_line_problem(const std::string& program);

}  // namespace stdgate::stdio

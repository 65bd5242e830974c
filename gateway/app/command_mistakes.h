// What is said of arguments that nothing knows: what they are taken for, and what to write instead.
// Internal to command_line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gateway/app/command_flags.h"

namespace stdgate::app {

std::string unknown_option_text(const std::vector<FlagSpec>& flags, const std::string& word);

// `unknown` is the first argument that the parser does not know, and all behind it: a mistyped
// word, a file, or a command without "--" in front. `ours`: all that stand in front of a "--".
std::string unknown_text(const std::vector<FlagSpec>& flags, const std::vector<std::string>& ours,
                         const std::vector<std::string>& unknown);

// `-min` is one option of ours with a hyphen too few; CLI11 would take it for -m.
std::optional<std::string> find_short_spelling(const std::vector<FlagSpec>& flags,
                                               const std::vector<std::string>& arguments);

}  // namespace stdgate::app

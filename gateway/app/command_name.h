// The name of a backend that is given as a command: the usual name of the server in it.
//
// Job: find the server behind npx, uvx, python3 -m, docker run, env and the like. No I/O: judges by
// the words of the command, or by the name of the working directory if the words do not help.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stdgate::app {

// The name if no word of a command can be a backend's name.
inline constexpr std::string_view kDefaultBackendName = "default";

// A valid name of a backend. `command` is not empty. `working_directory`: where the command will
// run, as an absolute path, or empty.
std::string name_from_command(const std::vector<std::string>& command,
                              const std::string& working_directory);

}  // namespace stdgate::app

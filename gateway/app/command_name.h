// The name of a backend that is given as a command: what people call the server in it.
//
// Job: find the server behind npx, uvx, python3 -m, docker run, env and the like. No I/O: it judges
// by the words alone, and by the name of the working directory where those say nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stdgate::app {

// When nothing in a command may be a backend's name.
inline constexpr std::string_view kDefaultBackendName = "default";

// A valid name of a backend. `command` is not empty; `working_directory` is where it will run, as
// an absolute path, or empty.
std::string name_from_command(const std::vector<std::string>& command,
                              const std::string& working_directory);

}  // namespace stdgate::app

// The command line: arguments to a value, and that value to a configuration.
//
// Flags and file share one validation: a flag is a Setting for parse_config(). No I/O but reading
// the configuration file, no environment but the one passed in. Errors are texts for stderr.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/config/config.h"
#include "gateway/config/config_parser.h"

namespace stdgate {

struct CommandLine {
  enum class Action : uint8_t { serve, check, demo_server, exit };
  struct Flag {
    std::string name;  // as typed, for errors: "--max"
    Setting setting;
  };

  Action action = Action::serve;
  int exit_code = 0;                 // for exit
  std::string output;                // for exit: goes to stdout with exit code 0, else to stderr
  std::string config_file;           // empty: the command's, else gateway.yaml
  std::vector<std::string> command;  // what stands behind "--"; empty: none
  std::vector<Flag> flags;
};

CommandLine parse_command_line(int argc, char** argv);

// Reads the file, or builds the configuration of the one backend. The error is one line or several,
// each with its newline; the exit code for it is kUsageError.
tl::expected<Config, std::string> load_config(const CommandLine& command_line,
                                              const Environment& environment);

// What `stdgate check` says: the resolved configuration (for stdout), or all errors (for stderr).
struct CheckReport {
  int exit_code = 0;
  std::string output;
};
CheckReport check_config(const CommandLine& command_line, const Environment& environment);

// The exit code of a bad command line or configuration.
inline constexpr int kUsageError = 2;

}  // namespace stdgate

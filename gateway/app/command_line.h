// The command line: arguments to a value, and that value to a configuration.
//
// Flags and file share one validation: a flag is a Setting for parse_config(). No I/O but reading
// the configuration file and the files of variables that it names, no environment but the one
// passed in. Errors are texts for stderr.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/config/config.h"
#include "gateway/config/config_parser.h"

namespace stdgate::app {

struct CommandLine {
  enum class Action : uint8_t { serve, check, demo_server, hash_key, verify_audit, exit };
  struct Flag {
    std::string name;  // as typed, for errors: "--max"
    config::Setting setting;
    // `--env NAME`: its value is that of the gateway's own environment.
    bool from_environment = false;
  };

  Action action = Action::serve;
  bool makes_key = false;                // for hash_key: a new one, whatever stands on stdin
  std::vector<std::string> audit_files;  // for verify_audit
  std::string as;        // for check: who, with roles behind commas; empty: the configuration
  std::string only;      // for check: the one backend that is asked about; empty: all
  bool as_json = false;  // for check
  std::string against;   // for check: the file that runs, to compare with; empty: none
  int exit_code = 0;     // for exit
  std::string output;    // for exit: goes to stdout with exit code 0, else to stderr
  config::LogFormat error_format = config::LogFormat::text;  // for exit: the format of an error
  std::string config_file;           // empty: the command's, else gateway.yaml
  std::vector<std::string> command;  // what stands behind "--"; empty: none
  std::vector<Flag> flags;
};

// `working_directory`: the current one, as an absolute path; what a backend may be named after.
CommandLine parse_command_line(int argc, char** argv, const std::string& working_directory = "");

// The file that the configuration is read from; empty: none is, or it cannot be chosen.
std::string config_file_of(const CommandLine& command_line);

// Reads the file, or builds the configuration of the one backend. The error is one line or several,
// each with its newline; the exit code for it is kUsageError. `files`: gets the names of the files
// that were read, or could not be; null: nobody asks.
tl::expected<config::Config, std::string> load_config(const CommandLine& command_line,
                                                      const config::Environment& environment,
                                                      std::vector<std::string>* files = nullptr);

// As load_config(), for one backend alone: variables that the rest of the file names need not be
// set.
tl::expected<config::Config, std::string> load_config_of(const CommandLine& command_line,
                                                         const config::Environment& environment,
                                                         const std::string& backend);

// What was found about a configuration that was loaded so, in the form of its errors: a line each,
// with its newline and the place in the file, or the flag, that it is about.
std::vector<std::string> lines_of(const CommandLine& command_line,
                                  std::vector<config::ConfigError> findings);

// In which format its errors are wanted, as far as that can be read.
config::LogFormat wanted_log_format(const CommandLine& command_line);

// What `stdgate check` says: the resolved configuration (for stdout), or all errors (for stderr).
struct CheckReport {
  int exit_code = 0;
  std::string output;
};
CheckReport check_config(const CommandLine& command_line, const config::Environment& environment);

// The exit code of a bad command line or configuration.
inline constexpr int kUsageError = 2;

}  // namespace stdgate::app

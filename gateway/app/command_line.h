// The command line: arguments to a value, and that value to a configuration.
//
// Flags and file share one validation: a flag is a Setting for parse_config(). The only I/O is
// reading the configuration file and the files of variables that it names; the environment is
// passed in. Errors are texts for stderr.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/app/command_flags.h"
#include "gateway/config/config.h"
#include "gateway/config/config_parser.h"

namespace stdgate::app {

// Arguments that have been read: the action, and what it needs. Made by parse_command_line().
struct CommandLine {
  enum class Action : uint8_t { serve, check, demo_server, hash_key, verify_audit, exit };
  // A flag that was given, as a setting of the configuration.
  struct Flag {
    std::string name;  // as typed, for errors: "--max"
    config::Setting setting;
    // `--env NAME`: the value comes from the gateway's own environment.
    bool from_environment = false;
  };

  Action action = Action::serve;
  bool makes_key = false;                // for hash_key: make a new key, and do not read stdin
  std::vector<std::string> audit_files;  // for verify_audit
  std::string as;    // for check: a name and roles, separated by commas; empty: the configuration
  std::string only;  // for check: the only backend to report; empty: all
  bool as_json = false;  // for check
  std::string against;   // for check: the running file, to compare with; empty: none
  int exit_code = 0;     // for exit
  std::string output;    // for exit: goes to stdout with exit code 0, else to stderr
  config::LogFormat error_format = config::LogFormat::text;  // for exit: the format of an error
  std::string config_file;           // empty: the command's, else gateway.yaml
  std::vector<std::string> command;  // the words behind "--"; empty: none
  std::vector<Flag> flags;
};

// `working_directory`: the current one, as an absolute path. A backend that is given as a command
// may be named after it. `words`: for --help and hints, those of tools too.
CommandLine parse_command_line(int argc, char** argv, const std::string& working_directory = "",
                               std::span<const CommandWord> words = own_words());

// The name of a backend that is given as a command, if no word of it can be one.
inline constexpr std::string_view kDefaultBackendName = "default";
// The name of a backend that is given as a command: the usual name of the server in it. `command`
// is not empty. `working_directory`: where the command will run, as an absolute path, or empty.
std::string name_from_command(const std::vector<std::string>& command,
                              const std::string& working_directory);

// The file with the configuration. Empty: no file, or it cannot be chosen.
std::string config_file_of(const CommandLine& command_line);

// Reads the file, or builds the configuration of the one backend. The error has one line or
// several, each with its newline; its exit code is kUsageError. `files`: receives the names of the
// files that were read, or could not be; null: not needed.
tl::expected<config::Config, std::string> load_config(const CommandLine& command_line,
                                                      const config::Environment& environment,
                                                      std::vector<std::string>* files = nullptr);

// Loads one backend. Variables that only the rest of the file names may be unset.
tl::expected<config::Config, std::string> load_config_of(const CommandLine& command_line,
                                                         const config::Environment& environment,
                                                         const std::string& backend);

// Findings about a loaded configuration, in the form of its errors: a line each, with its newline
// and its place in the file, or its flag.
std::vector<std::string> lines_of(const CommandLine& command_line,
                                  std::vector<config::ConfigError> findings);

// The format for errors of the configuration, as far as it can be read.
config::LogFormat wanted_log_format(const CommandLine& command_line);

// The output of `stdgate check`: the resolved configuration (stdout), or all errors (stderr).
struct CheckReport {
  int exit_code = 0;
  std::string output;
};
CheckReport check_config(const CommandLine& command_line, const config::Environment& environment);

// The exit code of a bad command line or configuration.
inline constexpr int kUsageError = 2;

// The text of `stdgate --version`: "stdgate 0.2.0 (commit 1a2b3c4d5e6f, linux-amd64)", with the end
// of the line. The commit is left out where the sources were built outside of a repository.
std::string version_text();

}  // namespace stdgate::app

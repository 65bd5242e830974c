// The flags of the command line: what is parsed, what the helps say and where in the configuration
// each value goes. Made from the tables of options (gateway/config/options). Internal to
// command_line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stdgate::app {

// Whether a flag configures the gateway, or the backend that is given as a command.
enum class FlagScope : uint8_t { gateway, backend };
// yes and no: flags without a value that stand for true and false. pairs: NAME=VALUE, or NAME for
// the value that it has in the gateway's own environment.
enum class FlagShape : uint8_t { text, list, pairs, yes, no };

struct FlagSpec {
  std::string name;
  FlagScope scope = FlagScope::gateway;
  FlagShape shape = FlagShape::text;
  std::vector<std::string> path;  // within the file, or within the backend
  std::string placeholder;
  std::string help;
  std::string group;                 // of --help
  std::vector<std::string> words{};  // that the value may be; none: anything
};

// The name of a flag that has no place in the configuration: it is the key of the backend.
inline constexpr const char* kNameFlag = "--name";

// Those that an option has, and kNameFlag; in the order of --help.
std::vector<FlagSpec> command_flags();

// What `stdgate --help` says; at most 80 columns wide.
std::string help_text(const std::vector<FlagSpec>& flags);

// Errors of unknown arguments: what they are taken for, and what to write instead. Internal to
// command_line.
std::string unknown_option_text(const std::vector<FlagSpec>& flags, const std::string& word);

// `unknown` is the first argument that the parser does not know, and all behind it: a mistyped
// word, a file, or a command without "--" in front. `ours`: the arguments in front of a "--".
std::string unknown_text(const std::vector<FlagSpec>& flags, const std::vector<std::string>& ours,
                         const std::vector<std::string>& unknown);

// `-min` is one option of ours with a hyphen too few; CLI11 would take it for -m.
std::optional<std::string> find_short_spelling(const std::vector<FlagSpec>& flags,
                                               const std::vector<std::string>& arguments);

}  // namespace stdgate::app

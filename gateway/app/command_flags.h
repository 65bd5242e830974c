// The flags of the command line: how they are parsed, what the help says, and where each value goes
// in the configuration. Made from the tables of options (gateway/config/options). Internal to
// command_line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stdgate::app {

// Whether a flag configures the gateway, or the backend that is given as a command.
enum class FlagScope : uint8_t { gateway, backend };
// yes and no: flags without a value, which mean true and false. pairs: NAME=VALUE, or NAME for its
// value in the gateway's own environment.
enum class FlagShape : uint8_t { text, list, pairs, yes, no };

struct FlagSpec {
  std::string name;
  FlagScope scope = FlagScope::gateway;
  FlagShape shape = FlagShape::text;
  std::vector<std::string> path;  // within the file, or within the backend
  std::string placeholder;
  std::string help;
  std::string group;                 // of --help
  std::vector<std::string> words{};  // permitted words; none: any value
};

// The flag for the name of a backend, which is a key in the file and not a member.
inline constexpr const char* kNameFlag = "--name";

// The flags of all options, and kNameFlag, in the order of --help.
std::vector<FlagSpec> command_flags();

// The text of `stdgate --help`; at most 80 columns wide.
std::string help_text(const std::vector<FlagSpec>& flags);

// Errors about unknown arguments: what they were probably meant to be, and what to write. Internal
// to command_line.
std::string unknown_option_text(const std::vector<FlagSpec>& flags, const std::string& word);

// `unknown`: the first argument that the parser does not know, and all after it: a mistyped word, a
// file, or a command without "--" in front. `ours`: the arguments before a "--".
std::string unknown_text(const std::vector<FlagSpec>& flags, const std::vector<std::string>& ours,
                         const std::vector<std::string>& unknown);

// `-min` is one option of ours with a hyphen too few; CLI11 would take it for -m.
std::optional<std::string> find_short_spelling(const std::vector<FlagSpec>& flags,
                                               const std::vector<std::string>& arguments);

}  // namespace stdgate::app

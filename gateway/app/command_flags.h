// The words and the flags of the command line, for parsing, --help, completion and the manual.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stdgate::app {

// --- The flags of the command line: how they are parsed, what the help says, and where each value
// goes in the configuration
//
// Made from the tables of options (gateway/config/options). Internal to command_line.

// Whether a flag configures the gateway, or the backend that is given as a command.
enum class FlagScope : uint8_t { gateway, backend };
// yes and no: flags without a value, which mean true and false. pairs: NAME=VALUE, or NAME for its
// value in the gateway's own environment.
enum class FlagShape : uint8_t { text, list, pairs, yes, no };

// A flag of the command line that sets a key of the configuration.
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

// --- Errors about unknown arguments: what they were probably meant to be, and what to write
//
// Internal to command_line.

std::string unknown_option_text(const std::vector<FlagSpec>& flags, const std::string& word);

// `unknown`: the first argument that the parser does not know, and all after it: a mistyped word, a
// file, or a command without "--" in front. `ours`: the arguments before a "--".
std::string unknown_text(const std::vector<FlagSpec>& flags, const std::vector<std::string>& ours,
                         const std::vector<std::string>& unknown);

// `-min` is one option of ours with a hyphen too few; CLI11 would take it for -m.
std::optional<std::string> find_short_spelling(const std::vector<FlagSpec>& flags,
                                               const std::vector<std::string>& arguments);

// CommandWord: a word that may come first on the command line, for --help, completion and the
// manual, and for hints about mistyped words.
struct CommandWord {
  std::string_view word;
  std::string_view arguments;  // arguments behind the word, for --help
  std::string_view about;
};

// In the order of --help.
inline constexpr std::array kCommandWords{
    CommandWord{"check", "[options] [...]", "validate a configuration, and print it"},
    CommandWord{"doctor", "-- COMMAND", "try a server, and say what is wrong"},
    CommandWord{"ls", "", "list the backends of a running gateway"},
    CommandWord{"tools", "[BACKEND]", "list the tools of MCP servers"},
    CommandWord{"call", "BACKEND METHOD [PARAMS]", "call a method of a backend"},
    CommandWord{"connect", "[BACKEND|URL]", "reach a remote server by stdin, stdout"},
    CommandWord{"snippet", "CLIENT", "print a client's settings, to paste"},
    CommandWord{"add", "NAME -- COMMAND", "add a backend to FILE, or a client's"},
    CommandWord{"adopt", "CLIENT", "put a client's servers behind a gateway"},
    CommandWord{"pin", "[SERVER...]", "pin tools, and show what has changed"},
    CommandWord{"config", "schema", "print the JSON Schema of FILE"},
    CommandWord{"config", "reference", "print what the keys of FILE mean"},
    CommandWord{"hash-key", "", "make an API key, or hash one on stdin"},
    CommandWord{"audit", "verify FILE...", "check that nobody has changed an audit"},
    CommandWord{"demo-server", "", "run a small JSON-RPC server, for trials"},
    CommandWord{"completion", "bash|zsh|fish", "print a completion script for a shell"},
    CommandWord{"man", "", "print the manual page"},
    CommandWord{"install", "--user", "run this user's gateway as a service"},
    CommandWord{"install-to", "DIR", "copy stdgate and its guard to DIR"},
    CommandWord{"version", "", "print the version"},
    CommandWord{"help", "", "print this"},
};

// The text of `--help` behind a word of the command line that is no tool. At most 80 columns wide;
// empty: the word is a tool, or unknown.
std::string_view word_help(std::string_view word);

}  // namespace stdgate::app

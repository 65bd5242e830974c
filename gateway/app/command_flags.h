// The words and the flags of the command line, for parsing, --help, completion and the manual.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
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

// CommandWord: a word that may come first on the command line, for --help, completion and the
// manual, and for hints about mistyped words.
struct CommandWord {
  std::string_view word;
  std::string_view arguments;  // arguments behind the word, for --help
  std::string_view about;
};

// The words that are no tools, in the order of --help. A tool has its line in its own row.
std::span<const CommandWord> own_words();

// `text` in lines of at most 80 columns that begin in `column`; the first one stands behind `used`
// columns.
std::string wrapped(std::string_view text, size_t column, size_t used);

// The text of `stdgate --help`; at most 80 columns wide.
std::string help_text(const std::vector<FlagSpec>& flags,
                      std::span<const CommandWord> words = own_words());

// The text of `--help` behind one of the own words. At most 80 columns wide; empty: it is another
// word.
std::string_view word_help(std::string_view word);

// --- Errors about unknown arguments: what they were probably meant to be, and what to write
//
// Internal to command_line.

// `names`: of the options that there are; `help`: the command that lists them.
std::string unknown_option_text(const std::vector<std::string_view>& names, const std::string& word,
                                const std::string& help = "stdgate --help");

// `more`: names beside those of the flags, which outlive the result.
std::vector<std::string_view> names_of(const std::vector<FlagSpec>& flags,
                                       std::vector<std::string_view> more = {"--config", "--help",
                                                                             "--version"});

// `unknown`: the first argument that the parser does not know, and all after it: a mistyped word, a
// file, or a command without "--" in front. `ours`: the arguments before a "--".
std::string unknown_text(const std::vector<FlagSpec>& flags, std::span<const CommandWord> words,
                         const std::vector<std::string>& ours,
                         const std::vector<std::string>& unknown);

// `-min` is one option of ours with a hyphen too few; CLI11 would take it for -m.
std::optional<std::string> find_short_spelling(const std::vector<FlagSpec>& flags,
                                               const std::vector<std::string>& arguments);

}  // namespace stdgate::app

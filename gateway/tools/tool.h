// A tool: a word behind `stdgate` that looks at servers or helps with a configuration, and serves
// nothing.
//
// Job: the table of tools, used to find and parse them, for --help, completion by shells, and the
// manual. Owner: the process; a tool is called once, and gives its whole output.
#pragma once

#include <chrono>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/app/command_line.h"
#include "gateway/config/config_parser.h"

namespace stdgate::tools {

// The surroundings that the process lends to a tool.
struct ToolSurroundings {
  const std::map<std::string, std::string>& variables;  // of the environment
  const config::Environment& environment;               // the same
  std::string version;
  bool is_terminal = false;  // stdout is one
  std::chrono::sys_seconds now{};
  uint64_t chance = 0;  // random; cannot be guessed
};

inline constexpr int kHealthy = 0;
inline constexpr int kFailed = 1;  // findings, or an error as the answer
inline constexpr int kBadUsage = 2;
inline constexpr int kUnreachable = 3;

// Why a tool cannot go on: its exit code, and a sentence that says what to do.
struct Trouble {
  int exit_code = kFailed;
  std::string message;
  std::string code = {};  // of the JSON-RPC error that is the reason, as it came; empty: none is
};

// All that a tool has to say.
struct ToolOutput {
  int exit_code = kHealthy;
  std::string out;  // stdout
  std::string err;  // stderr: whole lines

  void warn(std::string_view text);
  // Besides what is there; the worst exit code counts.
  void fail(const Trouble& trouble);
};
ToolOutput failure(const Trouble& trouble);
// "stdgate: message"
ToolOutput tool_error(int exit_code, const std::string& message);
ToolOutput tool_text(std::string text);
std::string joined(const std::vector<std::string>& words, std::string_view separator);
// The parts between the separators, as views of the text.
std::vector<std::string_view> split(std::string_view text, char separator);

// The file of the configuration, unless --config names another one.
inline constexpr std::string_view kUsualFile = "gateway.yaml";

struct ToolOption {
  std::string_view name;         // "--json"
  std::string_view placeholder;  // of its value; empty: it takes none
  std::string_view help;
};

// A tool's arguments, parsed.
struct ToolArguments {
  std::vector<std::pair<std::string, std::string>> options;  // as given; the last value counts
  std::vector<std::string> words;                            // beside options
  std::vector<std::string> backend_options;                  // as given, for parse_command_line()
  std::vector<std::string> command;                          // behind "--"
  bool has_command = false;

  [[nodiscard]] bool has(std::string_view option) const;
  // `otherwise`: it was not given.
  [[nodiscard]] std::string value(std::string_view option, std::string_view otherwise = {}) const;
  // The value of --timeout.
  [[nodiscard]] tl::expected<Duration, Trouble> timeout(Duration otherwise) const;
  // All values of an option that may be given several times.
  [[nodiscard]] std::vector<std::string> values(std::string_view option) const;
};

// Reads `arguments` as `stdgate` would: backend options, --config, the command.
app::CommandLine command_line_of(const ToolArguments& arguments);

// The configuration that `arguments` name: of the command behind "--", or of the file that --config
// names, else gateway.yaml. `backend`: for this one alone, so that variables that the rest of the
// file names need not be set; empty: for all. The error is one line or several, each with its end.
tl::expected<config::Config, std::string> config_of(const ToolArguments& arguments,
                                                    const ToolSurroundings& surroundings,
                                                    const std::string& backend = {});

// A word of the command line that serves nothing: a row of the list of tools.
struct Tool {
  std::string_view word;
  std::string_view arguments;  // of the line of `stdgate --help`
  std::string_view summary;    // the same
  std::string_view usage;      // lines, each "stdgate WORD …"
  std::string_view about;      // a paragraph or several
  std::span<const ToolOption> options;
  bool takes_backend_options = false;  // for the command behind "--": see `stdgate --help`
  ToolOutput (*run)(const ToolArguments& arguments, const ToolSurroundings& surroundings);
};

// The options of a tool, and those of a backend that it takes in front of a command.
std::vector<app::FlagSpec> options_of(const Tool& tool);

// All tools, in the order of --help.
std::span<const Tool> all_tools();
// The words of tools and those of the command line itself, in the order of --help.
std::vector<app::CommandWord> command_words();
// Null: no such tool.
const Tool* find_tool(std::string_view word);

// `arguments`: those behind the word. The error is one sentence.
tl::expected<ToolArguments, std::string> parse_tool_arguments(
    const Tool& tool, std::span<const std::string> arguments);

std::string help_of(const Tool& tool);

// Runs `stdgate WORD ARGUMENT…`.
ToolOutput run_tool(const Tool& tool, std::span<const std::string> arguments,
                    const ToolSurroundings& surroundings);

}  // namespace stdgate::tools

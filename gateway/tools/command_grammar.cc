#include "gateway/tools/command_grammar.h"

#include <algorithm>

#include "gateway/app/client_snippets.h"
#include "gateway/app/command_flags.h"
#include "gateway/tools/tool.h"

namespace stdgate::tools {

namespace {

GrammarOption option_of(const app::FlagSpec& flag) {
  return {flag.name, flag.placeholder, flag.help, flag.group, flag.words};
}

GrammarOption option_of(const ToolOption& option) {
  return {
      std::string(option.name), std::string(option.placeholder), std::string(option.help), {}, {}};
}

std::vector<GrammarOption> options_of(std::string_view word,
                                      const std::vector<app::FlagSpec>& flags) {
  std::vector<GrammarOption> options;
  const Tool* const tool = find_tool(word);
  if (tool != nullptr) {
    for (const ToolOption& option : tool->options) options.push_back(option_of(option));
  }
  const bool is_check = word == "check";
  if (is_check) {
    options.push_back({"--config", "FILE", "the configuration", {}, {}});
    options.push_back({"--as", "NAME[,ROLE...]", "what somebody may do by the rules", {}, {}});
    options.push_back({"--backend", "NAME", "with --as: at this one alone", {}, {}});
    options.push_back({"--json", {}, "with --as: for scripts", {}, {}});
  }
  for (const app::FlagSpec& flag : flags) {
    const bool is_of_backend = flag.scope == app::FlagScope::backend;
    if (!is_check && !(tool != nullptr && tool->takes_backend_options && is_of_backend)) continue;
    const auto known = std::ranges::find(options, flag.name, &GrammarOption::name);
    if (known == options.end()) options.push_back(option_of(flag));
  }
  if (word == "hash-key") options.push_back({"--new", {}, "make a key", {}, {}});
  options.push_back({"--help", {}, "print what is there", {}, {}});
  return options;
}

bool takes_backend(std::string_view word) {
  return word == "doctor" || word == "tools" || word == "call";
}

std::vector<std::string> operands_of(std::string_view word) {
  if (word == "config") return {"schema", "reference"};
  if (word == "audit") return {"verify"};
  if (word == "completion") return {"bash", "zsh", "fish"};
  if (word != "snippet") return {};
  const std::vector<std::string_view> clients = app::snippet_clients();
  return {clients.begin(), clients.end()};
}

}  // namespace

Grammar command_grammar() {
  const std::vector<app::FlagSpec> flags = app::command_flags();
  Grammar grammar;
  grammar.options = {{"--config", "FILE", "the configuration (gateway.yaml)", "General", {}},
                     {"--version", {}, "print the version", "General", {}},
                     {"--help", {}, "print what is there", "General", {}}};
  for (const app::FlagSpec& flag : flags) grammar.options.push_back(option_of(flag));
  for (const app::CommandWord& word : app::kCommandWords) {
    const auto known = std::ranges::find(grammar.words, word.word, &GrammarWord::word);
    if (known != grammar.words.end()) continue;
    grammar.words.push_back({std::string(word.word), std::string(word.about),
                             options_of(word.word, flags), operands_of(word.word),
                             word.word == "audit", takes_backend(word.word)});
  }
  return grammar;
}

// `stdgate man`: the manual page, made from what --help says.

namespace {

// Text as roff has it: nothing in it is a request, and hyphens are such.
std::string roff(std::string_view text) {
  std::string out;
  bool begins_line = true;
  for (const char c : text) {
    if (begins_line && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    begins_line = c == '\n';
  }
  return out;
}

std::string section(std::string_view title) { return ".SH " + std::string(title) + "\n"; }

// Lines as they are.
std::string example(std::string_view lines) {
  return ".PP\n.nf\n.RS\n" + roff(lines) + ".RE\n.fi\n";
}

std::string entry(std::string_view name, std::string_view placeholder, std::string_view help) {
  std::string text = ".TP\n\\fB" + roff(name) + "\\fR";
  if (!placeholder.empty()) text += " \\fI" + roff(placeholder) + "\\fR";
  return text + "\n" + roff(help) + "\n";
}

// Paragraphs, which empty lines separate.
std::string paragraphs(std::string_view text) {
  std::string out = ".PP\n";
  if (text.ends_with('\n')) text.remove_suffix(1);
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) {
      out += ".PP\n";
    } else if (line.front() == ' ') {
      out.append(".br\n").append(roff(line)) += '\n';
    } else {
      out += roff(line) + "\n";
    }
  }
  return out;
}

std::string commands(const Grammar& grammar) {
  std::string text = section("COMMANDS");
  for (const GrammarWord& word : grammar.words) {
    const Tool* const tool = find_tool(word.word);
    text.append(".SS ").append(roff(word.word)) += '\n';
    if (tool == nullptr) {
      text += paragraphs(app::word_help(word.word));
      continue;
    }
    text += example(tool->usage) + paragraphs(tool->about);
    for (const ToolOption& option : tool->options) {
      text += entry(option.name, option.placeholder, option.help);
    }
  }
  return text;
}

std::string options(const Grammar& grammar) {
  std::string text = section("OPTIONS");
  std::string_view group;
  for (const GrammarOption& option : grammar.options) {
    if (option.group != group) text.append(".SS ").append(roff(option.group)) += '\n';
    group = option.group;
    text += entry(option.name, option.placeholder, option.help);
  }
  return text;
}

constexpr std::string_view kHead =
    ".SH NAME\n"
    "stdgate \\- puts stdio JSON\\-RPC servers on the network\n"
    ".SH SYNOPSIS\n"
    ".B stdgate\n[\\fIoptions\\fR] \\fB\\-\\-\\fR \\fICOMMAND\\fR [\\fIARG\\fR...]\n"
    ".br\n.B stdgate\n[\\fIoptions\\fR] [\\fB\\-\\-config\\fR \\fIFILE\\fR]\n"
    ".br\n.B stdgate\n\\fIWORD\\fR ...\n"
    ".SH DESCRIPTION\n"
    "One process with one event loop connects HTTP and WebSocket clients to pools of child\n"
    "processes that speak JSON\\-RPC 2.0 on stdin and stdout, such as MCP servers and language\n"
    "servers.\n"
    "Options override the file; defaults stand in parentheses.\n";

constexpr std::string_view kTail =
    ".SH FILES\n"
    ".TP\n\\fIgateway.yaml\\fR\n"
    "The configuration, in the current directory. \\fBstdgate config reference\\fR explains its\n"
    "keys.\n"
    ".SH ENVIRONMENT\n"
    ".TP\n\\fBNO_COLOR\\fR\nIf it is not empty, nothing is coloured.\n"
    ".SH EXIT STATUS\n"
    "Of a gateway: 0 everything was finished, 1 it could not start, 2 command line or\n"
    "configuration, 3 calls were cut off at the end, 128 and the signal's number after a second\n"
    "signal. Of other commands as they say.\n";

// In roff, with the macros of man(7). `version`: of stdgate.
std::string manual_page(const Grammar& grammar, std::string_view version) {
  std::string text = ".TH STDGATE 1 \"\" \"stdgate " + std::string(version) + "\"\n";
  return text + std::string(kHead) + commands(grammar) + options(grammar) + std::string(kTail);
}

ToolOutput print_manual(const ToolArguments& arguments, const ToolSurroundings& surroundings) {
  if (!arguments.words.empty()) return tool_error(kBadUsage, "man takes no arguments");
  return tool_text(manual_page(command_grammar(), surroundings.version));
}

constexpr std::string_view kManUsage = "  stdgate man\n";
constexpr std::string_view kManAbout =
    "Prints the manual page, for man(1):\n"
    "\n"
    "  stdgate man | man -l -\n"
    "  stdgate man > /usr/local/share/man/man1/stdgate.1\n";

}  // namespace

extern const Tool kManTool{"man", kManUsage, kManAbout, {}, false, print_manual};

}  // namespace stdgate::tools

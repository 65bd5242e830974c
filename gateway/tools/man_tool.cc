// `stdgate man`: the manual page, made from what --help says.
#include <utility>

#include "gateway/app/command_flags.h"
#include "gateway/tools/tool.h"

namespace stdgate::tools {

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

std::string commands() {
  std::string text = section("COMMANDS");
  std::string_view former;  // a word may have several lines in --help
  for (const app::CommandWord& word : command_words()) {
    if (word.word == std::exchange(former, word.word)) continue;
    text.append(".SS ").append(roff(word.word)) += '\n';
    const Tool* const tool = find_tool(word.word);
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

std::string options() {
  std::string text = section("OPTIONS") + ".SS General\n" +
                     entry("--config", "FILE", "the configuration (gateway.yaml)") +
                     entry("--version", "", "print the version") +
                     entry("--help", "", "print what is there");
  std::string group;
  for (const app::FlagSpec& flag : app::command_flags()) {
    if (flag.group != group) text.append(".SS ").append(roff(flag.group)) += '\n';
    group = flag.group;
    text += entry(flag.name, flag.placeholder, flag.help);
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
std::string manual_page(std::string_view version) {
  std::string text = ".TH STDGATE 1 \"\" \"stdgate " + std::string(version) + "\"\n";
  return text + std::string(kHead) + commands() + options() + std::string(kTail);
}

ToolOutput print_manual(const ToolArguments& arguments, const ToolSurroundings& surroundings) {
  if (!arguments.words.empty()) return tool_error(kBadUsage, "man takes no arguments");
  return tool_text(manual_page(surroundings.version));
}

constexpr std::string_view kManUsage = "  stdgate man\n";
constexpr std::string_view kManAbout =
    "Prints the manual page, for man(1):\n"
    "\n"
    "  stdgate man | man -l -\n"
    "  stdgate man > /usr/local/share/man/man1/stdgate.1\n";

}  // namespace

extern const Tool kManTool{"man", "",          "print the manual page", kManUsage, kManAbout, {},
                           false, print_manual};

}  // namespace stdgate::tools

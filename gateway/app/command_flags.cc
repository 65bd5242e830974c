// The flags of the options, and what the helps say.
#include "gateway/app/command_flags.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "gateway/config/options/option_info.h"
#include "gateway/config/value_names.h"

namespace stdgate::app {

namespace {

using Kind = config::OptionInfo::Kind;

constexpr std::string_view kUsage =
    "Puts stdio JSON-RPC servers on the network.\n"
    "\n"
    "Usage:\n"
    "  stdgate [options] -- COMMAND [ARG...]  serve one command\n"
    "  stdgate [options] [--config FILE]      serve what FILE says\n";
constexpr std::string_view kRules =
    "\n"
    "Options override FILE; defaults stand in parentheses. Those under Backend and\n"
    "Pool go with a COMMAND: a file has them, and more, for each of its backends.\n";
constexpr std::string_view kExamples =
    "Examples:\n"
    "  stdgate --protocol jsonrpc -- stdgate demo-server\n"
    "  curl --json '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"math/add\",\"params\":[1,2]}' \\\n"
    "    http://127.0.0.1:8080/rpc\n"
    "  stdgate -- npx -y @modelcontextprotocol/server-everything\n"
    "  stdgate --min 1 --max 4 --timeout 30s --env LOG_LEVEL=debug -- ./my-server\n"
    "  stdgate --env GITHUB_TOKEN -- \\\n"
    "    docker run -i --rm -e GITHUB_TOKEN ghcr.io/github/github-mcp-server\n"
    "  stdgate check --config gateway.yaml\n";

constexpr size_t kHelpColumn = 28;
constexpr size_t kWordColumn = 41;
constexpr size_t kColumns = 80;

FlagShape shape_of(const config::OptionInfo& option) {
  switch (option.kind) {
    case Kind::boolean:
      return config::text_of(option.default_value) == "true" ? FlagShape::no : FlagShape::yes;
    case Kind::texts:
    case Kind::files:
    case Kind::inherited:
    case Kind::addresses:
    case Kind::numbers:
    case Kind::command:
      return FlagShape::list;
    case Kind::variables:
      return FlagShape::pairs;
    default:
      return FlagShape::text;
  }
}

std::string placeholder_of(const config::OptionInfo& option) {
  if (!option.flag.placeholder.empty()) return std::string(option.flag.placeholder);
  switch (option.kind) {
    case Kind::boolean:
      return {};
    case Kind::count:
      return "N";
    case Kind::size:
      return "SIZE";
    case Kind::duration:
      return "TIME";
    default:
      break;
  }
  std::string capitals = option.key;
  for (char& c : capitals) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return capitals;
}

// "what the child speaks: jsonrpc, mcp or lsp (mcp)"
std::string help_of(const config::OptionInfo& option, FlagShape shape) {
  std::string text(option.flag.help.empty() ? option.help : option.flag.help);
  for (size_t i = 0; i < option.words.size(); ++i) {
    text += i == 0 ? ": " : i + 1 == option.words.size() ? " or " : ", ";
    text += option.words[i];
  }
  if (shape == FlagShape::list || shape == FlagShape::pairs) text += "; repeatable";
  if (shape == FlagShape::yes || shape == FlagShape::no) return text;
  if (option.kind == Kind::inherited) return text;  // its default has a paragraph of its own
  const std::string value =
      option.default_words.empty() ? config::text_of(option.default_value) : option.default_words;
  return value.empty() ? text : text + " (" + value + ")";
}

FlagSpec flag_of(const config::OptionInfo& option, const std::string& group) {
  FlagSpec flag;
  flag.name = option.flag.name;
  flag.shape = shape_of(option);
  flag.path = option.path;
  flag.placeholder = placeholder_of(option);
  flag.help = help_of(option, flag.shape);
  flag.group = group;
  flag.words.assign(option.words.begin(), option.words.end());
  if (option.path.size() > 2 && option.path[0] == "backends") {
    flag.scope = FlagScope::backend;
    flag.path.erase(flag.path.begin(), flag.path.begin() + 2);
  }
  return flag;
}

void append_flags(const config::OptionInfo& section, std::vector<FlagSpec>& out) {
  if (section.kind == Kind::backends) {
    out.push_back({kNameFlag,
                   FlagScope::backend,
                   FlagShape::text,
                   {},
                   "NAME",
                   "in paths, metrics and logs; without it the name of the server in COMMAND",
                   section.title});
  }
  for (const config::OptionInfo& option : section.options) {
    if (!option.flag.name.empty()) out.push_back(flag_of(option, section.title));
  }
  for (const config::OptionInfo& option : section.options) append_flags(option, out);
}

// `text` in the column of help.
std::string help_line(const std::string& left, std::string_view text) {
  std::string line = "  " + left;
  if (line.size() + 2 > kHelpColumn) {
    line += "\n" + std::string(kHelpColumn, ' ');
  } else {
    line.resize(kHelpColumn, ' ');
  }
  return line + wrapped(text, kHelpColumn, kHelpColumn);
}

// "  stdgate check [options] [...]          validate, print the whole configuration"
std::string words_text(std::span<const CommandWord> words) {
  std::string text;
  for (const CommandWord& word : words) {
    std::string line = "  stdgate " + std::string(word.word);
    if (!word.arguments.empty()) line.append(" ").append(word.arguments);
    line.resize(std::max(line.size() + 2, kWordColumn), ' ');
    text.append(line).append(word.about) += '\n';
  }
  return text;
}

std::string inherited_text() {
  const config::BackendConfig defaults;
  const std::string names = config::text_of(defaults.env_inherit);
  return "Of stdgate's environment a child gets\n  " + wrapped(names, 2, 2) +
         "and what --env, --env-file and --env-inherit name, nothing else.\n";
}

}  // namespace

std::string wrapped(std::string_view text, size_t column, size_t used) {
  std::string lines;
  while (text.size() > kColumns - used) {
    size_t end = text.rfind(' ', kColumns - used);
    if (end == std::string_view::npos || end == 0) end = std::min(text.find(' '), text.size());
    lines.append(text.substr(0, end)).append("\n").append(column, ' ');
    text.remove_prefix(std::min(end + 1, text.size()));
    used = column;
  }
  return lines.append(text).append("\n");
}

std::vector<FlagSpec> command_flags() {
  std::vector<FlagSpec> flags;
  append_flags(config::describe_options(), flags);
  return flags;
}

std::string help_text(const std::vector<FlagSpec>& flags, std::span<const CommandWord> words) {
  std::string text =
      std::string(kUsage) + words_text(words) + std::string(kRules) + "\nGeneral:\n" +
      help_line("-c, --config FILE", "the configuration (gateway.yaml)") +
      help_line("-V, --version", "print the version") +
      help_line("-h, --help", "print this help; after a command word, the help of that command");
  std::string_view group;
  for (const FlagSpec& flag : flags) {
    if (flag.group != group) text += "\n" + flag.group + ":\n";
    group = flag.group;
    const std::string space = flag.placeholder.empty() ? "" : " ";
    text += help_line(flag.name + space + flag.placeholder, flag.help);
  }
  return text + "\n" + inherited_text() + "\n" + std::string(kExamples);
}

namespace {

// A text that can be pasted into a shell.
std::string shell_quote(const std::string& word) {
  if (!word.empty() && word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                              "0123456789_@%+=:,./-") == std::string::npos) {
    return word;
  }
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace

std::vector<std::string_view> names_of(const std::vector<FlagSpec>& flags,
                                       std::vector<std::string_view> more) {
  for (const FlagSpec& spec : flags) more.emplace_back(spec.name);
  return more;
}

std::string unknown_option_text(const std::vector<std::string_view>& names, const std::string& word,
                                const std::string& help) {
  const auto nearest = config::nearest_word(word.substr(0, word.find('=')), names);
  return "unknown option " + word + "; " +
         (nearest ? "did you mean " + std::string(*nearest) + "?" : help + " lists the options");
}

std::string unknown_text(const std::vector<FlagSpec>& flags, std::span<const CommandWord> words,
                         const std::vector<std::string>& ours,
                         const std::vector<std::string>& unknown) {
  const std::string& word = unknown.front();
  if (word.starts_with('-')) return unknown_option_text(names_of(flags), word);
  std::string before = "stdgate";
  for (size_t i = 0; i + unknown.size() < ours.size(); ++i) before += " " + shell_quote(ours[i]);
  std::string after;
  for (const std::string& argument : unknown) after += " " + shell_quote(argument);

  const std::string intro = "unknown command '" + word + "'; ";
  const bool is_first = unknown.size() == ours.size();
  std::vector<std::string_view> known(words.size());
  std::ranges::transform(words, known.begin(), &CommandWord::word);
  const auto nearest = config::nearest_word(word, known);
  if (is_first && nearest) {
    return intro + "did you mean '" + std::string(*nearest) + "'?";
  }
  if (word.ends_with(".yaml") || word.ends_with(".yml")) {
    return intro + "a file needs its option: " + before + " --config" + after;
  }
  return intro + "to serve it, put -- in front: " + before + " --" + after;
}

std::optional<std::string> find_short_spelling(const std::vector<FlagSpec>& flags,
                                               const std::vector<std::string>& arguments) {
  const std::vector<std::string_view> names = names_of(flags);
  for (const std::string& argument : arguments) {
    if (!argument.starts_with('-') || argument.starts_with("--")) continue;
    const std::string name = "-" + argument.substr(0, argument.find('='));
    if (std::find(names.begin(), names.end(), name) != names.end()) return argument;
  }
  return std::nullopt;
}

namespace {

constexpr std::string_view kCheckHelp =
    "Validates a configuration and prints it with every default; serves nothing.\n"
    "\n"
    "Usage:\n"
    "  stdgate check [options] [--config FILE]      the file (gateway.yaml)\n"
    "  stdgate check [options] -- COMMAND [ARG...]  the flags of one command\n"
    "  stdgate check --as NAME[,ROLE...]            what somebody may do by the rules\n"
    "                [--backend NAME] [--json]      (anonymous: without an identity)\n"
    "  stdgate check --against FILE                 what a reload would change of a\n"
    "                                               gateway that runs with FILE\n"
    "\n"
    "All errors are told at once on stderr, each with its place. What is printed on\n"
    "stdout is a configuration again; secrets in it are ***hidden***. Files of\n"
    "variables are read, commands are not started, and addresses are not opened.\n"
    "\n"
    "Exit code: 0 valid, 2 not. The options are those of stdgate --help.\n";

constexpr std::string_view kDemoServerHelp =
    "A JSON-RPC server on stdin and stdout, one message a line, to try stdgate with.\n"
    "\n"
    "Usage:\n"
    "  stdgate demo-server\n"
    "\n"
    "It takes no options, and ends at the end of its input. The method `methods`\n"
    "lists what it can do:\n"
    "  echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"methods\"}' | stdgate demo-server\n"
    "Behind stdgate:\n"
    "  stdgate --protocol jsonrpc -- stdgate demo-server\n";

constexpr std::string_view kHashKeyHelp =
    "Makes an API key and its hash for `auth.api_keys`, or hashes the key on stdin.\n"
    "\n"
    "Usage:\n"
    "  stdgate hash-key              on a terminal: makes a key\n"
    "  stdgate hash-key --new        the same anywhere\n"
    "  stdgate hash-key < FILE       prints the hash of the key in FILE\n"
    "\n"
    "A key has 16 to 256 visible characters. Who holds it may call; the hash is worth\n"
    "nothing to others.\n";

constexpr std::string_view kConfigHelp =
    "Prints what a configuration may say; reads none, and serves nothing.\n"
    "\n"
    "Usage:\n"
    "  stdgate config schema       its JSON Schema, for editors\n"
    "  stdgate config reference    every key, its default and its range, as Markdown\n"
    "\n"
    "stdgate check says whether a configuration is valid, and what it comes to.\n";

constexpr std::string_view kAuditHelp =
    "Says whether an audit is as it was written: no line changed, taken out, moved or\n"
    "invented.\n"
    "\n"
    "Usage:\n"
    "  stdgate audit verify FILE...    the oldest file first\n"
    "\n"
    "Compressed files are given as they were: audit verify <(zcat OLD.gz) FILE.\n"
    "Lines taken from the very end do not show: compare the number and the digest of\n"
    "the last line, which are printed, with those that are kept elsewhere.\n"
    "\n"
    "Exit code: 0 as it was written, 1 not, 2 usage, or a file that cannot be read.\n";

constexpr std::string_view kVersionHelp =
    "Prints the version.\n"
    "\n"
    "Usage:\n"
    "  stdgate version\n";

constexpr std::string_view kHelpHelp =
    "Prints what stdgate can do. Behind a word, --help explains it.\n"
    "\n"
    "Usage:\n"
    "  stdgate help\n"
    "  stdgate WORD --help\n";

constexpr std::array kOwnWords{
    CommandWord{"check", "[options] [...]", "validate a configuration, and print it"},
    CommandWord{"config", "schema", "print the JSON Schema of FILE"},
    CommandWord{"config", "reference", "print what the keys of FILE mean"},
    CommandWord{"hash-key", "", "make an API key, or hash one on stdin"},
    CommandWord{"audit", "verify FILE...", "check that nobody has changed an audit"},
    CommandWord{"demo-server", "", "run a small JSON-RPC server, for trials"},
    CommandWord{"version", "", "print the version"},
    CommandWord{"help", "", "print this"},
};

struct WordHelp {
  std::string_view word;
  std::string_view text;
};

constexpr std::array kHelps{
    WordHelp{"check", kCheckHelp},
    WordHelp{"config", kConfigHelp},
    WordHelp{"hash-key", kHashKeyHelp},
    WordHelp{"audit", kAuditHelp},
    WordHelp{"demo-server", kDemoServerHelp},
    WordHelp{"version", kVersionHelp},
    WordHelp{"help", kHelpHelp},
};

}  // namespace

std::span<const CommandWord> own_words() { return kOwnWords; }

std::string_view word_help(std::string_view word) {
  const auto found = std::ranges::find(kHelps, word, &WordHelp::word);
  return found == kHelps.end() ? std::string_view() : found->text;
}

}  // namespace stdgate::app

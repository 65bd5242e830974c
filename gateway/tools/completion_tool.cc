// `stdgate completion`: scripts for shells, and what these offer for the word at the cursor.
#include <algorithm>
#include <array>
#include <utility>

#include "gateway/app/client_snippets.h"
#include "gateway/app/command_flags.h"
#include "gateway/config/backend_facts.h"
#include "gateway/config/config_files.h"
#include "gateway/config/config_ranges.h"
#include "gateway/tools/client_import.h"
#include "gateway/tools/tool.h"

namespace stdgate::tools {

namespace {

// --- The scripts, which ask this program -----------------------------------------------------

constexpr std::string_view kBash =
    R"sh(# bash completion for stdgate: source <(stdgate completion bash)
_stdgate() {
  local current=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]/#\~/$HOME} at offer offers
  COMPREPLY=()
  for ((at = 1; at < COMP_CWORD; ++at)); do
    if [[ ${COMP_WORDS[at]} == -- ]]; then  # the command behind it
      if declare -F _command_offset >/dev/null; then
        _command_offset $((at + 1))
      elif ((at + 1 == COMP_CWORD)); then
        mapfile -t COMPREPLY < <(compgen -c -- "$current")
      else
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
      fi
      return
    fi
  done
  type -P "$program" >/dev/null || program=stdgate  # it is an alias
  mapfile -t offers < <("$program" completion offers -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  if [[ ${offers[0]} == :files ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
    return
  fi
  for offer in "${offers[@]}"; do
    offer=${offer%%$'\t'*}
    [[ $offer == "$current"* ]] && COMPREPLY+=("$offer")
  done
}
complete -o default -F _stdgate stdgate
)sh";

constexpr std::string_view kZsh = R"sh(#compdef stdgate
_stdgate() {
  local -i at=${words[(i)--]}
  if (( at < CURRENT )); then  # the command behind it
    words=("${(@)words[at+1,-1]}")
    (( CURRENT -= at ))
    _normal
    return
  fi
  local program=${words[1]/#\~/$HOME}
  whence -p "$program" >/dev/null || program=stdgate  # it is an alias
  local -a offers=("${(@f)$("$program" completion offers -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ $offers[1] == :files ]]; then
    _files
  elif [[ -n $offers[1] ]]; then
    offers=("${(@)offers/$'\t'/:}")
    _describe offer offers
  fi
}
_stdgate "$@"
)sh";

constexpr std::string_view kFish = R"sh(# fish completion for stdgate
function __stdgate_offers
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -l program (string replace -r '^~' "$HOME" -- $words[1])
  type -q "$program"; or set program stdgate  # it is an alias
  set -l offers ("$program" completion offers -- $words[2..] "$current" 2>/dev/null)
  if test "$offers[1]" = :files
    __fish_complete_path "$current"
  else
    string join -- \n $offers
  end
end
complete -c stdgate -f -a '(__stdgate_offers)'
)sh";

// --- What may stand in a place ---------------------------------------------------------------

// The shell offers files: no word begins so.
constexpr std::string_view kFiles = ":files\n";

std::string offer(std::string_view word, std::string_view help = {}) {
  return std::string(word).append("\t").append(help).append("\n");
}

template <class Words>
std::string offers_of(const Words& words) {
  std::string text;
  for (const auto& word : words) text += offer(word);
  return text;
}

// The file may be incomplete, as it may be under edit.
std::vector<std::string> backends_of(const std::string& file) {
  return config::backend_names(
      config::read_text_file(file, config::kMaxConfigFile).value_or(std::string()));
}

// `word`: empty for a command line without one.
std::vector<app::FlagSpec> options_behind(std::string_view word) {
  const Tool* const tool = find_tool(word);
  std::vector<app::FlagSpec> options =
      tool == nullptr ? std::vector<app::FlagSpec>() : options_of(*tool);
  const auto add = [&options](std::string_view name, std::string_view placeholder,
                              std::string_view help) {
    app::FlagSpec& option = options.emplace_back();
    option.name = name;
    option.placeholder = placeholder;
    option.help = help;
  };
  const bool is_check = word == "check";
  if (is_check) {
    add("--as", "NAME[,ROLE...]", "what somebody may do by the rules");
    add("--backend", "NAME", "with --as: at this one alone");
    add("--json", "", "with --as: for scripts");
    add("--against", "FILE", "what a reload would change");
  }
  const bool takes_all = is_check || word.empty();
  if (takes_all) add("--config", "FILE", "the configuration (gateway.yaml)");
  if (word.empty()) add("--version", "", "print the version");
  if (word == "hash-key") add("--new", "", "make a key");
  add("--help", "", "print what is there");
  const std::vector<app::FlagSpec> flags = app::command_flags();
  if (takes_all) options.insert(options.end(), flags.begin(), flags.end());
  return options;
}

std::string values_of(const app::FlagSpec& option, const std::string& file) {
  if (option.placeholder == "FILE" || option.placeholder == "DIR") return std::string(kFiles);
  return offers_of(option.name == "--backend" ? backends_of(file) : option.words);
}

// For a shell that completes `--option=value` as one word.
std::string values_behind(const std::string& name, const std::vector<app::FlagSpec>& options,
                          const std::string& file) {
  const auto option = std::ranges::find(options, name, &app::FlagSpec::name);
  if (option == options.end() || option->placeholder.empty()) return {};
  std::vector<std::string> values = option->words;
  if (name == "--backend") values = backends_of(file);
  for (std::string& value : values) value.insert(0, name + "=");
  return offers_of(values);
}

// Words that may stand behind `word`, of which one is enough.
std::vector<std::string> operands_of(std::string_view word, const std::string& file) {
  if (word == "config") return {"schema", "reference"};
  if (word == "audit") return {"verify"};
  if (word == "completion") return {"bash", "zsh", "fish"};
  if (word == "doctor" || word == "tools" || word == "call") return backends_of(file);
  std::vector<std::string> clients;
  if (word == "snippet") {
    for (const std::string_view client : app::snippet_clients()) clients.emplace_back(client);
  }
  if (word == "adopt") {
    for (const AdoptedClient& client : adopted_clients()) clients.emplace_back(client.word);
  }
  return clients;
}

std::string file_in(const std::vector<std::string>& words) {
  const auto option = std::ranges::find(words, "--config");
  return option == words.end() || option + 1 == words.end() ? std::string(kUsualFile) : option[1];
}

// What may stand in the place of the last word, whatever has been typed of it.
std::string offers_for(std::vector<std::string> words) {
  std::string current = std::move(words.back());
  words.pop_back();
  std::erase(words, "=");  // bash makes three words of --config=FILE
  const std::string file = file_in(words);
  std::string word = words.empty() ? std::string() : words.front();
  const std::vector<app::CommandWord> known = command_words();
  if (std::ranges::find(known, word, &app::CommandWord::word) == known.end()) word.clear();
  const std::vector<app::FlagSpec> options = options_behind(word);
  if (!words.empty()) {
    const auto option = std::ranges::find(options, words.back(), &app::FlagSpec::name);
    if (option != options.end() && !option->placeholder.empty()) return values_of(*option, file);
  }
  std::string text;
  if (const size_t equals = current.find('='); equals != std::string::npos) {
    return values_behind(current.substr(0, equals), options, file);
  }
  if (current.starts_with('-')) {
    for (const app::FlagSpec& option : options) text += offer(option.name, option.help);
  } else if (words.empty()) {
    for (const app::CommandWord& one : known) text += offer(one.word, one.about);
  } else if (const auto operands = operands_of(word, file);
             std::ranges::find_first_of(operands, words) == operands.end()) {
    text = offers_of(operands);
  } else if (word == "audit") {
    text = kFiles;
  }
  return text;
}

// --- The word --------------------------------------------------------------------------------

constexpr std::array kCompletionOptions{
    ToolOption{"--config", "FILE", "of which `completion backends` prints the names"},
};
constexpr std::string_view kCompletionUsage =
    "  stdgate completion bash|zsh|fish\n"
    "  stdgate completion backends            the names of backends\n"
    "  stdgate completion offers -- WORD...   for the scripts: what may be the last\n";
constexpr std::string_view kCompletionAbout =
    "Prints a script with which a shell completes stdgate's command line.\n"
    "\n"
    "  bash: echo 'source <(stdgate completion bash)' >> ~/.bashrc\n"
    "  zsh:  stdgate completion zsh > ~/.zfunc/_stdgate   (a folder of $fpath)\n"
    "  fish: stdgate completion fish > ~/.config/fish/completions/stdgate.fish\n";

std::string backend_lines(const std::string& file) {
  std::string text;
  for (const std::string& name : backends_of(file)) text += name + "\n";
  return text;
}

ToolOutput complete(const ToolArguments& arguments, const ToolSurroundings& /*surroundings*/) {
  const std::string what = arguments.words.size() == 1 ? arguments.words[0] : std::string();
  if (what == "offers" && arguments.has_command) return tool_text(offers_for(arguments.command));
  if (what == "bash") return tool_text(std::string(kBash));
  if (what == "zsh") return tool_text(std::string(kZsh));
  if (what == "fish") return tool_text(std::string(kFish));
  if (what == "backends") return tool_text(backend_lines(arguments.value("--config", kUsualFile)));
  return tool_error(kBadUsage, "completion: expected bash, zsh or fish");
}

}  // namespace

extern const Tool kCompletionTool{"completion",
                                  "bash|zsh|fish",
                                  "print a completion script for a shell",
                                  kCompletionUsage,
                                  kCompletionAbout,
                                  kCompletionOptions,
                                  false,
                                  complete};

}  // namespace stdgate::tools

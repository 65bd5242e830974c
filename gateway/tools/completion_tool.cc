// `stdgate completion`: scripts for shells, which complete stdgate's command line.
#include <array>
#include <map>
#include <utility>

#include "gateway/config/backend_facts.h"
#include "gateway/config/config_files.h"
#include "gateway/config/config_ranges.h"
#include "gateway/tools/command_grammar.h"
#include "gateway/tools/tool.h"

namespace stdgate::tools {

namespace {

std::string spaced(const std::vector<std::string>& words) { return joined(words, " "); }

// In single quotes of a shell.
std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string option_names(const std::vector<GrammarOption>& options) {
  std::vector<std::string> names;
  names.reserve(options.size());
  for (const GrammarOption& option : options) names.push_back(option.name);
  return spaced(names);
}

// Every option that takes a value, each once.
std::map<std::string, GrammarOption> value_options(const Grammar& grammar) {
  std::map<std::string, GrammarOption> options;
  const auto add = [&options](const std::vector<GrammarOption>& some) {
    for (const GrammarOption& option : some) {
      if (!option.placeholder.empty()) options.emplace(option.name, option);
    }
  };
  add(grammar.options);
  for (const GrammarWord& word : grammar.words) add(word.options);
  return options;
}

constexpr std::string_view kBashHead =
    R"sh(# bash completion for stdgate: source <(stdgate completion bash)
# The backends of gateway.yaml, or of what --config names.
_stdgate_backends() {
  local at file= names=()
  for ((at = 1; at < ${#COMP_WORDS[@]}; ++at)); do
    [[ ${COMP_WORDS[at]} == --config ]] || continue
    file=${COMP_WORDS[at+1]}
    [[ $file == = ]] && file=${COMP_WORDS[at+2]}
  done
  mapfile -t names < <("${COMP_WORDS[0]}" completion backends ${file:+--config "$file"} 2>/dev/null)
  echo "${names[*]}"
}
_stdgate() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} word=${COMP_WORDS[1]} at
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
  case $previous in
)sh";
constexpr std::string_view kBashTail = R"sh(  for ((at = 2; at < COMP_CWORD; ++at)); do
    [[ " $operands " == *" ${COMP_WORDS[at]} "* ]] && operands=  # it stands there
  done
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -W "$operands" -- "$current")
  fi
}
complete -o default -F _stdgate stdgate
)sh";

// The values of an option, as one line of `case $previous`.
std::string bash_value(const GrammarOption& option) {
  std::string offered = ":";
  if (!option.words.empty()) offered = "-W " + in_quotes(spaced(option.words));
  if (option.takes_file()) offered = "-f";
  if (option.takes_backend()) offered = "-W \"$(_stdgate_backends)\"";
  const bool is_known = offered != ":";
  return "    " + option.name + ") " +
         (is_known ? "mapfile -t COMPREPLY < <(compgen " + offered + " -- \"$current\")"
                   : offered) +
         "; return ;;\n";
}

// The options and operands of a word, as one line of `case $word`.
std::string bash_word(const GrammarWord& word) {
  return "    " + word.word + ") options=" + in_quotes(option_names(word.options)) + " operands=" +
         (word.takes_backend ? "$(_stdgate_backends)" : in_quotes(spaced(word.operands))) + " ;;\n";
}

// [, ] and : mean something in a specification of _arguments.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

constexpr std::string_view kZshBackends = "($(\"${words[1]}\" completion backends 2>/dev/null))";

std::string zsh_option(const GrammarOption& option) {
  std::string text = option.name + "[" + zsh_text(option.help) + "]";
  if (option.placeholder.empty()) return in_quotes(text);
  text += ":" + zsh_text(option.placeholder) + ":";
  if (!option.words.empty()) text += "(" + spaced(option.words) + ")";
  if (option.takes_file()) text += "_files";
  if (option.takes_backend()) text += kZshBackends;
  return in_quotes(text);
}

std::string zsh_word(const GrammarWord& word) {
  std::string text = "    " + word.word + ") _arguments";
  for (const GrammarOption& option : word.options) {
    text.append(" \\\n      ").append(zsh_option(option));
  }
  if (!word.operands.empty()) {
    text += " \\\n      " + in_quotes("2:operand:(" + spaced(word.operands) + ")");
  }
  if (word.takes_files) text += " \\\n      '*:file:_files'";
  if (word.takes_backend) {
    text += " \\\n      " + in_quotes("2:backend:" + std::string(kZshBackends));
  }
  return text + " ;;\n";
}

constexpr std::string_view kFishBackends = "(stdgate completion backends 2>/dev/null)";

std::string fish_option(const std::string& condition, const GrammarOption& option) {
  std::string text = "complete -c stdgate -n " + in_quotes(condition) + " -l " +
                     option.name.substr(2) + " -d " + in_quotes(option.help);
  if (option.placeholder.empty()) return text + "\n";
  text += option.takes_file() ? " -r -F" : " -x";
  if (!option.words.empty()) text += " -a " + in_quotes(spaced(option.words));
  if (option.takes_backend()) text += " -a " + in_quotes(kFishBackends);
  return text + "\n";
}

std::string fish_word(const GrammarWord& word) {
  const std::string condition = "__fish_seen_subcommand_from " + word.word;
  std::string text;
  for (const GrammarOption& option : word.options) text += fish_option(condition, option);
  if (word.takes_backend) {
    text +=
        "complete -c stdgate -n " + in_quotes(condition) + " -a " + in_quotes(kFishBackends) + "\n";
  }
  if (word.operands.empty()) return text;
  const std::string operands = spaced(word.operands);
  const std::string seen = "; and __fish_seen_subcommand_from " + operands;
  text += "complete -c stdgate -n " + in_quotes(condition + "; and not" + seen.substr(5)) + " -a " +
          in_quotes(operands) + "\n";
  if (word.takes_files) text += "complete -c stdgate -n " + in_quotes(condition + seen) + " -F\n";
  return text;
}

std::string bash_completion(const Grammar& grammar) {
  std::string text(kBashHead);
  for (const auto& [name, option] : value_options(grammar)) text += bash_value(option);
  text += "  esac\n  local options= operands=\n  ((COMP_CWORD > 1)) && case $word in\n";
  std::vector<std::string> words;
  for (const GrammarWord& word : grammar.words) {
    words.push_back(word.word);
    text += bash_word(word);
  }
  text += "  esac\n  if [[ -z $options ]]; then\n    options=" +
          in_quotes(option_names(grammar.options)) +
          "\n    ((COMP_CWORD == 1)) && operands=" + in_quotes(spaced(words)) + "\n  fi\n";
  return text + std::string(kBashTail);
}

std::string zsh_completion(const Grammar& grammar) {
  std::string text =
      "#compdef stdgate\n"
      "_stdgate() {\n"
      "  local -i at=${words[(i)--]}\n"
      "  if (( at < CURRENT )); then  # the command behind it\n"
      "    words=(\"${(@)words[at+1,-1]}\")\n"
      "    (( CURRENT -= at ))\n"
      "    _normal\n"
      "    return\n"
      "  fi\n"
      "  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
      "    local -a commands=(\n";
  for (const GrammarWord& word : grammar.words) {
    text.append("      ").append(in_quotes(word.word + ":" + word.about)) += '\n';
  }
  text += "    )\n    _describe command commands\n    return\n  fi\n  case $words[2] in\n";
  for (const GrammarWord& word : grammar.words) {
    text += zsh_word(word);
  }
  text += "    *) _arguments";
  for (const GrammarOption& option : grammar.options) {
    text.append(" \\\n      ").append(zsh_option(option));
  }
  return text + " ;;\n  esac\n}\n_stdgate \"$@\"\n";
}

std::string fish_completion(const Grammar& grammar) {
  std::string text =
      "# fish completion for stdgate\n"
      "complete -c stdgate -f\n";
  for (const GrammarWord& word : grammar.words) {
    text.append("complete -c stdgate -n __fish_use_subcommand -a ").append(word.word);
    text.append(" -d ").append(in_quotes(word.about)) += '\n';
  }
  for (const GrammarOption& option : grammar.options) {
    text += fish_option("__fish_use_subcommand", option);
  }
  for (const GrammarWord& word : grammar.words) {
    text += fish_word(word);
  }
  return text;
}

constexpr std::array kCompletionOptions{
    ToolOption{"--config", "FILE", "of which `completion backends` prints the names"},
};
constexpr std::string_view kCompletionUsage =
    "  stdgate completion bash|zsh|fish\n"
    "  stdgate completion backends   the names of backends, for the scripts\n";
constexpr std::string_view kCompletionAbout =
    "Prints a script with which a shell completes stdgate's command line.\n"
    "\n"
    "  bash: echo 'source <(stdgate completion bash)' >> ~/.bashrc\n"
    "  zsh:  stdgate completion zsh > ~/.zfunc/_stdgate   (a folder of $fpath)\n"
    "  fish: stdgate completion fish > ~/.config/fish/completions/stdgate.fish\n";

// For the scripts themselves; the file may be incomplete, as it may be under edit.
ToolOutput print_backends(const ToolArguments& arguments) {
  const auto yaml =
      config::read_text_file(arguments.value("--config", kUsualFile), config::kMaxConfigFile);
  std::string text;
  for (const std::string& name : config::backend_names(yaml.value_or(std::string()))) {
    text += name + "\n";
  }
  return tool_text(std::move(text));
}

ToolOutput complete(const ToolArguments& arguments, const ToolSurroundings& /*surroundings*/) {
  const std::string shell = arguments.words.size() == 1 ? arguments.words[0] : std::string();
  if (shell == "bash") return tool_text(bash_completion(command_grammar()));
  if (shell == "zsh") return tool_text(zsh_completion(command_grammar()));
  if (shell == "fish") return tool_text(fish_completion(command_grammar()));
  if (shell == "backends") return print_backends(arguments);
  return tool_error(kBadUsage, "completion: expected bash, zsh or fish");
}

}  // namespace

extern const Tool kCompletionTool{
    "completion", kCompletionUsage, kCompletionAbout, kCompletionOptions, false, complete};

}  // namespace stdgate::tools

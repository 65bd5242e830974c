#include "gateway/tools/command_grammar.h"

#include <algorithm>

#include "gateway/app/client_snippets.h"
#include "gateway/app/command_flags.h"
#include "gateway/app/command_words.h"
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

}  // namespace stdgate::tools

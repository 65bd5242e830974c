#include "gateway/app/command_mistakes.h"

#include <algorithm>
#include <string_view>

#include "gateway/app/command_words.h"
#include "gateway/config/nearest_word.h"

namespace stdgate::app {
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

// `flags` must outlive them.
std::vector<std::string_view> names_of(const std::vector<FlagSpec>& flags) {
  std::vector<std::string_view> names{"--config", "--help", "--version"};
  for (const FlagSpec& spec : flags) names.emplace_back(spec.name);
  return names;
}

}  // namespace

std::string unknown_option_text(const std::vector<FlagSpec>& flags, const std::string& word) {
  const auto nearest = config::nearest_word(word.substr(0, word.find('=')), names_of(flags));
  return "unknown option " + word + "; " +
         (nearest ? "did you mean " + std::string(*nearest) + "?"
                  : "stdgate --help lists the options");
}

std::string unknown_text(const std::vector<FlagSpec>& flags, const std::vector<std::string>& ours,
                         const std::vector<std::string>& unknown) {
  const std::string& word = unknown.front();
  if (word.starts_with('-')) return unknown_option_text(flags, word);
  std::string before = "stdgate";
  for (size_t i = 0; i + unknown.size() < ours.size(); ++i) before += " " + shell_quote(ours[i]);
  std::string after;
  for (const std::string& argument : unknown) after += " " + shell_quote(argument);

  const std::string intro = "unknown command '" + word + "'; ";
  const bool is_first = unknown.size() == ours.size();
  std::vector<std::string_view> words(kCommandWords.size());
  std::ranges::transform(kCommandWords, words.begin(), &CommandWord::word);
  const auto nearest = config::nearest_word(word, words);
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

}  // namespace stdgate::app

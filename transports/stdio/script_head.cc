#include "transports/stdio/script_head.h"

#include <algorithm>
#include <array>
#include <fstream>

namespace stdgate::stdio {

namespace {

// BINPRM_BUF_SIZE, what the kernel looks at.
constexpr size_t kMaxHead = 256;
constexpr std::string_view kSpaces = " \t";

// The next word of `rest`; empty: there is none.
std::string_view take_word(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(kSpaces), rest.size()));
  const std::string_view word = rest.substr(0, rest.find_first_of(kSpaces));
  rest.remove_prefix(word.size());
  return word;
}

}  // namespace

std::optional<ScriptHead> ScriptHead::parse(std::string_view text) {
  text = text.substr(0, kMaxHead);
  if (!text.starts_with("#!")) return std::nullopt;
  std::string_view line = text.substr(2, text.find('\n') - 2);
  ScriptHead head;
  head.ends_with_cr = line.ends_with('\r');
  if (head.ends_with_cr) line.remove_suffix(1);
  head.interpreter = take_word(line);
  if (head.interpreter.empty()) return std::nullopt;
  if (!head.interpreter.ends_with("/env")) return head;
  // Past the options of env, and the variables that it sets.
  for (std::string_view word = take_word(line); !word.empty(); word = take_word(line)) {
    if (word.starts_with('-') || word.find('=') != std::string_view::npos) continue;
    head.searched = word;
    break;
  }
  return head;
}

std::optional<ScriptHead> ScriptHead::read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, kMaxHead> head{};
  file.read(head.data(), head.size());
  return parse(std::string_view(head.data(), static_cast<size_t>(file.gcount())));
}

}  // namespace stdgate::stdio

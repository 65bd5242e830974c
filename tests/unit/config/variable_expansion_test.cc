// ${NAME}: what it becomes, and that an escaped text comes back.
#include <gtest/gtest.h>

#include "gateway/config/environment_variables.h"

namespace stdgate {
namespace {

std::optional<std::string> expanded_environment(const std::string& name) {
  if (name == "HOME") return "/home/ada";
  if (name == "EMPTY") return "";
  if (name == "TRICKY") return "a: [${HOME}, $$]";
  return std::nullopt;
}

std::string expand(std::string_view text) {
  const auto expanded = config::expand_variables(text, expanded_environment);
  return expanded ? *expanded : "error: " + expanded.error();
}

TEST(ExpandVariables, Table) {
  const char* const how = "; write ${NAME}, ${NAME:-default}, or $$ for a dollar sign";
  const std::pair<std::string, std::string> cases[] = {
      {"", ""},
      {"plain", "plain"},
      {"${HOME}", "/home/ada"},
      {"${HOME}/x:${HOME}", "/home/ada/x:/home/ada"},
      {"${EMPTY}", ""},
      {"${EMPTY:-full}", "full"},
      {"${HOME:-x}", "/home/ada"},
      {"${NONE:-x y}", "x y"},
      {"${NONE:-}", ""},
      {"${NONE:-a:-b}", "a:-b"},
      {"${NONE:-${HOME}}", "${HOME}"},
      {"${TRICKY}", "a: [${HOME}, $$]"},  // a value is not expanded again
      {"$", "$"},
      {"$$", "$"},
      {"$$$$", "$$"},
      {"a$", "a$"},
      {"$HOME", "$HOME"},
      {"$/cancelRequest", "$/cancelRequest"},
      {"$${HOME}", "${HOME}"},
      {"$$${HOME}", "$/home/ada"},
      {"${NONE}",
       "error: environment variable 'NONE' is not set; set it, or write ${NONE:-default}"},
      {"${HOME", "error: '${' without '}'" + std::string(how)},
      {"${}", "error: '${}' names no variable" + std::string(how)},
      {"${:-x}", "error: '${:-x}' names no variable" + std::string(how)},
      {"${1X}", "error: '${1X}' names no variable" + std::string(how)},
      {"${A-B}", "error: '${A-B}' names no variable" + std::string(how)},
      {"${ HOME }", "error: '${ HOME }' names no variable" + std::string(how)},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(expand(text), expected) << text;
}

// Every text of up to six characters out of those that matter.
TEST(EscapeVariables, ComesBack) {
  const std::string alphabet = "${}a";
  for (size_t length = 0; length <= 6; ++length) {
    size_t count = 1;
    for (size_t i = 0; i < length; ++i) count *= alphabet.size();
    for (size_t number = 0; number < count; ++number) {
      std::string text;
      for (size_t i = 0, rest = number; i < length; ++i, rest /= alphabet.size()) {
        text += alphabet[rest % alphabet.size()];
      }
      ASSERT_EQ(expand(config::escape_variables(text)), text);
    }
  }
}

}  // namespace
}  // namespace stdgate

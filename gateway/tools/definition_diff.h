// Definition diff: what has changed in the definition of a tool, word by word, and which parts of
// its text a person should look at twice.
//
// The marks name characters that are invisible, that turn the direction of text, or that only a
// model reads, and also markup and phrases that address a model. Owner: none; pure. Limits:
// kMaxDiffWords words of a text, a longer text is shown whole; kMaxDefinitionMarks, and one more
// mark that says that there are more.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stdgate::tools {

inline constexpr size_t kMaxDiffWords = 2000;
inline constexpr size_t kMaxDefinitionMarks = 20;

// `before` and `after` are canonical JSON, or empty if there is no definition. A line for each text
// that differs, with its place: `/description: read [-a file-]{+any file+}`.
std::vector<std::string> definition_diff(std::string_view before, std::string_view after);

// `definition` is canonical JSON: `/description: an invisible character, U+200B`.
std::vector<std::string> marks_of(std::string_view definition);

// Text for a terminal: an invisible character is shown as <U+202E>.
std::string revealed(std::string_view text);

}  // namespace stdgate::tools

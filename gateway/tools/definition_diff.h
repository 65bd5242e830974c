// Definition diff: what has changed in the definition of a tool, word by word, and what of its text
// a person should look at twice.
//
// Shown are characters that cannot be seen, that turn the direction of text, or that only a model
// reads; told are markup and phrases that address a model. Owner: none; pure. Limits: kMaxDiffWords
// of a text, beyond which it is shown whole; kMaxDefinitionMarks, and one that says that there are
// more.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stdgate::tools {

inline constexpr size_t kMaxDiffWords = 2000;
inline constexpr size_t kMaxDefinitionMarks = 20;

// `before` and `after` are canonical JSON, an empty one: there is none. A line for each text that
// differs, with its place: `/description: read [-a file-]{+any file+}`.
std::vector<std::string> definition_diff(std::string_view before, std::string_view after);

// `definition` is canonical JSON: `/description: an invisible character, U+200B`.
std::vector<std::string> marks_of(std::string_view definition);

// Text for a terminal: what cannot be seen stands as <U+202E>.
std::string revealed(std::string_view text);

}  // namespace stdgate::tools

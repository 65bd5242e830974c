// The known word that a mistyped one probably stands for.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace stdgate::config {

// The candidate with the fewest edits (insert, delete, replace, swap of neighbours) from `word`;
// nothing when even that one differs in more than a third of the letters.
std::optional<std::string_view> nearest_word(std::string_view word,
                                             const std::vector<std::string_view>& candidates);

}  // namespace stdgate::config

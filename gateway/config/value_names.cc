#include "gateway/config/value_names.h"

#include <algorithm>

namespace stdgate::config {

namespace {

// A longer word is hardly a typing error, and the table below is quadratic.
constexpr size_t kMaxCompared = 64;

// Optimal string alignment distance, row by row.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> current(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({last[j] + 1, current[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before_last[j - 2] + 1);
      }
    }
    std::swap(before_last, last);
    std::swap(last, current);
  }
  return last[b.size()];
}

}  // namespace

std::optional<std::string_view> nearest_word(std::string_view word,
                                             const std::vector<std::string_view>& candidates) {
  if (word.size() > kMaxCompared) return std::nullopt;
  std::optional<std::string_view> nearest;
  size_t fewest = 0;
  for (const std::string_view candidate : candidates) {
    const size_t edits = edit_distance(word, candidate);
    if (edits > (std::max(word.size(), candidate.size()) + 2) / 3) continue;
    if (nearest && edits >= fewest) continue;
    nearest = candidate;
    fewest = edits;
  }
  return nearest;
}

}  // namespace stdgate::config

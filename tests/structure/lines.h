// lines_of(): the lines of a file, as views into its text and without their ends.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace stdgate {

inline std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace stdgate

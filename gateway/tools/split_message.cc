#include "gateway/tools/split_message.h"

#include <algorithm>

namespace stdgate::tools {

bool SplitMessage::take(std::string_view line) {
  if (depth_ == 0) {
    clear();
    const size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
    if (!line.substr(begin).starts_with('{') && !line.substr(begin).starts_with('[')) return false;
  }
  if (text_.size() + line.size() >= kMaxSize) {
    clear();
    return false;
  }
  text_.append(line).append("\n");
  ++lines_;
  count_brackets(line);
  if (depth_ > 0) return false;
  return lines_ > 1;
}

// No string of JSON goes on in another line.
void SplitMessage::count_brackets(std::string_view line) {
  bool is_in_string = false;
  for (size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (is_in_string) {
      if (c == '\\') ++at;
      is_in_string = c != '"';
    } else if (c == '"') {
      is_in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if ((c == '}' || c == ']') && depth_ > 0) {
      --depth_;
    }
  }
}

void SplitMessage::clear() {
  text_.clear();
  lines_ = depth_ = 0;
}

}  // namespace stdgate::tools

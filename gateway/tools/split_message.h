// SplitMessage: finds a message that a server has written over several lines, as a printer for
// people lays JSON out.
//
// Job: be given the lines of stdout in their order, and tell when some of them are one JSON text
// together. Owner: a Conversation. Limits: kMaxSize bytes; what is longer is not found.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stdgate::tools {

class SplitMessage {
 public:
  static constexpr size_t kMaxSize = 1 << 20;

  // True: with this line a text is whole that began in an earlier one.
  bool take(std::string_view line);
  // A text has begun, and this line was its first.
  [[nodiscard]] bool has_begun() const { return lines_ == 1; }
  // The text, with its line breaks; until the next take().
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void count_brackets(std::string_view line);
  void clear();

  std::string text_;
  size_t lines_ = 0;
  size_t depth_ = 0;
};

}  // namespace stdgate::tools

#include "tests/fuzz/stretch.h"

#include <algorithm>

namespace stdgate::test {

Stretch::Stretch(std::string_view text, Mutator& mutator) {
  constexpr size_t kMaxPiece = 24;
  const size_t begin = mutator.below(text.size());
  const size_t size = 1 + mutator.below(std::min(kMaxPiece, text.size() - begin));
  before_ = text.substr(0, begin);
  piece_ = text.substr(begin, size);
  after_ = text.substr(begin + size);
  if (mutator.below(2) == 0) return;
  // Behind a word, of which it becomes a part.
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const size_t letter = piece_.find_last_of(kLetters);
  number_at_ = letter == std::string::npos ? piece_.size() : letter + 1;
}

std::string Stretch::text(size_t size) const {
  std::string text = before_;
  for (size_t i = 0; text.size() + after_.size() < size; ++i) {
    if (number_at_ == std::string::npos) {
      text += piece_;
    } else {
      text.append(piece_, 0, number_at_).append(std::to_string(i)).append(piece_, number_at_);
    }
  }
  return text + after_;
}

}  // namespace stdgate::test

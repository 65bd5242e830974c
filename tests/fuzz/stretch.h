// Stretch: an input of any size, made of one by repeating a piece of it: what a parser does with
// little again and again. If the pieces are numbered they differ, as keys have to.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tests/fuzz/mutator.h"

namespace stdgate::test {

class Stretch {
 public:
  // Of a text that is not empty.
  Stretch(std::string_view text, Mutator& mutator);
  // At least so many bytes.
  [[nodiscard]] std::string text(size_t size) const;

 private:
  std::string before_;
  std::string piece_;
  std::string after_;
  size_t number_at_ = std::string::npos;  // in the piece; npos: it has none
};

}  // namespace stdgate::test

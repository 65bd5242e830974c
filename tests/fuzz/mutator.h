// Mutator: seeded random changes of a text, of the kinds that break parsers of JSON and of its
// framing: bytes flipped, cut, doubled and moved, and words of both grammars put in.
//
// Stretch: an input of any size, made of one by repeating a piece of it: what a parser does with
// little again and again. If the pieces are numbered they differ, as keys have to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace stdgate::test {

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  // One to four changes.
  std::string mutate(std::string_view text);
  // Bytes without sense, or mostly words.
  std::string invent();
  // Below `bound`, which is not zero.
  size_t below(size_t bound) { return random_() % bound; }

 private:
  void change(std::string& text);
  std::string_view word();

  std::mt19937_64 random_;
};

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

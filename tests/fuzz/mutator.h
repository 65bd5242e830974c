// Mutator: seeded random changes of a text that tend to break parsers of JSON and of its framing.
// Bytes are flipped, cut, doubled and moved, and words of both grammars are inserted.
//
// Stretch: inputs of any size, made from one input by repeating a piece of it. Small costs of a
// parser add up in such inputs. Numbered pieces differ, as keys must.
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

  // Makes one to four changes.
  std::string mutate(std::string_view text);
  // Random bytes, or mostly words.
  std::string invent();
  // A random number below `bound`, which must not be zero.
  size_t below(size_t bound) { return random_() % bound; }

 private:
  void change(std::string& text);
  std::string_view word();

  std::mt19937_64 random_;
};

class Stretch {
 public:
  // `text` must not be empty.
  Stretch(std::string_view text, Mutator& mutator);
  // A text of at least `size` bytes.
  [[nodiscard]] std::string text(size_t size) const;

 private:
  std::string before_;
  std::string piece_;
  std::string after_;
  size_t number_at_ = std::string::npos;  // in the piece; npos: it has none
};

}  // namespace stdgate::test

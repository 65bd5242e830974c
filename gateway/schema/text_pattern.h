// TextPattern: a regular expression of JSON Schema (ECMA-262), matched in time linear in the text.
//
// RE2 does it, which never backtracks. Looking ahead from the beginning of the text,
// `^(?=a)(?!b)c`, is a pattern of its own for each. What needs backtracking (back references,
// looking around elsewhere) cannot be compiled. Owner: the schema. Limits: kMaxExpression bytes,
// kMaxAheads, kMaxProgram instructions of all.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace re2 {
class RE2;
}

namespace stdgate::schema {

class TextPattern {
 public:
  static constexpr size_t kMaxExpression = 4096;
  static constexpr size_t kMaxProgram = 2000;
  static constexpr size_t kMaxAheads = 8;
  // That RE2 may take, half of it for the states that matching has come to.
  static constexpr size_t kMaxMemory = 256 << 10;

  // Why it cannot be: a constant phrase.
  static tl::expected<TextPattern, const char*> compile(std::string_view pattern);

  TextPattern(TextPattern&&) noexcept;
  TextPattern& operator=(TextPattern&&) noexcept;
  ~TextPattern();

  // Whether it matches anywhere in the text.
  [[nodiscard]] bool matches(std::string_view text) const;
  // What matching a text of that size may cost, in steps of a check.
  [[nodiscard]] size_t cost(size_t bytes) const { return 1 + bytes * program_ / 64; }
  [[nodiscard]] const std::string& text() const { return text_; }
  // At most, when it has matched texts of all kinds.
  [[nodiscard]] size_t bytes() const {
    return (1 + aheads_.size()) * kMaxMemory / 2 + 2 * text_.capacity();
  }

 private:
  // What has to match, or must not, at the beginning of the text.
  struct Ahead {
    std::unique_ptr<re2::RE2> compiled;
    bool is_forbidden = false;
  };

  explicit TextPattern(std::string_view text);
  // Null: done, else why it cannot be.
  const char* compile_whole();
  const char* add(std::string_view pattern, std::unique_ptr<re2::RE2>& into);

  std::string text_;
  std::unique_ptr<re2::RE2> compiled_;
  std::vector<Ahead> aheads_;
  size_t program_ = 0;
};

// The same pattern in RE2's words; nothing: RE2 has none for it. For tests.
tl::expected<std::string, const char*> in_re2_syntax(std::string_view pattern);

}  // namespace stdgate::schema

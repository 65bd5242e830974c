// TextPattern: a regular expression of JSON Schema (ECMA-262), matched in time linear in the text.
//
// RE2 does it, which never backtracks. What needs backtracking (back references, looking around)
// cannot be compiled. Owner: the schema. Limits: kMaxExpression bytes, kMaxProgram instructions.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace re2 {
class RE2;
}

namespace stdgate::schema {

class TextPattern {
 public:
  static constexpr size_t kMaxExpression = 4096;
  static constexpr size_t kMaxProgram = 2000;
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
  [[nodiscard]] size_t bytes() const { return kMaxMemory / 2 + 2 * text_.capacity(); }

 private:
  TextPattern(std::string text, std::unique_ptr<re2::RE2> compiled);

  std::string text_;
  std::unique_ptr<re2::RE2> compiled_;
  size_t program_ = 1;
};

// The same pattern in RE2's words; nothing: RE2 has none for it. For tests.
tl::expected<std::string, const char*> in_re2_syntax(std::string_view pattern);

}  // namespace stdgate::schema

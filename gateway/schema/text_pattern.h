// TextPattern: a regular expression of JSON Schema (ECMA-262), matched in time linear in the text.
//
// The matcher is RE2, which never backtracks. Each lookahead at the beginning of the pattern, as in
// `^(?=a)(?!b)c`, becomes a pattern of its own. Patterns that need backtracking (back references,
// other lookarounds) cannot be compiled. Owner: the schema. Limits: kMaxExpression bytes,
// kMaxAheads lookaheads, kMaxProgram instructions of all patterns together.
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
  // Bytes that RE2 may use; half of them are for the states that it caches while it matches.
  static constexpr size_t kMaxMemory = 256 << 10;

  // The error is a constant phrase that says why the pattern cannot be compiled. `programs` grows
  // by the instructions that RE2 has made, also of a pattern that is too large.
  static tl::expected<TextPattern, const char*> compile(std::string_view pattern, size_t& programs);

  TextPattern(TextPattern&&) noexcept;
  TextPattern& operator=(TextPattern&&) noexcept;
  ~TextPattern();

  // Whether the pattern matches anywhere in the text.
  [[nodiscard]] bool matches(std::string_view text) const;
  // The highest cost of matching a text of this size, in steps of SchemaCheck.
  [[nodiscard]] size_t cost(size_t bytes) const { return 1 + bytes * program_ / 64; }
  [[nodiscard]] const std::string& text() const { return text_; }
  // The most memory that the pattern may take, after it has matched texts of all kinds.
  [[nodiscard]] size_t bytes() const {
    return (1 + aheads_.size()) * kMaxMemory / 2 + 2 * text_.capacity();
  }

 private:
  // A lookahead: a pattern that must match, or must not match, at the beginning of the text.
  struct Ahead {
    std::unique_ptr<re2::RE2> compiled;
    bool is_forbidden = false;
  };

  explicit TextPattern(std::string_view text);
  // Null: compiled. Else the reason why the pattern cannot be compiled.
  const char* compile_whole();
  const char* add(std::string_view pattern, std::unique_ptr<re2::RE2>& into);

  std::string text_;
  std::unique_ptr<re2::RE2> compiled_;
  std::vector<Ahead> aheads_;
  size_t program_ = 0;
};

// The pattern in the syntax of RE2. The error says what RE2 cannot express. For tests.
tl::expected<std::string, const char*> in_re2_syntax(std::string_view pattern);

}  // namespace stdgate::schema

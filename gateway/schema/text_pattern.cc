#include "gateway/schema/text_pattern.h"

#include <re2/re2.h>
#include <re2/stringpiece.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

namespace stdgate::schema {

namespace {

constexpr const char* kBroken = "a pattern is no regular expression";
constexpr const char* kTooLarge = "a pattern is too large";
// Instructions that RE2 makes at most, before it gives a pattern up.
constexpr size_t kMaxMade = 10'000;
constexpr const char* kBacktracks = "a pattern looks around or refers back";

// As ECMA-262 has them; RE2 takes fewer characters for space.
constexpr std::string_view kSpace =
    R"(\x{9}-\x{d}\x{20}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff})";
constexpr std::string_view kNoSpace =
    R"(\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff})";
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kCategories = {
    {{"Letter", "L"},
     {"Lowercase_Letter", "Ll"},
     {"Uppercase_Letter", "Lu"},
     {"Titlecase_Letter", "Lt"},
     {"Mark", "M"},
     {"Number", "N"},
     {"Decimal_Number", "Nd"},
     {"digit", "Nd"},
     {"Punctuation", "P"},
     {"Symbol", "S"},
     {"Separator", "Z"},
     {"Other", "C"}}};

// Rewrites a pattern piece by piece.
class Rewriter {
 public:
  explicit Rewriter(std::string_view pattern) : rest_(pattern) {}

  tl::expected<std::string, const char*> rewrite() {
    while (!rest_.empty()) {
      const char c = take();
      if (c == '\\') {
        if (const char* const why = take_escape()) return tl::unexpected(why);
      } else if (c == '[' && !in_class_) {
        begin_class();
      } else if (c == '[') {
        out_ += "\\[";  // RE2 could take it for a named class
      } else if (c == ']' && in_class_) {
        in_class_ = false;
        out_ += c;
      } else if (c == '(' && !in_class_ && rest_.starts_with('?')) {
        if (!takes_group()) return tl::unexpected(kBacktracks);
      } else if (c == '.' && !in_class_) {
        out_ += R"([^\n\r\x{2028}\x{2029}])";
      } else {
        out_ += c;
      }
    }
    return std::move(out_);
  }

 private:
  char take() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  void begin_class() {
    in_class_ = true;
    const bool is_negated = rest_.starts_with('^');
    if (is_negated) take();
    if (!rest_.starts_with(']')) {
      out_ += is_negated ? "[^" : "[";
      return;
    }
    // Empty: nothing, or anything.
    take();
    in_class_ = false;
    out_ += is_negated ? R"([\x{0}-\x{10ffff}])" : R"([^\x{0}-\x{10ffff}])";
  }

  // Groups that only group: (?:…), (?<name>…).
  bool takes_group() {
    if (rest_.starts_with("?:")) {
      out_ += '(';
      return true;
    }
    if (!rest_.starts_with("?<") || rest_.starts_with("?<=") || rest_.starts_with("?<!")) {
      return false;
    }
    out_ += "(?P<";
    rest_.remove_prefix(2);
    return true;
  }

  void append_point(uint32_t point) {
    std::array<char, 16> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), point, 16).ptr;
    out_.append("\\x{").append(text.data(), end).append("}");
  }

  std::optional<uint32_t> take_hex(size_t digits) {
    uint32_t value = 0;
    if (rest_.size() < digits) return std::nullopt;
    const char* const end = rest_.data() + digits;
    if (std::from_chars(rest_.data(), end, value, 16).ptr != end) return std::nullopt;
    rest_.remove_prefix(digits);
    return value;
  }

  const char* take_code_point() {
    if (rest_.starts_with('{')) {
      const size_t close = rest_.find('}');
      if (close == std::string_view::npos || close < 2 || close > 7) return kBroken;
      take();
      const auto point = take_hex(close - 1);
      if (!point || *point > 0x10ffff) return kBroken;
      take();
      append_point(*point);
      return nullptr;
    }
    const auto unit = take_hex(4);
    if (!unit) return kBroken;
    uint32_t point = *unit;
    if (point >= 0xd800 && point < 0xdc00 && rest_.starts_with("\\u")) {
      rest_.remove_prefix(2);
      const auto low = take_hex(4);
      if (!low || *low < 0xdc00 || *low > 0xdfff) return kBroken;
      point = 0x10000 + ((point - 0xd800) << 10) + (*low - 0xdc00);
    }
    append_point(point);
    return nullptr;
  }

  const char* take_property(char kind) {
    const size_t close = rest_.find('}');
    if (!rest_.starts_with('{') || close == std::string_view::npos) return kBroken;
    std::string_view name = rest_.substr(1, close - 1);
    rest_.remove_prefix(close + 1);
    const size_t equals = name.find('=');
    if (equals != std::string_view::npos) name = name.substr(equals + 1);
    for (const auto& [lengthy, brief] : kCategories) {
      if (name == lengthy) name = brief;
    }
    out_.append(1, '\\').append(1, kind).append("{").append(name).append("}");
    return nullptr;
  }

  void append_class(std::string_view inside, std::string_view prefix = {}) {
    if (in_class_) {
      out_.append(inside);
    } else {
      out_.append("[").append(prefix).append(inside).append("]");
    }
  }

  const char* take_escape() {
    if (rest_.empty()) return kBroken;
    const char c = take();
    switch (c) {
      case 'd':
        append_class("0-9");
        return nullptr;
      case 'D':
        append_class(R"(\x{0}-\x{2f}\x{3a}-\x{10ffff})");
        return nullptr;
      case 'w':
      case 'W':
      case 'f':
      case 'n':
      case 'r':
      case 't':
      case 'v':
        out_.append(1, '\\').append(1, c);
        return nullptr;
      case 's':
        append_class(kSpace);
        return nullptr;
      case 'S':
        append_class(kNoSpace);
        return nullptr;
      case 'b':
        out_ += in_class_ ? R"(\x{8})" : R"(\b)";
        return nullptr;
      case 'B':
        out_ += R"(\B)";
        return in_class_ ? kBroken : nullptr;
      case '0':
        append_point(0);
        return nullptr;
      case 'c':
        if (rest_.empty()) return kBroken;
        append_point(static_cast<uint32_t>(take()) & 31U);
        return nullptr;
      case 'x': {
        const auto byte = take_hex(2);
        if (byte) append_point(*byte);
        return byte ? nullptr : kBroken;
      }
      case 'u':
        return take_code_point();
      case 'p':
      case 'P':
        return take_property(c);
      default:
        break;
    }
    if (c == 'k' || (c >= '1' && c <= '9')) return kBacktracks;
    const auto is_word = [](char one) {
      return (one >= 'a' && one <= 'z') || (one >= 'A' && one <= 'Z') || one == '_';
    };
    if (is_word(c)) return kBroken;
    if (static_cast<unsigned char>(c) < 0x80) out_ += '\\';
    out_ += c;
    return nullptr;
  }

  std::string_view rest_;
  std::string out_;
  bool in_class_ = false;
};

// Passes over a pattern outside of escapes and classes.
class Outline {
 public:
  explicit Outline(std::string_view pattern) : pattern_(pattern) {}

  // Calls visit(at, depth) for each character that groups or separates, until it returns true.
  // Returns the place where it did; npos: nowhere. `depth`: the number of groups around.
  template <class Visitor>
  size_t find(Visitor&& visit) const {
    size_t depth = 0;
    bool in_class = false;
    for (size_t at = 0; at < pattern_.size(); ++at) {
      const char c = pattern_[at];
      if (c == '\\') {
        ++at;
      } else if (in_class || c == '[') {
        in_class = c != ']';
      } else if (c == '(' || c == ')' || c == '|') {
        if (c == ')' && depth > 0) --depth;
        if (visit(c, depth)) return at;
        if (c == '(') ++depth;
      }
    }
    return std::string_view::npos;
  }

 private:
  const std::string_view pattern_;
};

bool has_alternatives(std::string_view pattern) {
  const auto is_bar = [](char c, size_t depth) { return c == '|' && depth == 0; };
  return Outline(pattern).find(is_bar) != std::string_view::npos;
}

re2::RE2::Options options() {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_never_capture(true);
  options.set_max_mem(TextPattern::kMaxMemory);
  return options;
}

// RE2's own type of text is std::string_view in some releases alone.
bool is_in(std::string_view text, const re2::RE2& pattern) {
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), pattern);
}

}  // namespace

tl::expected<std::string, const char*> in_re2_syntax(std::string_view pattern) {
  return Rewriter(pattern).rewrite();
}

TextPattern::TextPattern(std::string_view text) : text_(text) {}
TextPattern::TextPattern(TextPattern&&) noexcept = default;
TextPattern& TextPattern::operator=(TextPattern&&) noexcept = default;
TextPattern::~TextPattern() = default;

const char* TextPattern::add(std::string_view pattern, std::unique_ptr<re2::RE2>& into) {
  const auto text = in_re2_syntax(pattern);
  if (!text) return text.error();
  into = std::make_unique<re2::RE2>(*text, options());
  if (into->error_code() == re2::RE2::ErrorPatternTooLarge) program_ += kMaxMade;
  if (!into->ok()) return kBroken;
  program_ += static_cast<size_t>(into->ProgramSize());
  return program_ > kMaxProgram ? kTooLarge : nullptr;
}

const char* TextPattern::compile_whole() {
  std::string_view rest = text_;
  if (!rest.starts_with("^(?=") && !rest.starts_with("^(?!")) return add(rest, compiled_);
  rest.remove_prefix(1);
  while (rest.starts_with("(?=") || rest.starts_with("(?!")) {
    const auto is_end = [](char c, size_t depth) { return c == ')' && depth == 0; };
    const size_t end = Outline(rest).find(is_end);
    if (end == std::string_view::npos) return kBroken;
    if (aheads_.size() == kMaxAheads) return kTooLarge;
    Ahead& ahead = aheads_.emplace_back();
    ahead.is_forbidden = rest[2] == '!';
    const std::string inside(rest.substr(3, end - 3));
    if (const char* const why = add("^(?:" + inside + ")", ahead.compiled)) return why;
    rest.remove_prefix(end + 1);
  }
  // A look-ahead in front of alternatives belongs to the first of them alone, and a repeated one
  // means something else.
  const bool is_repeated = rest.find_first_of("*+?{") == 0;
  if (is_repeated || has_alternatives(rest)) return kBacktracks;
  return add("^" + std::string(rest), compiled_);
}

tl::expected<TextPattern, const char*> TextPattern::compile(std::string_view pattern,
                                                            size_t& programs) {
  if (pattern.size() > kMaxExpression) return tl::unexpected(kTooLarge);
  TextPattern compiled(pattern);
  const char* const why = compiled.compile_whole();
  programs += compiled.program_;
  if (why != nullptr) return tl::unexpected(why);
  return compiled;
}

bool TextPattern::matches(std::string_view text) const {
  for (const Ahead& ahead : aheads_) {
    if (is_in(text, *ahead.compiled) == ahead.is_forbidden) return false;
  }
  return is_in(text, *compiled_);
}

}  // namespace stdgate::schema

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "tests/structure/rules.h"

namespace stdgate {
namespace {

// Headers of the data path, whose bodies may be longer: other sources call them several times for
// each message or line, and a release build, which links without LTO, inlines only what stands in a
// header. Moved to a source they cost so much by tests/bench/counts:
constexpr std::array kDataPath = {
    std::string_view("gateway/base/text.h"),         // call/http-1 0.8 %, log/call-json 59 %
    std::string_view("gateway/rpc/json_scanner.h"),  // envelope/100B 21 %, core/rpc-100B 4.7 %
    std::string_view("metrics/logs/log_style.h"),    // log/call-json 5 %
};

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// The text with spaces for comments and directives, and letters for what stands in quotes. Every
// line and every character keeps its place.
class Blanked {
 public:
  static std::string of(std::string_view text) {
    Blanked blanked(text);
    while (blanked.at_ < blanked.text_.size()) blanked.step();
    return std::move(blanked.text_);
  }

 private:
  explicit Blanked(std::string_view text) : text_(text) {}

  void step() {
    const char before = at_ == 0 ? '\n' : text_[at_ - 1];
    if (text_.compare(at_, 2, "//") == 0) {
      overwrite(text_.find('\n', at_), ' ');
    } else if (text_.compare(at_, 2, "/*") == 0) {
      overwrite(after("*/", at_ + 2), ' ');
    } else if (text_[at_] == '"' && before == 'R') {
      const size_t open = text_.find('(', at_);
      const std::string close = ")" + text_.substr(at_ + 1, open - at_ - 1) + "\"";
      overwrite(after(close, open), 'x');
    } else if (text_[at_] == '"' || (text_[at_] == '\'' && !is_word_character(before))) {
      overwrite(end_of_quoted(), 'x');
    } else if (text_[at_] == '#') {
      overwrite(end_of_directive(), ' ');
    } else {
      ++at_;
    }
  }

  size_t after(std::string_view what, size_t from) const {
    const size_t found = text_.find(what, from);
    return found == text_.npos ? found : found + what.size();
  }

  size_t end_of_quoted() const {
    size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != text_[at_]) end += text_[end] == '\\' ? 2 : 1;
    return end + 1;
  }

  size_t end_of_directive() const {
    size_t end = text_.find('\n', at_);
    while (end != text_.npos && text_[end - 1] == '\\') end = text_.find('\n', end + 1);
    return end;
  }

  void overwrite(size_t end, char with) {
    for (end = std::min(end, text_.size()); at_ < end; ++at_) {
      if (text_[at_] != '\n') text_[at_] = with;
    }
  }

  std::string text_;
  size_t at_ = 0;
};

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \n");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \n") - begin + 1);
}

bool has_word(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool begins = at == 0 || !is_word_character(text[at - 1]);
    if (begins && (end == text.size() || !is_word_character(text[end]))) return true;
  }
  return false;
}

// The end of what begins at `at` with an opening bracket of this pair, behind the closing one.
size_t end_of(std::string_view text, size_t at, char open, char close) {
  size_t depth = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == open) ++depth;
    if (text[at] == close && --depth == 0) return at + 1;
  }
  return text.size();
}

// What stands in front of an opening brace, since the end of the declaration before.
struct Head {
  bool is_template = false;
  std::string_view rest;  // without template parameters and attributes
  std::string outside;    // the same without what is in parentheses or braces
};

Head head_of(std::string_view text) {
  Head head;
  for (head.rest = trimmed(text);;) {
    size_t end = 0;
    if (head.rest.starts_with("template")) {
      head.is_template = true;
      end = end_of(head.rest, head.rest.find('<'), '<', '>');
    } else if (head.rest.starts_with("[[")) {
      end = end_of(head.rest, 0, '[', ']');
    } else {
      break;
    }
    head.rest = trimmed(head.rest.substr(end));
  }
  int depth = 0;
  for (const char c : head.rest) {
    if (c == ')' || c == '}') --depth;
    if (depth == 0) head.outside += c;
    if (c == '(' || c == '{') ++depth;
  }
  return head;
}

// Whether a brace behind this text opens the body of a lambda.
bool ends_as_lambda(std::string_view text) {
  static const std::regex kForm(R"((\)|\]|\bmutable|\bnoexcept|->\s*[\w:<>&*]+)$)");
  constexpr size_t kEnough = 100;  // of the text; the rest cannot matter
  text.remove_prefix(text.size() - std::min(text.size(), kEnough));
  return std::regex_search(text.begin(), text.end(), kForm);
}

enum class Opens { name_space, type, value, body };

// What a brace behind `head` opens. A member of an initializer list (": a_{1}") is a value.
Opens opened_by(const Head& head) {
  static const std::regex kNamespace(R"(^(inline\s+)?(namespace|extern)\b)");
  static const std::regex kClass(R"(^(class|struct|union)\b)");
  static const std::regex kInitializers(R"(\)[^:]*[^:]:[^:])");
  const auto found = [&head](const std::regex& form) {
    return std::regex_search(head.outside, form);
  };
  if (found(kNamespace) && head.outside.find('(') == head.outside.npos) return Opens::name_space;
  if (found(kClass)) return Opens::type;
  const bool is_operator = has_word(head.rest, "operator");
  const bool is_assigned = head.outside.find('=') != head.outside.npos && !is_operator;
  if (is_assigned || head.outside.find('(') == head.outside.npos) return Opens::value;
  const bool is_complete = head.rest.ends_with(')') || head.rest.ends_with('}');
  return found(kInitializers) && !is_complete ? Opens::value : Opens::body;
}

// Walk: finds the bodies of one header. Walks through namespaces and classes, and passes over all
// else.
class Walk {
 public:
  Walk(std::string_view path, std::string_view text) : path_(path), code_(Blanked::of(text)) {}

  std::vector<std::string> long_bodies() {
    while (at_ < code_.size()) walk(false);
    return std::move(found_);
  }

 private:
  // Up to the end of the scope that begins here.
  void walk(bool in_class) {
    size_t begin = at_;
    while (at_ < code_.size()) {
      const char c = code_[at_];
      const std::string_view before = trimmed(view().substr(begin, at_ - begin));
      if (c == '{') {
        if (pass_brace(in_class, head_of(before))) begin = at_;
      } else if (c == '(') {
        pass_over(end_of(code_, at_, '(', ')'));
      } else {
        ++at_;
        const bool is_access = before == "public" || before == "private" || before == "protected";
        if (c == '}') return;
        if (c == ';' || (c == ':' && is_access)) begin = at_;
      }
    }
  }

  // False if the declaration goes on behind the brace.
  bool pass_brace(bool in_class, const Head& head) {
    const Opens opens = opened_by(head);
    const size_t end = end_of(code_, at_, '{', '}');
    if (opens == Opens::name_space || opens == Opens::type) {
      ++at_;
      walk(opens == Opens::type);
      return true;
    }
    if (opens == Opens::value) {
      const bool is_of_compiler = has_word(head.outside, "constexpr");
      if (!is_of_compiler) pass_over(end);
      at_ = end;
      return false;
    }
    const bool is_generic = head.is_template || has_word(head.rest, "auto");
    if (in_class || !is_generic) judge(at_, end);
    at_ = end;
    return true;
  }

  // Up to `end`, but for the bodies of lambdas.
  void pass_over(size_t end) {
    for (; at_ < end; ++at_) {
      if (code_[at_] != '{') continue;
      if (!ends_as_lambda(trimmed(view().substr(0, at_)))) continue;
      const size_t behind = end_of(code_, at_, '{', '}');
      judge(at_, behind);
      at_ = behind - 1;
    }
  }

  // A body from its opening brace to the end of its closing one.
  void judge(size_t begin, size_t end) {
    size_t lines = 0;
    for (const std::string_view line : lines_of(view().substr(begin + 1, end - begin - 2))) {
      lines += trimmed(line).empty() ? 0 : 1;
    }
    if (lines <= kMaxBodyLines) return;
    const size_t line = lines_of(view().substr(0, begin + 1)).size();
    found_.push_back(path_ + ":" + std::to_string(line) + ": has a body of " +
                     std::to_string(lines) + " lines, more than " + std::to_string(kMaxBodyLines));
  }

  std::string_view view() const { return code_; }

  std::string path_;
  std::string code_;
  size_t at_ = 0;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> long_bodies(const std::map<std::string, std::string>& sources) {
  std::vector<std::string> found;
  for (const auto& [path, text] : sources) {
    if (path.starts_with("tests/") || !path.ends_with(".h")) continue;
    const std::vector<std::string> bodies = Walk(path, text).long_bodies();
    const bool is_exempt = std::ranges::find(kDataPath, path) != kDataPath.end();
    if (is_exempt && bodies.empty()) found.push_back(path + ": needs no place in kDataPath");
    if (!is_exempt) found.insert(found.end(), bodies.begin(), bodies.end());
  }
  return found;
}

}  // namespace stdgate

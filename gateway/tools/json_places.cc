#include "gateway/tools/json_places.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "gateway/base/utf8.h"
#include "gateway/rpc/json_string.h"
#include "gateway/tools/client_settings.h"

namespace stdgate::tools {

namespace {

// Gives nothing after the first mistake, which stands in problem() then.
class JsonPlaceReader {
 public:
  explicit JsonPlaceReader(std::string_view text) : text_(text) {}

  bool read(JsonPlace& root) {
    if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
    if (!skip() || !read_value(root, 0) || !skip()) return false;
    return at_ == text_.size() || fail("something stands behind the end");
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  // What plain JSON does not have.
  [[nodiscard]] const std::vector<TextChange>& removals() const { return removals_; }

 private:
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool fail(std::string_view what) {
    const std::string_view before = text_.substr(0, at_);
    const auto line = 1 + std::ranges::count(before, '\n');
    problem_ = "line " + std::to_string(line) + ": " + std::string(what);
    return false;
  }

  // White space and comments.
  bool skip() {
    while (at_ < text_.size()) {
      const std::string_view rest = text_.substr(at_);
      if (std::string_view(" \t\r\n").find(rest.front()) != std::string_view::npos) {
        ++at_;
      } else if (rest.starts_with("//")) {
        remove_to(at_ + std::min(rest.find('\n'), rest.size()));
      } else if (rest.starts_with("/*")) {
        const size_t end = rest.find("*/", 2);
        if (end == std::string_view::npos) return fail("a comment has no end");
        remove_to(at_ + end + 2);
      } else {
        break;
      }
    }
    return true;
  }

  void remove_to(size_t end) {
    removals_.push_back({{at_, end}, ""});
    at_ = end;
  }

  bool read_value(JsonPlace& out, size_t depth) {
    if (depth > kMaxSettingsDepth) return fail("too deep");
    out.value.begin = at_;
    const char first = peek();
    bool is_good = true;
    if (first == '{' || first == '[') {
      out.is_object = first == '{';
      is_good = read_members(out, depth);
    } else if (first == '"') {
      is_good = read_string();
    } else {
      const size_t end = std::min(text_.find_first_of(",]}/ \t\r\n", at_), text_.size());
      if (end == at_) return fail("a value is missing");
      at_ = end;
    }
    out.value.end = at_;
    return is_good;
  }

  bool read_members(JsonPlace& out, size_t depth) {
    const char closer = out.is_object ? '}' : ']';
    ++at_;
    if (!skip()) return false;
    while (peek() != closer) {
      if (out.is_object && !read_key(out)) return false;
      // What is in an array has no place of its own.
      JsonPlace passed;
      JsonPlace& value = out.is_object ? out.values.emplace_back() : passed;
      if (!read_value(value, depth + 1) || !skip()) return false;
      if (peek() != ',' && peek() != closer) return fail("a comma is missing");
      const TextSpan comma{at_, at_ + (peek() == ',' ? 1 : 0)};
      at_ = comma.end;
      if (!skip()) return false;
      if (peek() == closer) removals_.push_back({comma, ""});
    }
    ++at_;
    return true;
  }

  bool read_key(JsonPlace& object) {
    const size_t begin = at_;
    if (peek() != '"') return fail("a key is missing");
    if (!read_string()) return false;
    const TextSpan span{begin, at_};
    const std::string_view quoted = span.of(text_);
    std::string scratch;
    object.key_spans.push_back(span);
    object.keys.emplace_back(rpc::decode_string(quoted.substr(1, quoted.size() - 2), scratch));
    if (!skip()) return false;
    if (peek() != ':') return fail("a colon is missing");
    ++at_;
    return skip();
  }

  bool read_string() {
    ++at_;
    while (peek() != '"') {
      if (at_ >= text_.size() || peek() == '\n') return fail("a text has no end");
      if (peek() != '\\') {
        ++at_;
      } else if (!read_escape()) {
        return fail("an escape is no JSON");
      }
    }
    ++at_;
    return true;
  }

  bool read_escape() {
    const std::string_view rest = text_.substr(at_ + 1);
    const size_t digits = rest.starts_with('u') ? 4 : 0;
    if (rest.size() <= digits) return false;
    if (std::string_view("\"\\/bfnrtu").find(rest.front()) == std::string_view::npos) return false;
    const bool are_hex = std::ranges::all_of(rest.substr(1, digits),
                                             [](unsigned char c) { return std::isxdigit(c) != 0; });
    at_ += 2 + digits;
    return are_hex;
  }

  const std::string_view text_;
  size_t at_ = 0;
  std::vector<TextChange> removals_;
  std::string problem_;
};

}  // namespace

std::string changed_text(std::string_view text, std::vector<TextChange> changes) {
  std::ranges::sort(changes, {}, [](const TextChange& change) { return change.span.begin; });
  std::string out;
  size_t at = 0;
  for (const TextChange& change : changes) {
    out.append(text.substr(at, change.span.begin - at)).append(change.text);
    at = change.span.end;
  }
  return out.append(text.substr(at));
}

const JsonPlace* JsonPlace::find(std::string_view key) const {
  const auto found = std::ranges::find(keys, key);
  return found == keys.end() ? nullptr : &values[found - keys.begin()];
}

tl::expected<JsonPlace, std::string> json_places(std::string_view text) {
  JsonPlaceReader reader(text);
  JsonPlace root;
  if (!reader.read(root)) return tl::unexpected(reader.problem());
  return root;
}

tl::expected<std::string, std::string> plain_json(std::string_view text) {
  JsonPlaceReader reader(text);
  JsonPlace root;
  if (!reader.read(root)) return tl::unexpected(reader.problem());
  return changed_text(text, reader.removals());
}

}  // namespace stdgate::tools

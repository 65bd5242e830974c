#include "gateway/tools/json_node.h"

#include <simdjson.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "gateway/base/encodings.h"
#include "gateway/rpc/json_text.h"

namespace stdgate::tools {

namespace {

using Kind = JsonNode::Kind;

void append_json(const JsonNode& node, std::string& out) {
  out += node.scalar;
  if (node.kind == Kind::scalar) return;
  const bool is_object = node.kind == Kind::object;
  out += is_object ? '{' : '[';
  for (size_t i = 0; i < node.items.size(); ++i) {
    if (i > 0) out += ',';
    if (is_object) {
      rpc::append_json_string(out, node.keys[i]);
      out += ':';
    }
    append_json(node.items[i], out);
  }
  out += is_object ? '}' : ']';
}

// A text that is read from left to right. Nothing is read after the first mistake.
class TextReader {
 public:
  [[nodiscard]] const std::string& problem() const { return problem_; }

 protected:
  explicit TextReader(std::string_view text) : text_(text) {
    if (comes(kByteOrderMark)) at_ = kByteOrderMark.size();
  }

  [[nodiscard]] bool is_at_end() const { return at_ >= text_.size(); }
  [[nodiscard]] char peek() const { return is_at_end() ? '\0' : text_[at_]; }
  [[nodiscard]] std::string_view rest() const { return text_.substr(std::min(at_, text_.size())); }
  [[nodiscard]] bool comes(std::string_view word) const { return rest().starts_with(word); }
  [[nodiscard]] bool comes_one_of(std::string_view characters) const {
    return !is_at_end() && characters.find(peek()) != std::string_view::npos;
  }
  bool take(char c) {
    const bool is_there = !is_at_end() && peek() == c;
    if (is_there) ++at_;
    return is_there;
  }
  std::string_view take_until(std::string_view characters) {
    const size_t begin = at_;
    at_ = std::min(text_.find_first_of(characters, at_), text_.size());
    return text_.substr(begin, at_ - begin);
  }
  bool fail(std::string_view what) {
    const std::string_view before = text_.substr(0, at_);
    const auto line = 1 + std::ranges::count(before, '\n');
    problem_ = "line " + std::to_string(line) + ": " + std::string(what);
    return false;
  }

  const std::string_view text_;
  size_t at_ = 0;

 private:
  std::string problem_;
};

class JsonReader final : public TextReader {
 public:
  JsonReader(std::string_view text, size_t max_depth) : TextReader(text), max_depth_(max_depth) {}

  bool read(JsonNode& root) {
    if (!skip() || !read_value(root, 0) || !skip()) return false;
    return is_at_end() || fail("something stands behind the end");
  }

 private:
  // White space and comments.
  bool skip() {
    for (;;) {
      if (comes_one_of(" \t\r\n")) {
        ++at_;
      } else if (comes("//")) {
        take_until("\n");
      } else if (comes("/*")) {
        const size_t end = text_.find("*/", at_ + 2);
        if (end == std::string_view::npos) return fail("a comment has no end");
        at_ = end + 2;
      } else {
        return true;
      }
    }
  }

  bool read_value(JsonNode& out, size_t depth) {
    if (depth > max_depth_) return fail("too deep");
    const size_t begin = at_;
    bool is_good = true;
    if (peek() == '{' || peek() == '[') {
      out.kind = peek() == '{' ? Kind::object : Kind::array;
      is_good = read_items(out, depth);
    } else {
      out.kind = Kind::scalar;
      is_good = peek() == '"' ? read_string()
                              : !take_until(",]}/ \t\r\n").empty() || fail("a value is missing");
      out.scalar = text_.substr(begin, at_ - begin);
    }
    out.value = {begin, at_};
    return is_good;
  }

  bool read_items(JsonNode& out, size_t depth) {
    const bool is_object = out.kind == Kind::object;
    const char closer = is_object ? '}' : ']';
    ++at_;
    if (!skip()) return false;
    while (!take(closer)) {
      const size_t begin = at_;
      if (is_object && !read_key(out)) return false;
      JsonNode& item = out.items.emplace_back();
      if (!read_value(item, depth + 1)) return false;
      item.pair = {begin, at_};
      if (!skip()) return false;
      if (!take(',') && peek() != closer) return fail("a comma is missing");
      if (!skip()) return false;
    }
    return true;
  }

  bool read_key(JsonNode& object) {
    const size_t begin = at_;
    if (peek() != '"') return fail("a key is missing");
    if (!read_string()) return false;
    std::string scratch;
    const std::string_view quoted = text_.substr(begin, at_ - begin);
    object.keys.emplace_back(rpc::decode_string(rpc::string_content(quoted), scratch));
    if (!skip()) return false;
    return take(':') ? skip() : fail("a colon is missing");
  }

  bool read_string() {
    ++at_;
    while (!take('"')) {
      if (is_at_end() || peek() == '\n') return fail("a text has no end");
      if (!take('\\')) {
        ++at_;
      } else if (!read_escape()) {
        return fail("an escape is no JSON");
      }
    }
    return true;
  }

  bool read_escape() {
    if (!comes_one_of("\"\\/bfnrtu")) return false;
    const size_t digits = take('u') ? 4 : 1;
    const std::string_view hex = rest().substr(0, digits);
    at_ += hex.size();
    const auto is_hex = [](unsigned char c) { return std::isxdigit(c) != 0; };
    return digits == 1 || (hex.size() == digits && std::ranges::all_of(hex, is_hex));
  }

  const size_t max_depth_;
};

// The item of an object with this key, which is added if it is missing.
JsonNode& member(JsonNode& object, const std::string& key) {
  if (JsonNode* const known = object.find(key)) return *known;
  object.keys.push_back(key);
  return object.items.emplace_back();
}

JsonNode string_node(std::string_view text) {
  JsonNode node;
  node.kind = Kind::scalar;
  rpc::append_json_string(node.scalar, text);
  return node;
}

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr uint8_t kLead[] = {0, 0xc0, 0xe0, 0xf0};
  out += static_cast<char>(kLead[more] | (code >> (6 * more)));
  for (int i = more - 1; i >= 0; --i) out += static_cast<char>(0x80 | ((code >> (6 * i)) & 0x3f));
}

class TomlReader final : public TextReader {
 public:
  explicit TomlReader(std::string_view text) : TextReader(text) {}

  bool read(JsonNode& root) {
    JsonNode* table = &root;
    for (skip_lines(); !is_at_end(); skip_lines()) {
      if (peek() == '[') {
        table = read_header(root);
        if (table == nullptr) return false;
      } else if (!read_pair(*table, 0)) {
        return false;
      }
      skip_space();
      if (!is_at_end() && !comes_one_of("\r\n")) return fail("something stands behind the value");
    }
    return true;
  }

 private:
  void skip_space() {
    while (comes_one_of(" \t")) ++at_;
    if (peek() == '#') take_until("\n");
  }
  void skip_lines() {
    for (skip_space(); comes_one_of("\r\n"); skip_space()) ++at_;
  }

  // [a.b] and [[a.b]]; null: a mistake.
  JsonNode* read_header(JsonNode& root) {
    const bool is_item = comes("[[");
    const std::string_view closer = is_item ? "]]" : "]";
    const size_t begin = at_;
    at_ += closer.size();
    std::vector<std::string> path;
    if (!read_path(path)) return nullptr;
    if (!comes(closer)) {
      fail("a table's name has no end");
      return nullptr;
    }
    at_ += closer.size();
    JsonNode* node = &root;
    for (size_t i = 0; i < path.size(); ++i) {
      node = &member(*node, path[i]);
      if (is_item && i + 1 == path.size()) {
        if (node->kind == Kind::object && node->items.empty()) node->kind = Kind::array;
        if (node->kind == Kind::array) node->items.emplace_back();
      }
      if (node->kind == Kind::array && !node->items.empty()) node = &node->items.back();
      if (node->kind != Kind::object) {
        fail(path[i] + " is no table");
        return nullptr;
      }
    }
    node->headers.push_back({begin, at_});
    return node;
  }

  bool read_path(std::vector<std::string>& path) {
    const auto is_bare = [](unsigned char c) {
      return c < 0x80 && (std::isalnum(c) != 0 || c == '_' || c == '-');
    };
    do {
      skip_space();
      std::string key;
      if (comes_one_of("\"'")) {
        if (!read_string(key)) return false;
      } else {
        while (is_bare(peek())) key += text_[at_++];
        if (key.empty()) return fail("a key is missing");
      }
      path.push_back(std::move(key));
      skip_space();
    } while (take('.'));
    return path.size() <= kMaxTomlDepth || fail("too deep");
  }

  bool read_pair(JsonNode& table, size_t depth) {
    const size_t begin = at_;
    std::vector<std::string> path;
    if (!read_path(path)) return false;
    if (!take('=')) return fail("a '=' is missing");
    JsonNode* node = &table;
    for (size_t i = 0; i + 1 < path.size(); ++i) {
      node = &member(*node, path[i]);
      if (node->kind != Kind::object) return fail(path[i] + " is no table");
    }
    if (node->find(path.back()) != nullptr) return fail(path.back() + " occurs twice");
    JsonNode value;
    if (!read_value(value, depth)) return false;
    value.pair = {begin, value.value.end};
    member(*node, path.back()) = std::move(value);
    return true;
  }

  bool read_value(JsonNode& out, size_t depth) {
    if (depth > kMaxTomlDepth) return fail("too deep");
    skip_space();
    const size_t begin = at_;
    bool is_good = true;
    if (comes_one_of("\"'")) {
      std::string text;
      is_good = read_string(text);
      out = string_node(text);
    } else if (take('[')) {
      is_good = read_array(out, depth);
    } else if (take('{')) {
      is_good = read_inline_table(out, depth);
    } else {
      const std::string_view word = take_until(",]}#\r\n \t");
      is_good = !word.empty() || fail("a value is missing");
      out = string_node(word);
      if (word == "true" || word == "false") out.scalar = word;
    }
    out.value = {begin, at_};
    return is_good;
  }

  bool read_array(JsonNode& out, size_t depth) {
    out.kind = Kind::array;
    for (skip_lines(); !take(']'); skip_lines()) {
      if (!read_value(out.items.emplace_back(), depth + 1)) return false;
      skip_lines();
      if (!take(',') && peek() != ']') return fail("an array has no end");
    }
    return true;
  }

  bool read_inline_table(JsonNode& out, size_t depth) {
    skip_space();
    if (take('}')) return true;
    do {
      if (!read_pair(out, depth + 1)) return false;
      skip_space();
    } while (take(','));
    return take('}') || fail("a table between braces has no end");
  }

  bool read_string(std::string& out) {
    const char quote = peek();
    const std::string ends(comes(std::string(3, quote)) ? 3 : 1, quote);
    at_ += ends.size();
    if (ends.size() == 3) {
      take('\r');
      take('\n');
    }
    while (!comes(ends)) {
      if (is_at_end() || (ends.size() == 1 && peek() == '\n')) return fail("a text has no end");
      if (quote == '"' && take('\\')) {
        if (!read_escape(out)) return fail("a wrong escape");
      } else {
        out += text_[at_++];
      }
    }
    at_ += ends.size();
    // Up to two quotes may stand before the closing ones.
    for (int i = 0; ends.size() == 3 && i < 2 && peek() == quote; ++i) out += text_[at_++];
    return true;
  }

  bool read_escape(std::string& out) {
    constexpr std::string_view kFrom = "btnfre\"\\";
    constexpr std::string_view kTo = "\b\t\n\f\r\x1b\"\\";
    if (comes_one_of(kFrom)) {
      out += kTo[kFrom.find(text_[at_++])];
      return true;
    }
    if (comes_one_of("\r\n \t")) {
      // A backslash at the end of a line takes the white space behind it along.
      while (comes_one_of("\r\n \t")) ++at_;
      return true;
    }
    const size_t digits = take('u') ? 4 : take('U') ? 8 : 0;
    const std::string_view hex = rest().substr(0, digits);
    uint32_t code = 0;
    const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), code, 16);
    const bool is_good = digits > 0 && hex.size() == digits && error == std::errc() &&
                         end == hex.data() + digits && code <= 0x10ffff &&
                         (code < 0xd800 || code > 0xdfff);
    if (is_good) append_utf8(out, code);
    if (is_good) at_ += digits;
    return is_good;
  }
};

}  // namespace

const JsonNode* JsonNode::find(std::string_view key) const {
  const auto found = std::ranges::find(keys, key);
  return found == keys.end() ? nullptr : &items[found - keys.begin()];
}

JsonNode* JsonNode::find(std::string_view key) {
  return const_cast<JsonNode*>(std::as_const(*this).find(key));
}

std::optional<std::string> JsonNode::text() const {
  if (!scalar.starts_with('"')) return std::nullopt;
  std::string scratch;
  return std::string(rpc::decode_string(rpc::string_content(scalar), scratch));
}

std::optional<std::string> JsonNode::literal() const {
  if (kind != Kind::scalar || scalar.starts_with('"') || scalar == "null") return std::nullopt;
  return scalar;
}

std::string JsonNode::json() const {
  std::string out;
  append_json(*this, out);
  return out;
}

std::string JsonNode::text_at(std::string_view key) const {
  const JsonNode* const item = find(key);
  return item == nullptr ? std::string() : item->text().value_or("");
}

bool JsonNode::is_true(std::string_view key) const {
  const JsonNode* const item = find(key);
  return item != nullptr && item->scalar == "true";
}

double JsonNode::number_at(std::string_view key) const {
  const JsonNode* const item = find(key);
  const std::string text = item == nullptr ? std::string() : item->literal().value_or("");
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

const std::vector<JsonNode>& JsonNode::list_at(std::string_view key) const {
  static const std::vector<JsonNode> kNone;
  const JsonNode* const item = find(key);
  return item == nullptr || item->kind != Kind::array ? kNone : item->items;
}

tl::expected<JsonNode, std::string> read_json(std::string_view text, size_t max_depth) {
  JsonReader reader(text, max_depth);
  JsonNode root;
  if (!reader.read(root)) return tl::unexpected("it is no JSON: " + reader.problem());
  // The reader passes over what is within scalars.
  simdjson::dom::parser parser;
  if (parser.parse(simdjson::padded_string(root.json())).error() != simdjson::SUCCESS) {
    return tl::unexpected<std::string>("it is no JSON");
  }
  return root;
}

tl::expected<JsonNode, std::string> read_toml(std::string_view text) {
  TomlReader reader(text);
  JsonNode root;
  if (!reader.read(root)) return tl::unexpected("it is no TOML: " + reader.problem());
  return root;
}

}  // namespace stdgate::tools

#include "gateway/tools/toml_json.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "gateway/rpc/json_string.h"

namespace stdgate::tools {

namespace {

using Node = TomlNode;

Node& member(Node& table, const std::string& key) {
  if (Node* const known = table.find(key)) return *known;
  table.keys.push_back(key);
  return table.items.emplace_back();
}

Node text_node(std::string_view value) {
  Node node;
  node.kind = Node::Kind::scalar;
  rpc::append_json_string(node.json, value);
  return node;
}

void write(const Node& node, std::string& out) {
  if (node.kind == Node::Kind::scalar) {
    out += node.json;
    return;
  }
  const bool is_table = node.kind == Node::Kind::table;
  out += is_table ? '{' : '[';
  for (size_t i = 0; i < node.items.size(); ++i) {
    if (i > 0) out += ',';
    if (is_table) {
      rpc::append_json_string(out, node.keys[i]);
      out += ':';
    }
    write(node.items[i], out);
  }
  out += is_table ? '}' : ']';
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

bool is_bare(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

// Gives nothing after the first mistake, which stands in problem() then.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::optional<Node> read() {
    Node root;
    Node* table = &root;
    if (constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF"; comes(kByteOrderMark)) {
      at_ += kByteOrderMark.size();
    }
    for (skip_lines(); at_ < text_.size(); skip_lines()) {
      table = peek() == '[' ? read_header(root) : read_pair(*table, 0) ? table : nullptr;
      if (table == nullptr || !end_line()) return std::nullopt;
    }
    return root;
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  [[nodiscard]] char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  [[nodiscard]] bool comes(std::string_view word) const {
    return text_.substr(at_).starts_with(word);
  }
  bool take(char c) {
    if (peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  bool fail(std::string_view what) {
    const std::string_view before = text_.substr(0, at_);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    problem_ = "line " + std::to_string(line) + ": " + std::string(what);
    return false;
  }
  void skip_space() {
    while (peek() == ' ' || peek() == '\t') ++at_;
    if (peek() == '#') at_ = std::min(text_.find('\n', at_), text_.size());
  }
  void skip_lines() {
    for (skip_space(); peek() == '\n' || peek() == '\r'; skip_space()) ++at_;
  }
  bool end_line() {
    skip_space();
    return at_ == text_.size() || peek() == '\n' || peek() == '\r' ||
           fail("something stands behind the value");
  }

  // [a.b] and [[a.b]]; null: a mistake.
  Node* read_header(Node& root) {
    const bool is_item = comes("[[");
    const size_t begin = at_;
    at_ += is_item ? 2 : 1;
    std::vector<std::string> path;
    if (!read_path(path)) return nullptr;
    if (!comes(is_item ? "]]" : "]")) {
      fail("a table's name has no end");
      return nullptr;
    }
    at_ += is_item ? 2 : 1;
    Node* node = &root;
    for (size_t i = 0; i < path.size(); ++i) {
      node = &member(*node, path[i]);
      if (is_item && i + 1 == path.size() && node->kind == Node::Kind::table &&
          node->items.empty()) {
        node->kind = Node::Kind::array;
      }
      if (node->kind == Node::Kind::array && is_item && i + 1 == path.size()) {
        node->items.emplace_back();
      }
      if (node->kind == Node::Kind::array && !node->items.empty()) node = &node->items.back();
      if (node->kind != Node::Kind::table) {
        fail(path[i] + " is no table");
        return nullptr;
      }
    }
    node->headers.push_back({begin, at_});
    return node;
  }

  bool read_path(std::vector<std::string>& path) {
    do {
      skip_space();
      std::string key;
      if (peek() == '"' || peek() == '\'') {
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

  bool read_pair(Node& table, size_t depth) {
    const size_t begin = at_;
    std::vector<std::string> path;
    if (!read_path(path)) return false;
    if (!take('=')) return fail("a '=' is missing");
    Node* node = &table;
    for (size_t i = 0; i + 1 < path.size(); ++i) {
      node = &member(*node, path[i]);
      if (node->kind != Node::Kind::table) return fail(path[i] + " is no table");
    }
    if (node->find(path.back()) != nullptr) return fail(path.back() + " occurs twice");
    Node value;
    if (!read_value(value, depth)) return false;
    value.pair = {begin, value.value.end};
    member(*node, path.back()) = std::move(value);
    return true;
  }

  bool read_value(Node& out, size_t depth) {
    if (depth > kMaxTomlDepth) return fail("too deep");
    skip_space();
    const size_t begin = at_;
    if (!read_any(out, depth)) return false;
    out.value = {begin, at_};
    return true;
  }

  bool read_any(Node& out, size_t depth) {
    if (peek() == '"' || peek() == '\'') {
      std::string text;
      if (!read_string(text)) return false;
      out = text_node(text);
      return true;
    }
    if (take('[')) return read_array(out, depth);
    if (take('{')) return read_inline_table(out, depth);
    const size_t end = std::min(text_.find_first_of(",]}#\r\n \t", at_), text_.size());
    const std::string_view word = text_.substr(at_, end - at_);
    if (word.empty()) return fail("a value is missing");
    at_ = end;
    out = text_node(word);
    if (word == "true" || word == "false") out.json = word;
    return true;
  }

  bool read_array(Node& out, size_t depth) {
    out.kind = Node::Kind::array;
    for (skip_lines(); !take(']'); skip_lines()) {
      if (!read_value(out.items.emplace_back(), depth + 1)) return false;
      skip_lines();
      if (!take(',') && peek() != ']') return fail("an array has no end");
    }
    return true;
  }

  bool read_inline_table(Node& out, size_t depth) {
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
      if (at_ >= text_.size() || (ends.size() == 1 && peek() == '\n')) {
        return fail("a text has no end");
      }
      if (quote == '"' && peek() == '\\') {
        if (!read_escape(out)) return false;
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
    ++at_;
    const char c = peek();
    ++at_;
    constexpr std::string_view kFrom = "btnfre\"\\";
    constexpr std::string_view kTo = "\b\t\n\f\r\x1b\"\\";
    if (const size_t known = kFrom.find(c); known != std::string_view::npos) {
      out += kTo[known];
    } else if (c == 'u' || c == 'U') {
      const size_t digits = c == 'u' ? 4 : 8;
      uint32_t code = 0;
      const std::string_view hex = text_.substr(std::min(at_, text_.size()), digits);
      const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), code, 16);
      const bool is_good = error == std::errc() && hex.size() == digits &&
                           end == hex.data() + digits && code <= 0x10ffff &&
                           (code < 0xd800 || code > 0xdfff);
      if (!is_good) return fail("a wrong escape");
      append_utf8(out, code);
      at_ += digits;
    } else if (c == '\n' || c == '\r' || c == ' ' || c == '\t') {
      // A backslash at the end of a line takes the white space behind it along.
      at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
    } else {
      return fail("a wrong escape");
    }
    return true;
  }

  const std::string_view text_;
  size_t at_ = 0;
  std::string problem_;
};

}  // namespace

TomlNode* TomlNode::find(std::string_view key) {
  const auto found = std::ranges::find(keys, key);
  return found == keys.end() ? nullptr : &items[found - keys.begin()];
}

const TomlNode* TomlNode::find(std::string_view key) const {
  const auto found = std::ranges::find(keys, key);
  return found == keys.end() ? nullptr : &items[found - keys.begin()];
}

tl::expected<TomlNode, std::string> read_toml(std::string_view text) {
  Reader reader(text);
  auto root = reader.read();
  if (!root) return tl::unexpected(reader.problem());
  return *std::move(root);
}

tl::expected<std::string, std::string> toml_as_json(std::string_view text) {
  const auto root = read_toml(text);
  if (!root) return tl::unexpected(root.error());
  std::string json;
  write(*root, json);
  return json;
}

}  // namespace stdgate::tools

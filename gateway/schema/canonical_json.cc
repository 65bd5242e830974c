#include "gateway/schema/canonical_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <vector>

#include "gateway/rpc/json_scanner.h"
#include "gateway/rpc/json_text.h"
#include "gateway/schema/json_tree.h"

namespace stdgate::schema {

namespace {

void append_string(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (byte >= 0x20) {
          out += c;
        } else {
          out.append("\\u00").append(1, kHex[byte >> 4U]).append(1, kHex[byte & 15U]);
        }
    }
  }
  out += '"';
}

// ECMA-262, Number::toString.
std::string ecma_number(double value) {
  if (value == 0) return "0";
  std::array<char, 32> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific)
          .ptr;
  std::string_view shortest(text.data(), static_cast<size_t>(end - text.data()));
  std::string out;
  if (shortest.starts_with('-')) {
    out = "-";
    shortest.remove_prefix(1);
  }
  const size_t e = shortest.find('e');
  std::string digits(shortest.substr(0, e));
  std::erase(digits, '.');
  int exponent = 0;
  const std::string_view power = shortest.substr(e + (shortest[e + 1] == '+' ? 2 : 1));
  std::from_chars(power.data(), power.data() + power.size(), exponent);
  const int count = static_cast<int>(digits.size());
  const int point = exponent + 1;  // digits before it
  if (count <= point && point <= 21) {
    return out.append(digits).append(static_cast<size_t>(point - count), '0');
  }
  if (0 < point && point <= 21) {
    digits.insert(static_cast<size_t>(point), 1, '.');
    return out.append(digits);
  }
  if (-6 < point && point <= 0) {
    return out.append("0.").append(static_cast<size_t>(-point), '0').append(digits);
  }
  if (count > 1) digits.insert(1, 1, '.');
  out.append(digits).append(exponent < 0 ? "e-" : "e+");
  return out.append(std::to_string(std::abs(exponent)));
}

void append_number(std::string& out, std::string_view raw) {
  double value = 0;
  const auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), value);
  if (error == std::errc() && end == raw.data() + raw.size()) {
    const std::string written = ecma_number(value);
    if (JsonNumber(written) == JsonNumber(raw)) {
      out += written;
      return;
    }
  }
  out += raw;
}

// As UTF-16 code units sort: beyond the first plane a character begins with 0xd800 to 0xdbff, which
// is less than 0xe000 to 0xffff.
bool is_less_utf16(std::string_view one, std::string_view other) {
  const auto [at, with] = std::ranges::mismatch(one, other);
  if (at == one.end() || with == other.end()) return one.size() < other.size();
  // A first byte of 0xee or 0xef stands for 0xe000 and above.
  const auto rank = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == 0xee || byte == 0xef ? byte + 0x100 : int{byte};
  };
  return rank(*at) < rank(*with);
}

void append_value(std::string& out, const JsonTree& tree, ValueId id) {
  std::string scratch;
  switch (tree.kind(id)) {
    case JsonKind::null:
    case JsonKind::boolean:
      out += tree.raw(id);
      return;
    case JsonKind::number:
      return append_number(out, tree.raw(id));
    case JsonKind::string:
      return append_string(out, tree.string(id, scratch));
    case JsonKind::array:
      out += '[';
      for (ValueId at = id + 1; at < tree.next(id); at = tree.next(at)) {
        if (at != id + 1) out += ',';
        append_value(out, tree, at);
      }
      out += ']';
      return;
    case JsonKind::object:
      break;
  }
  std::vector<std::pair<std::string, ValueId>> members;
  for (ValueId key = id + 1; key < tree.next(id); key = tree.next(key + 1)) {
    members.emplace_back(tree.string(key, scratch), key + 1);
  }
  std::ranges::sort(members, is_less_utf16, &std::pair<std::string, ValueId>::first);
  out += '{';
  for (const auto& [key, value] : members) {
    if (value != members.front().second) out += ',';
    append_string(out, key);
    out += ':';
    append_value(out, tree, value);
  }
  out += '}';
}

}  // namespace

std::optional<std::string> canonical_json(std::string_view text) {
  JsonTree tree;
  if (!tree.read(text) || find_duplicate_key(tree) || rpc::has_lone_surrogate(text))
    return std::nullopt;
  std::string out;
  append_value(out, tree, 0);
  return out;
}

bool is_json(std::string text) {
  std::array<char, kMaxJsonDepth> nesting{};
  rpc::JsonScanner scanner(text, nesting);
  const char* const end = scanner.scan_value(scanner.skip_space(scanner.begin()));
  if (end == nullptr) return false;
  const std::string_view rest = scanner.rest(end);
  return rest.find_first_not_of(" \t\r\n") == std::string_view::npos && rpc::valid_utf8(text);
}

}  // namespace stdgate::schema

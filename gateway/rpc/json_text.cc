#include "gateway/rpc/json_text.h"

#include <array>
#include <cstdint>
#include <cstring>

#include "gateway/base/check.h"
#include "gateway/base/encodings.h"
#include "gateway/base/text.h"
#include "gateway/rpc/json_reader.h"

namespace stdgate::rpc {

namespace {

// A few bytes of UTF-8: one code point.
struct Utf8 {
  char bytes[4] = {};
  size_t size = 0;
  [[nodiscard]] std::string_view view() const { return {bytes, size}; }
};

Utf8 encode(uint32_t code) {
  const auto tail = [code](int shift) {
    return static_cast<char>(0x80 | ((code >> shift) & 0x3f));
  };
  if (code < 0x80) return {{static_cast<char>(code)}, 1};
  if (code < 0x800) return {{static_cast<char>(0xc0 | (code >> 6)), tail(0)}, 2};
  if (code < 0x10000) return {{static_cast<char>(0xe0 | (code >> 12)), tail(6), tail(0)}, 3};
  return {{static_cast<char>(0xf0 | (code >> 18)), tail(12), tail(6), tail(0)}, 4};
}

uint32_t hex_value(char c) {
  if (c <= '9') return static_cast<uint32_t>(c - '0');
  return static_cast<uint32_t>((c | 0x20) - 'a' + 10);
}

uint32_t four_hex(const char* at) {
  return hex_value(at[0]) << 12 | hex_value(at[1]) << 8 | hex_value(at[2]) << 4 | hex_value(at[3]);
}

constexpr bool is_high_surrogate(uint32_t unit) { return unit >= 0xd800 && unit < 0xdc00; }
constexpr bool is_low_surrogate(uint32_t unit) { return unit >= 0xdc00 && unit < 0xe000; }

// Decodes the \uXXXX at the front of `raw`, with the second half if it begins a pair.
Utf8 take_unicode_escape(std::string_view& raw) {
  uint32_t code = four_hex(raw.data() + 2);
  raw.remove_prefix(6);
  if (is_high_surrogate(code) && raw.size() >= 6 && raw[0] == '\\' && raw[1] == 'u') {
    const uint32_t low = four_hex(raw.data() + 2);
    if (is_low_surrogate(low)) {
      raw.remove_prefix(6);
      return encode(0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00));
    }
  }
  if (is_high_surrogate(code) || is_low_surrogate(code)) code = 0xfffd;
  return encode(code);
}

Utf8 take_escape(std::string_view& raw) {
  STDGATE_CHECK(raw.size() >= 2 && raw[0] == '\\');
  const char kind = raw[1];
  if (kind == 'u') return take_unicode_escape(raw);
  raw.remove_prefix(2);
  switch (kind) {
    case 'b':
      return {{'\b'}, 1};
    case 'f':
      return {{'\f'}, 1};
    case 'n':
      return {{'\n'}, 1};
    case 'r':
      return {{'\r'}, 1};
    case 't':
      return {{'\t'}, 1};
    default:
      return {{kind}, 1};
  }
}

// Characters that readers that ignore case take for an ASCII letter, beside its capital.
struct Folded {
  std::string_view point;
  char letter;
};
constexpr std::array<Folded, 4> kFolded{{{"\u017f", 's'},    // long s
                                         {"\u212a", 'k'},    // the sign for kelvin
                                         {"\u0130", 'i'},    // with a dot above
                                         {"\u0131", 'i'}}};  // without one

// Takes a code point off `raw`. Its letter in lower case; another one is none that a key has.
char take_folded(std::string_view& raw) {
  Utf8 decoded;
  std::string_view point = raw;
  if (raw[0] == '\\') {
    decoded = take_escape(raw);
    point = decoded.view();
  }
  char letter = lower_ascii(point[0]);
  size_t size = 1;
  for (const Folded& folded : kFolded) {
    if (!point.starts_with(folded.point)) continue;
    letter = folded.letter;
    size = folded.point.size();
  }
  if (decoded.size == 0) raw.remove_prefix(size);
  return letter;
}

}  // namespace

bool has_lone_surrogate(std::string_view raw) {
  for (size_t at = raw.find('\\'); at != std::string_view::npos; at = raw.find('\\')) {
    raw.remove_prefix(at);
    if (raw[1] != 'u') {
      raw.remove_prefix(2);
      continue;
    }
    const uint32_t unit = four_hex(raw.data() + 2);
    const size_t length = raw.size();
    take_unicode_escape(raw);
    const bool was_pair = length - raw.size() > 6;
    if ((is_high_surrogate(unit) || is_low_surrogate(unit)) && !was_pair) return true;
  }
  return false;
}

std::string_view decode_string(std::string_view raw, std::string& scratch) {
  size_t plain = raw.find('\\');
  if (plain == std::string_view::npos) return raw;
  scratch.clear();
  while (plain != std::string_view::npos) {
    scratch += raw.substr(0, plain);
    raw.remove_prefix(plain);
    scratch += take_escape(raw).view();
    plain = raw.find('\\');
  }
  scratch += raw;
  return scratch;
}

bool json_string_equals(std::string_view raw, std::string_view decoded) {
  // An escape is longer than the character that it stands for.
  if (raw.size() <= decoded.size()) return raw == decoded && !has_escapes(raw);
  if (!has_escapes(raw)) return false;
  while (!raw.empty()) {
    if (raw[0] != '\\') {
      if (decoded.empty() || raw[0] != decoded[0]) return false;
      raw.remove_prefix(1);
      decoded.remove_prefix(1);
      continue;
    }
    const Utf8 point = take_escape(raw);
    if (!decoded.starts_with(point.view())) return false;
    decoded.remove_prefix(point.size);
  }
  return decoded.empty();
}

bool json_string_resembles(std::string_view raw, std::string_view key) {
  if (raw == key) return true;
  for (const char expected : key) {
    if (raw.empty() || take_folded(raw) != lower_ascii(expected)) return false;
  }
  return raw.empty();
}

std::string folded_key(std::string_view raw) {
  std::string folded;
  while (!raw.empty()) folded += take_folded(raw);
  return folded;
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  append_visible(out, text, VisibleText::json);
  out += '"';
}

void JsonWriter::text(std::string_view key, std::string_view value) {
  start_item(key);
  append_json_string(out_, value);
}

void JsonWriter::raw(std::string_view key, std::string_view value) {
  start_item(key);
  out_ += value;
}

void JsonWriter::begin(std::string_view key, char bracket) {
  start_item(key);
  out_ += bracket;
  ++depth_;
  first_ = true;
}

void JsonWriter::end(char bracket) {
  --depth_;
  if (!first_ && layout_ == Layout::lines) start_line();
  out_ += bracket;
  first_ = false;
}

void JsonWriter::start_item(std::string_view key) {
  if (!first_) out_ += ',';
  if (depth_ > 0 && layout_ == Layout::lines) start_line();
  first_ = false;
  if (key.empty()) return;
  append_json_string(out_, key);
  out_ += layout_ == Layout::lines ? ": " : ":";
}

namespace {

class Cutter {
 public:
  Cutter(std::string_view object, ElementFilter& filter, std::string& out)
      : filter_(filter), out_(out), copied_(object.data()), end_(copied_ + object.size()) {}

  void cut(std::string_view array) {
    JsonCursor cursor(array);
    if (!cursor.take('[') || cursor.take(']')) return;
    bool some_kept = false;
    const char* comma = nullptr;  // before the element
    do {
      const std::string_view element = cursor.take_value();
      const char* const element_end = element.data() + element.size();
      if (!filter_.keeps(element)) {
        drop(comma == nullptr ? element.data() : comma, element_end);
      } else {
        if (!some_kept && comma != nullptr) drop(comma, comma + 1);
        some_kept = true;
      }
      cursor.skip_space();
      comma = cursor.position();
    } while (cursor.take(','));
  }

  void replace(std::string_view value, std::string_view with) {
    drop(value.data(), value.data() + value.size());
    out_ += with;
  }

  // Whether anything has changed.
  bool finish() {
    if (!changed_) return false;
    out_.append(copied_, end_);
    return true;
  }

 private:
  void drop(const char* from, const char* to) {
    out_.append(copied_, from);
    copied_ = to;
    changed_ = true;
  }

  ElementFilter& filter_;
  std::string& out_;
  const char* copied_;  // up to here it is in out_, or dropped
  const char* const end_;
  bool changed_ = false;
};

}  // namespace

bool cut_elements(std::string_view object, std::string_view member, ElementFilter& filter,
                  const MemberReplacement& replacement, std::string& out) {
  JsonCursor cursor(object);
  if (!cursor.take('{') || cursor.take('}')) return false;
  Cutter cutter(object, filter, out);
  do {
    const std::string_view quoted = cursor.take_string();
    const std::string_view key = quoted.substr(1, quoted.size() - 2);
    cursor.take(':');
    const std::string_view value = cursor.take_value();
    if (json_string_equals(key, member)) {
      cutter.cut(value);
    } else if (!replacement.key.empty() && value != replacement.value &&
               json_string_equals(key, replacement.key)) {
      cutter.replace(value, replacement.value);
    }
  } while (cursor.take(','));
  return cutter.finish();
}

}  // namespace stdgate::rpc

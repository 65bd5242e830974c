#include "gateway/base/encodings.h"

#include <algorithm>
#include <cstdint>

namespace stdgate {

namespace {

constexpr size_t kMaxSequence = 4;

// The size that `lead` announces; 0 for a byte that begins no sequence.
size_t announced_size(uint8_t lead) {
  if (lead < 0x80) return 1;
  return lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
}

bool is_continuation(uint8_t byte) { return (byte & 0xc0) == 0x80; }

constexpr char kHex[] = "0123456789abcdef";

bool is_within_quotes(VisibleText form) {
  return form == VisibleText::json || form == VisibleText::quoted;
}

// The code point of a well-formed sequence of 2 or 3 bytes. No escaped character has 4.
uint32_t code_point(std::string_view sequence) {
  const auto bits = [sequence](size_t i, uint32_t mask) {
    return static_cast<uint8_t>(sequence[i]) & mask;
  };
  if (sequence.size() == 2) return bits(0, 0x1f) << 6 | bits(1, 0x3f);
  return bits(0, 0x0f) << 12 | bits(1, 0x3f) << 6 | bits(2, 0x3f);
}

// For code points above ASCII.
bool is_hidden(uint32_t code) {
  return code < 0xa0 ||                         // C1 controls
         code == 0x61c ||                       // Arabic letter mark
         (code >= 0x200e && code <= 0x200f) ||  // left-to-right and right-to-left mark
         (code >= 0x2028 && code <= 0x202e) ||  // separators, embeddings, overrides
         (code >= 0x2066 && code <= 0x2069) ||  // isolates
         code == 0xfeff;                        // byte order mark
}

void append_code_unit(std::string& out, uint32_t unit) {
  out += {'\\',           'u', kHex[unit >> 12 & 15], kHex[unit >> 8 & 15], kHex[unit >> 4 & 15],
          kHex[unit & 15]};
}

void append_bad_byte(std::string& out, uint8_t byte, VisibleText form) {
  if (form == VisibleText::json) return append_code_unit(out, 0xfffd);
  out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
}

bool is_plain_ascii(char c, VisibleText form) {
  if (c == '\n') return form == VisibleText::lines;
  if (c == '"' || c == '\\') return !is_within_quotes(form);
  return c >= 0x20 && c < 0x7f;
}

void append_ascii_escape(std::string& out, char c) {
  switch (c) {
    case '"':
    case '\\':
      out += {'\\', c};
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      append_code_unit(out, static_cast<uint8_t>(c));
  }
}

}  // namespace

size_t utf8_sequence_size(std::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  const size_t size = announced_size(lead);
  if (size == 0 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if (!is_continuation(byte(i))) return 0;
  }
  const bool overlong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xf0 && byte(1) < 0x90);
  const bool surrogate = lead == 0xed && byte(1) >= 0xa0;
  const bool beyond = lead == 0xf4 && byte(1) >= 0x90;
  return overlong || surrogate || beyond ? 0 : size;
}

size_t incomplete_utf8_tail(std::string_view text) {
  for (size_t tail = 1; tail < kMaxSequence && tail <= text.size(); ++tail) {
    const auto byte = static_cast<uint8_t>(text[text.size() - tail]);
    if (is_continuation(byte)) continue;
    return announced_size(byte) > tail ? tail : 0;
  }
  return 0;
}

std::string_view cut_utf8(std::string_view text, size_t limit) {
  if (text.size() <= limit) return text;
  const std::string_view cut = text.substr(0, limit);
  return cut.substr(0, cut.size() - incomplete_utf8_tail(cut));
}

void append_visible(std::string& out, std::string_view text, VisibleText form) {
  while (!text.empty()) {
    const auto byte = static_cast<uint8_t>(text.front());
    if (byte < 0x80) {
      const auto escaped = std::find_if_not(text.begin(), text.end(),
                                            [form](char c) { return is_plain_ascii(c, form); });
      const auto plain = static_cast<size_t>(escaped - text.begin());
      out += text.substr(0, plain);
      text.remove_prefix(plain);
      if (plain > 0) continue;
      append_ascii_escape(out, text.front());
      text.remove_prefix(1);
      continue;
    }
    const size_t size = utf8_sequence_size(text);
    if (size == 0) {
      append_bad_byte(out, byte, form);
      text.remove_prefix(1);
      continue;
    }
    const std::string_view sequence = text.substr(0, size);
    const uint32_t code = size < 4 ? code_point(sequence) : 0x10000;
    if (is_hidden(code)) {
      append_code_unit(out, code);
    } else {
      out += sequence;
    }
    text.remove_prefix(size);
  }
}

std::string visible(std::string_view text, VisibleText form) {
  std::string out;
  append_visible(out, text, form);
  return out;
}

namespace {

constexpr std::string_view kUrlDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// -1: the character is not in the alphabet.
int digit_of(char c, Base64Alphabet alphabet) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  const bool is_url = alphabet == Base64Alphabet::url;
  if (c == (is_url ? '-' : '+')) return 62;
  if (c == (is_url ? '_' : '/')) return 63;
  return -1;
}

}  // namespace

std::string encode_base64url(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() * 4 + 2) / 3);
  uint32_t bits = 0;
  int count = 0;  // bits that have not been written
  for (const char byte : bytes) {
    bits = bits << 8 | static_cast<uint8_t>(byte);
    count += 8;
    while (count >= 6) {
      count -= 6;
      text += kUrlDigits[bits >> count & 63];
    }
  }
  if (count > 0) text += kUrlDigits[bits << (6 - count) & 63];
  return text;
}

std::optional<std::string> decode_base64(std::string_view text, Base64Alphabet alphabet) {
  if (text.size() % 4 == 1) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  uint32_t bits = 0;
  int count = 0;  // bits that do not make a byte yet
  for (const char c : text) {
    const int digit = digit_of(c, alphabet);
    if (digit < 0) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 255);
  }
  const uint32_t rest = bits & ((uint32_t{1} << count) - 1);
  if (rest != 0) return std::nullopt;
  return bytes;
}

}  // namespace stdgate

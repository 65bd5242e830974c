#include "gateway/base/base64.h"

#include <cstdint>

namespace stdgate {

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

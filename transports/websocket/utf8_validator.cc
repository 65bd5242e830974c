#include "transports/websocket/utf8_validator.h"

#include <simdjson.h>

#include <algorithm>

namespace stdgate::websocket {

namespace {

// Bytes of the character that `lead` begins; 0: it begins none.
uint8_t character_size(uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xc2) return 0;
  if (lead < 0xe0) return 2;
  if (lead < 0xf0) return 3;
  return lead < 0xf5 ? 4 : 0;
}

// Where the last character begins if some of it is missing; else the end.
size_t begin_of_cut_character(std::string_view text) {
  const size_t longest = std::min<size_t>(text.size(), 3);
  for (size_t length = 1; length <= longest; ++length) {
    const auto byte = static_cast<uint8_t>(text[text.size() - length]);
    if ((byte & 0xc0) == 0x80) continue;
    return character_size(byte) > length ? text.size() - length : text.size();
  }
  return text.size();
}

}  // namespace

bool Utf8Validator::feed(std::string_view piece) {
  while (missing_ > 0 && !piece.empty()) {
    if (!feed_byte(static_cast<uint8_t>(piece.front()))) return false;
    piece.remove_prefix(1);
  }
  const size_t cut = begin_of_cut_character(piece);
  if (!simdjson::validate_utf8(piece.data(), cut)) return false;
  if (cut == piece.size()) return true;
  if (!begin_character(static_cast<uint8_t>(piece[cut]))) return false;
  return std::ranges::all_of(piece.substr(cut + 1),
                             [this](char byte) { return feed_byte(static_cast<uint8_t>(byte)); });
}

// RFC 3629 section 4: no overlong forms, no surrogates, nothing beyond U+10FFFF.
bool Utf8Validator::begin_character(uint8_t lead) {
  const uint8_t size = character_size(lead);
  if (size == 0) return false;
  missing_ = size - 1;
  low_ = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  high_ = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  return true;
}

bool Utf8Validator::feed_byte(uint8_t byte) {
  if (byte < low_ || byte > high_) return false;
  --missing_;
  low_ = 0x80;
  high_ = 0xbf;
  return true;
}

}  // namespace stdgate::websocket

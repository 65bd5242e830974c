// LogStyle: how the fields of a log line are spelled, as text (key=value) or as JSON.
//
// The functions write to a place that has enough room, and return the end of what they wrote. The
// place is handed on and not kept in an object, which would go to memory and back with each
// character; keys that are constants cost a few moves. Owner of the place: the caller. Limits: a
// text is cut at kMaxText, between characters; Style::room_for() says what a field takes at most.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "gateway/base/encodings.h"
#include "gateway/base/text.h"
#include "gateway/base/time.h"

namespace stdgate::logs::log_style {

constexpr size_t kMaxText = 64 << 10;
constexpr size_t kMaxNumber = 32;
constexpr size_t kMaxEscape = 6;    // of one byte, "\u0000"
constexpr size_t kPunctuation = 8;  // quotes, separator and line end around a field

// More than a field takes.
inline size_t room_for(std::string_view key, std::string_view text) {
  return key.size() + kPunctuation + kMaxEscape * std::min(text.size(), kMaxText);
}
inline size_t room_for_number(std::string_view key) {
  return key.size() + kPunctuation + kMaxNumber;
}

// Characters that need no escape in a JSON string.
inline constexpr std::array<bool, 256> kJsonPlain = [] {
  std::array<bool, 256> table{};
  for (size_t c = 0x20; c < 0x7f; ++c) table[c] = c != '"' && c != '\\';
  return table;
}();

// Text that a reader of key=value takes as one word, and a terminal as nothing but text.
inline constexpr std::array<bool, 256> kWord = [] {
  std::array<bool, 256> table = kJsonPlain;
  table[' '] = table['='] = false;
  return table;
}();

inline bool consists_of(std::string_view text, const std::array<bool, 256>& table) {
  return std::all_of(text.begin(), text.end(),
                     [&table](char c) { return table[static_cast<uint8_t>(c)]; });
}

template <class Number>
char* write_number(char* to, Number number) {
  if (number >= 0 && number < 10) {
    *to = static_cast<char>('0' + static_cast<char>(number));
    return to + 1;
  }
  return std::to_chars(to, to + kMaxNumber, number).ptr;
}

inline char* write_double(char* to, double number) {
  if (!std::isfinite(number)) return copy_text(to, "null");  // JSON has no infinity
  return std::to_chars(to, to + kMaxNumber, number).ptr;
}

// To whole microseconds, halves to the even one: std::chrono::round costs three times as much.
inline uint64_t round_to_us(Duration duration) {
  static_assert(std::is_same_v<Duration::period, std::nano>);
  const auto ns = static_cast<uint64_t>(std::max<int64_t>(0, duration.count()));
  const uint64_t us = ns / 1000;
  return us + (ns % 1000 + us % 2 > 500 ? 1 : 0);
}

// Only whole microseconds mean something: up to three decimals, without trailing zeros.
inline char* write_milliseconds(char* to, Duration duration) {
  const uint64_t us = round_to_us(duration);
  to = write_number(to, us / 1000);
  const auto rest = static_cast<uint32_t>(us % 1000);
  if (rest == 0) return to;
  to[0] = '.';
  to[1] = static_cast<char>('0' + rest / 100);
  to[2] = static_cast<char>('0' + rest / 10 % 10);
  to[3] = static_cast<char>('0' + rest % 10);
  return to + (to[3] != '0' ? 4 : to[2] != '0' ? 3 : 2);
}

// `scratch` is for a text with escapes.
inline char* write_quoted(char* to, std::string_view text, std::string& scratch, VisibleText form) {
  if (!consists_of(text, kJsonPlain)) {
    scratch.clear();
    append_visible(scratch, text, form);
    text = scratch;
  }
  *to++ = '"';
  to = copy_text(to, text);
  *to++ = '"';
  return to;
}

// Style of a line for people: an event, and fields as key=value.
struct Text {
  static constexpr std::string_view kLineEnd = "\n";

  static char* write_event(char* to, std::string_view event, std::string& /*scratch*/) {
    return copy_text(to, event);
  }
  [[gnu::always_inline]] static char* write_key(char* to, std::string_view key) {
    *to++ = ' ';
    to = copy_text(to, key);
    *to++ = '=';
    return to;
  }
  // Of letters and underscores.
  static char* write_word(char* to, std::string_view word) { return copy_text(to, word); }
  static char* write_text(char* to, std::string_view text, std::string& scratch) {
    text = cut_utf8(text, kMaxText);
    const bool is_word = !text.empty() && consists_of(text, kWord);
    return is_word ? copy_text(to, text) : write_quoted(to, text, scratch, VisibleText::quoted);
  }
};

// Style of a line that is a JSON object.
struct Json {
  static constexpr std::string_view kLineEnd = "}\n";

  static char* write_event(char* to, std::string_view event, std::string& scratch) {
    return write_quoted(to, event, scratch, VisibleText::json);
  }
  [[gnu::always_inline]] static char* write_key(char* to, std::string_view key) {
    to = copy_text(to, ",\"");
    to = copy_text(to, key);
    return copy_text(to, "\":");
  }
  static char* write_word(char* to, std::string_view word) {
    *to++ = '"';
    to = copy_text(to, word);
    *to++ = '"';
    return to;
  }
  static char* write_text(char* to, std::string_view text, std::string& scratch) {
    return write_quoted(to, cut_utf8(text, kMaxText), scratch, VisibleText::json);
  }
};

// Inline, so that a constant key compiles to a few moves.
template <class Style>
[[gnu::always_inline]] inline char* write_field(char* to, std::string_view key,
                                                std::string_view text, std::string& scratch) {
  return Style::write_text(Style::write_key(to, key), text, scratch);
}
template <class Style>
[[gnu::always_inline]] inline char* write_word_field(char* to, std::string_view key,
                                                     std::string_view word) {
  return Style::write_word(Style::write_key(to, key), word);
}
template <class Style>
[[gnu::always_inline]] inline char* write_field(char* to, std::string_view key, uint64_t number) {
  return write_number(Style::write_key(to, key), number);
}
template <class Style>
[[gnu::always_inline]] inline char* write_field(char* to, std::string_view key, Duration duration) {
  return write_milliseconds(Style::write_key(to, key), duration);
}

}  // namespace stdgate::logs::log_style

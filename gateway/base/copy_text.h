// copy_text: copies a text to `to`, where there is room for it, and returns the end of the copy.
//
// Most pieces of messages and log lines are so short that a call of memcpy would cost more than the
// copy.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

namespace stdgate {

template <size_t kSize>
char* copy_ends(char* to, std::string_view text) {
  std::memcpy(to, text.data(), kSize);
  std::memcpy(to + text.size() - kSize, text.data() + text.size() - kSize, kSize);
  return to + text.size();
}

inline char* copy_text(char* to, std::string_view text) {
  const size_t size = text.size();
  if (size >= 4) {
    if (size < 8) return copy_ends<4>(to, text);
    if (size <= 16) return copy_ends<8>(to, text);
    if (size <= 32) return copy_ends<16>(to, text);
    std::memcpy(to, text.data(), size);
    return to + size;
  }
  if (size >= 2) return copy_ends<2>(to, text);
  if (size == 1) *to = text[0];
  return to + size;
}

}  // namespace stdgate

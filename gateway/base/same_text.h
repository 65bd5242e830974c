// same_text(): whether a text is a constant one. same_short_text(): whether two texts are the same,
// most of which are short.
//
// The constant's size is known where this is inlined, so that nothing is called: names of methods
// are compared several times a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace stdgate {

[[gnu::always_inline]] inline bool same_text(std::string_view text, std::string_view constant) {
  return text.size() == constant.size() &&
         std::memcmp(text.data(), constant.data(), constant.size()) == 0;
}

// Texts of four to eight bytes are compared in place.
inline bool same_short_text(std::string_view one, std::string_view other) {
  const size_t size = one.size();
  if (size != other.size()) return false;
  if (size < sizeof(uint32_t) || size > 2 * sizeof(uint32_t)) return one == other;
  const auto word = [](const char* at) {
    uint32_t bytes = 0;
    std::memcpy(&bytes, at, sizeof bytes);
    return bytes;
  };
  const size_t rest = size - sizeof(uint32_t);
  return word(one.data()) == word(other.data()) &&
         word(one.data() + rest) == word(other.data() + rest);
}

}  // namespace stdgate

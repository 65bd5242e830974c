// same_text(): whether a text is a constant one.
//
// The constant's size is known where this is inlined, so that nothing is called: names of methods
// are compared several times a call.
#pragma once

#include <cstring>
#include <string_view>

namespace stdgate {

[[gnu::always_inline]] inline bool same_text(std::string_view text, std::string_view constant) {
  return text.size() == constant.size() &&
         std::memcmp(text.data(), constant.data(), constant.size()) == 0;
}

}  // namespace stdgate

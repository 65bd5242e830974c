// TextPlace: the place of a part of a text; and a text with another part in its place.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace stdgate {

// An absent part has length zero.
struct TextPlace {
  size_t offset = 0;
  size_t length = 0;
};

// `part` is a view into `text`; an empty part has no place.
inline TextPlace place_of(std::string_view part, std::string_view text) {
  if (part.empty()) return {};
  return {static_cast<size_t>(part.data() - text.data()), part.size()};
}

// The text before the place, `with`, and the text behind the place.
inline std::array<std::string_view, 3> with_replaced(std::string_view text, TextPlace place,
                                                     std::string_view with) {
  return {text.substr(0, place.offset), with, text.substr(place.offset + place.length)};
}

}  // namespace stdgate

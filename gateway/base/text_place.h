// TextPlace: where a part of a text stands, and the text with something else in its place.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace stdgate {

// A place that does not exist has length zero.
struct TextPlace {
  size_t offset = 0;
  size_t length = 0;
};

// `part` is a view into `text`; an empty one has no place.
inline TextPlace place_of(std::string_view part, std::string_view text) {
  if (part.empty()) return {};
  return {static_cast<size_t>(part.data() - text.data()), part.size()};
}

// What stands before the place, `with`, and what stands behind the place.
inline std::array<std::string_view, 3> with_replaced(std::string_view text, TextPlace place,
                                                     std::string_view with) {
  return {text.substr(0, place.offset), with, text.substr(place.offset + place.length)};
}

}  // namespace stdgate

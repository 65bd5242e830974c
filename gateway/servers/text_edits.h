// TextEdits: a JSON text with other values in some places; all else is kept byte for byte.
//
// Owner: the function that changes a text, which outlives it. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/base/text.h"
#include "gateway/call/insertion.h"

namespace stdgate::servers {

class TextEdits {
 public:
  explicit TextEdits(std::string_view text) : text_(text) { edits_.reserve(kUsual); }
  TextEdits(const TextEdits&) = delete;
  TextEdits& operator=(const TextEdits&) = delete;

  // `part` is a view into the text. Parts do not overlap. The new text is copied.
  void replace(std::string_view part, std::string_view with) { add(place_of(part, text_), with); }
  void insert(const char* before, std::string_view what);
  // With its members, whatever era it is for.
  void insert(const call::Insertion& insertion);
  [[nodiscard]] std::string apply() const;
  // The place of a part of the text, or of what has replaced it, in what apply() has returned.
  [[nodiscard]] std::string_view moved(std::string_view part, std::string_view edited) const;

 private:
  struct Edit {
    TextPlace place;
    TextPlace added;  // in `added_`
    // How much longer the text becomes.
    [[nodiscard]] size_t growth() const { return added.length - place.length; }
  };

  static constexpr size_t kUsual = 4;  // edits of a text

  void add(TextPlace place, std::string_view with);

  const std::string_view text_;
  // Enough for what is usual, so that nothing is allocated.
  std::array<std::byte, 384> space_;
  std::pmr::monotonic_buffer_resource memory_{space_.data(), space_.size()};
  std::pmr::vector<Edit> edits_{&memory_};  // by place
  std::pmr::string added_{&memory_};
};

// `object` without the members whose keys, decoded, are to go.
std::string without_members(std::string_view object,
                            const std::function<bool(std::string_view key)>& goes);
// `array` without the texts that are to go, decoded.
std::string without_texts(std::string_view array,
                          const std::function<bool(std::string_view text)>& goes);
// `object` with this member, which replaces one of the same key, or is added as the last one.
std::string with_member(std::string_view object, std::string_view key, std::string_view value);
// A text as JSON, with its quotes.
std::string json_text(std::string_view text);
// Calls visit(value) for each element, raw.
void for_each_element(std::string_view array,
                      const std::function<void(std::string_view value)>& visit);

}  // namespace stdgate::servers

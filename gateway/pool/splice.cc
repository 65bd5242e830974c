#include "gateway/pool/splice.h"

#include <charconv>

namespace stdgate {

Splice::Splice(const Outgoing& message, std::optional<WireId> id) {
  std::string_view number;
  if (id) {
    const auto end = std::to_chars(digits_.data(), digits_.data() + digits_.size(), *id).ptr;
    number = {digits_.data(), static_cast<size_t>(end - digits_.data())};
  }
  edit(message.id, number);
  edit(message.progress_token, number);
  edit(message.replaced, message.replacement);
  const char* at = message.text.data();
  for (const auto& [place, with] : std::span(edits_).first(edit_count_)) {
    const char* const begin = message.text.data() + place.offset;
    add({at, begin});
    add(with);
    at = begin + place.length;
  }
  add({at, message.text.data() + message.text.size()});
}

void Splice::edit(Outgoing::Place place, std::string_view with) {
  if (place.length == 0) return;
  size_t i = edit_count_++;
  for (; i > 0 && edits_[i - 1].place.offset > place.offset; --i) edits_[i] = edits_[i - 1];
  edits_[i] = {place, with};
}

void Splice::add(std::string_view part) {
  parts_[count_++] = part;
  size_ += part.size();
}

}  // namespace stdgate

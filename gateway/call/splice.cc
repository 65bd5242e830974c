#include "gateway/call/splice.h"

#include <charconv>

#include "gateway/base/check.h"

namespace stdgate::call {

Splice::Splice(const Outgoing& message, std::optional<rpc::WireId> id,
               std::optional<PeerKind> peer_kind) {
  std::string_view number;
  if (id) {
    const auto end = std::to_chars(digits_.data(), digits_.data() + digits_.size(), *id).ptr;
    number = {digits_.data(), static_cast<size_t>(end - digits_.data())};
  }
  const bool only_id = message.id.length > 0 && message.inserted.empty() &&
                       message.progress_token.length == 0 && message.replaced.length == 0;
  if (only_id) {
    const size_t behind = message.id.offset + message.id.length;
    STDGATE_CHECK(behind <= message.text.size());
    const char* const text = message.text.data();
    parts_.list[1] = {text, message.id.offset};
    parts_.list[2] = number;
    parts_.list[3] = {text + behind, message.text.size() - behind};
    count_ = 4;
    size_ = message.text.size() - message.id.length + number.size();
    return;
  }
  // Insertions come before replacements at the same place.
  STDGATE_CHECK(message.inserted.size() <= Outgoing::kMaxInsertions);
  for (const Insertion& insertion : message.inserted) {
    if (insertion.only_for && *insertion.only_for != peer_kind.value_or(PeerKind::stateful))
      continue;
    put({insertion.offset, insertion.replaced, nullptr, 0, &insertion});
  }
  replace(message.id, number);
  replace(message.progress_token, number);
  replace(message.replaced, message.replacement);
  const char* at = message.text.data();
  for (const Edit& edit : std::span(edits_).first(edit_count_)) {
    const char* const begin = message.text.data() + edit.offset;
    add({at, begin});
    if (edit.insertion == nullptr) {
      add({edit.with, edit.with_length});
    } else {
      add(edit.insertion->head);
      add(edit.insertion->members);
      add(edit.insertion->tail);
    }
    at = begin + edit.length;
  }
  add({at, message.text.data() + message.text.size()});
}

void Splice::replace(TextPlace place, std::string_view with) {
  if (place.length > 0) put({place.offset, place.length, with.data(), with.size(), nullptr});
}

void Splice::put(const Edit& edit) {
  size_t i = edit_count_++;
  for (; i > 0 && edits_[i - 1].offset > edit.offset; --i) edits_[i] = edits_[i - 1];
  edits_[i] = edit;
}

void Splice::add(std::string_view part) {
  parts_.list[count_++] = part;
  size_ += part.size();
}

}  // namespace stdgate::call

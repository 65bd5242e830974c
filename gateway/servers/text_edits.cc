#include "gateway/servers/text_edits.h"

#include <utility>

#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"

namespace stdgate::servers {

void TextEdits::insert(const char* before, std::string_view what) {
  add({static_cast<size_t>(before - text_.data()), 0}, what);
}

void TextEdits::insert(const call::Insertion& insertion) {
  std::string what(insertion.head);
  what.append(insertion.members).append(insertion.tail);
  add({insertion.offset, insertion.replaced}, what);
}

// Edits of the same place keep their order.
void TextEdits::add(TextPlace place, std::string_view with) {
  Edit edit{place, {added_.size(), with.size()}};
  added_.append(with);
  edits_.push_back(edit);
  for (size_t i = edits_.size() - 1; i > 0 && place.offset < edits_[i - 1].place.offset; --i) {
    std::swap(edits_[i], edits_[i - 1]);
  }
}

std::string TextEdits::apply() const {
  std::string out;
  out.reserve(text_.size() + added_.size());
  const std::string_view all_added = added_;
  size_t at = 0;
  for (const auto& [place, added] : edits_) {
    out.append(text_.substr(at, place.offset - at));
    out.append(all_added.substr(added.offset, added.length));
    at = place.offset + place.length;
  }
  return out.append(text_.substr(at));
}

std::string_view TextEdits::moved(std::string_view part, std::string_view edited) const {
  if (part.empty()) return part;
  const TextPlace place = place_of(part, text_);
  size_t begin = place.offset;
  size_t end = begin + place.length;
  for (const Edit& edit : edits_) {
    if (edit.place.offset >= place.offset + place.length) break;
    end += edit.growth();
    if (edit.place.offset + edit.place.length <= place.offset) begin += edit.growth();
  }
  return edited.substr(begin, end - begin);
}

void for_each_element(std::string_view array,
                      const std::function<void(std::string_view value)>& visit) {
  rpc::JsonCursor cursor(array);
  if (!cursor.take('[') || cursor.take(']')) return;
  do {
    visit(cursor.take_value());
  } while (cursor.take(','));
}

std::string without_members(std::string_view object,
                            const std::function<bool(std::string_view key)>& goes) {
  std::string out = "{";
  rpc::JsonCursor cursor(object);
  if (!cursor.take('{') || cursor.take('}')) return std::string(object);
  std::string scratch;
  do {
    const char* const begin = cursor.position();
    const std::string_view quoted = cursor.take_string();
    cursor.take(':');
    const std::string_view value = cursor.take_value();
    if (goes(rpc::decode_string(quoted.substr(1, quoted.size() - 2), scratch))) continue;
    if (out.size() > 1) out += ',';
    out.append(begin, value.data() + value.size());
  } while (cursor.take(','));
  return out + "}";
}

std::string without_texts(std::string_view array,
                          const std::function<bool(std::string_view text)>& goes) {
  std::string out = "[";
  std::string scratch;
  for_each_element(array, [&](std::string_view value) {
    if (value.starts_with('"') && goes(rpc::decode_string(rpc::string_content(value), scratch))) {
      return;
    }
    if (out.size() > 1) out += ',';
    out.append(value);
  });
  return out + "]";
}

std::string with_member(std::string_view object, std::string_view key, std::string_view value) {
  if (const auto former = rpc::find_member(object, key)) {
    TextEdits edits(object);
    edits.replace(*former, value);
    return edits.apply();
  }
  std::string out(object.substr(0, object.find_last_of('}')));
  const bool is_empty = object.find_first_not_of(" \t\r\n", 1) == object.find_last_of('}');
  if (!is_empty) out += ',';
  rpc::append_json_string(out, key);
  return out.append(":").append(value).append("}");
}

std::string json_text(std::string_view text) {
  std::string out;
  rpc::append_json_string(out, text);
  return out;
}

}  // namespace stdgate::servers

#include "gateway/call/insertion.h"

#include "gateway/base/check.h"
#include "gateway/base/text.h"
#include "gateway/rpc/json_reader.h"

namespace stdgate::call {

namespace {

// Where the first member of the object stands, or would stand. `object` is a part of `text`.
size_t inside_of(std::string_view object, std::string_view text) {
  const size_t begin = place_of(object, text).offset;
  return begin + object.find('{') + 1;
}

bool is_object(std::string_view raw) { return !raw.empty() && raw.front() == '{'; }

bool is_empty_object(std::string_view raw) {
  return raw.find_first_not_of(" \t\r\n", 1) == raw.size() - 1;
}

}  // namespace

std::optional<Insertion> insertion_at(InsertionPlace place, const rpc::Envelope& message,
                                      std::string_view members, const rpc::Member* known_meta) {
  STDGATE_CHECK(!members.empty());
  const std::string_view text = message.text;
  const std::string_view params = message.params;
  const size_t in_envelope = inside_of(text, text);
  // A comma may follow, because an envelope has at least the member "jsonrpc".
  if (place == InsertionPlace::envelope) return Insertion{in_envelope, "", members, ","};
  const bool is_meta = place == InsertionPlace::meta;
  if (params.empty()) {
    // "params": null counts as missing, and is replaced by the object.
    if (const auto null = rpc::find_member(text, "params")) {
      return Insertion{place_of(*null, text).offset, is_meta ? R"({"_meta":{)" : "{", members,
                       is_meta ? "}}" : "}", null->size()};
    }
    return Insertion{in_envelope, is_meta ? R"("params":{"_meta":{)" : R"("params":{)", members,
                     is_meta ? "}}," : "},"};
  }
  if (!is_object(params)) return std::nullopt;
  const std::string_view comma = is_empty_object(params) ? "" : ",";
  if (!is_meta) return Insertion{inside_of(params, text), "", members, comma};
  const rpc::Member meta = known_meta != nullptr ? *known_meta : rpc::find_member(params, "_meta");
  if (meta) {
    if (!is_object(*meta)) return std::nullopt;
    return Insertion{inside_of(*meta, text), "", members, is_empty_object(*meta) ? "" : ","};
  }
  if (meta.error() == rpc::MemberError::duplicate) return std::nullopt;
  return Insertion{inside_of(params, text), R"("_meta":{)", members, comma.empty() ? "}" : "},"};
}

}  // namespace stdgate::call

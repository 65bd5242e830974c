#include "gateway/rpc/version_member.h"

#include "gateway/rpc/json_cursor.h"
#include "gateway/rpc/json_string.h"

namespace stdgate::rpc {

namespace {

constexpr std::string_view kKey = "jsonrpc";

std::string_view between(const char* begin, const char* end) {
  return {begin, static_cast<size_t>(end - begin)};
}

// Takes an object, and appends what stands between `kept` and its end but for the member; `kept` is
// where to go on.
void pass_object(JsonCursor& cursor, const char*& kept, std::string& out) {
  if (!cursor.take('{') || cursor.take('}')) return;
  const char* end_of_last = nullptr;  // of the member before; null: there is none
  for (;;) {
    const char* const begin = cursor.position();
    const std::string_view quoted = cursor.take_string();
    cursor.take(':');
    const std::string_view value = cursor.take_value();
    const char* const end = value.data() + value.size();
    const bool is_version = json_string_equals(quoted.substr(1, quoted.size() - 2), kKey);
    const bool goes_on = cursor.take(',');
    if (!is_version) {
      end_of_last = end;
    } else if (end_of_last != nullptr) {  // with the comma before it
      out.append(between(kept, end_of_last));
      kept = end;
    } else {  // with the comma behind it
      out.append(between(kept, begin));
      kept = goes_on ? cursor.position() : end;
    }
    if (!goes_on) break;
  }
  cursor.take('}');
}

}  // namespace

std::string without_version(std::span<const std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  std::string out;
  out.reserve(text.size());
  JsonCursor cursor(text);
  const char* kept = text.data();
  cursor.skip_space();
  if (cursor.take('[')) {
    do {
      pass_object(cursor, kept, out);
    } while (cursor.take(','));
  } else {
    pass_object(cursor, kept, out);
  }
  out.append(between(kept, text.data() + text.size()));
  return out;
}

}  // namespace stdgate::rpc

#include "gateway/rpc/json_member.h"

#include <algorithm>

#include "gateway/rpc/json_cursor.h"
#include "gateway/rpc/json_string.h"

namespace stdgate::rpc {

namespace {

// The value of the only member whose key `is_key` takes.
template <class IsKey>
Member find_only(std::string_view object, IsKey&& is_key) {
  JsonCursor cursor(object);
  std::string_view found;
  if (!cursor.take('{') || cursor.take('}')) return tl::unexpected(MemberError::absent);
  do {
    const std::string_view quoted = cursor.take_string();
    cursor.take(':');
    const std::string_view value = cursor.take_value();
    if (!is_key(quoted.substr(1, quoted.size() - 2))) continue;
    if (!found.empty()) return tl::unexpected(MemberError::duplicate);
    found = value;
  } while (cursor.take(','));
  if (found.empty()) return tl::unexpected(MemberError::absent);
  return found;
}

}  // namespace

Member find_member(std::string_view object, std::string_view key) {
  return find_only(object, [key](std::string_view raw) { return json_string_equals(raw, key); });
}

void find_members(std::string_view object, std::span<const std::string_view> keys,
                  std::span<Member> found) {
  std::ranges::fill(found, tl::unexpected(MemberError::absent));
  JsonCursor cursor(object);
  if (!cursor.take('{') || cursor.take('}')) return;
  do {
    const std::string_view quoted = cursor.take_string();
    const std::string_view raw = quoted.substr(1, quoted.size() - 2);
    cursor.take(':');
    const std::string_view value = cursor.take_value();
    const bool is_plain = !has_escapes(raw);
    for (size_t i = 0; i < keys.size(); ++i) {
      if (is_plain ? raw != keys[i] : !json_string_equals(raw, keys[i])) continue;
      found[i] = is_absent(found[i]) ? Member(value) : tl::unexpected(MemberError::duplicate);
    }
  } while (cursor.take(','));
}

Member find_clear_member(std::string_view object, std::string_view key) {
  bool is_clear = true;
  auto found = find_only(object, [&](std::string_view raw) {
    if (!json_string_resembles(raw, key)) return false;
    is_clear = is_clear && json_string_equals(raw, key);
    return true;
  });
  if (!is_clear) return tl::unexpected(MemberError::duplicate);
  return found;
}

}  // namespace stdgate::rpc

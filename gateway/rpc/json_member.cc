#include "gateway/rpc/json_member.h"

#include "gateway/rpc/json_cursor.h"
#include "gateway/rpc/json_string.h"

namespace stdgate::rpc {

namespace {

// The value of the only member whose key `is_key` takes.
template <class IsKey>
tl::expected<std::string_view, MemberError> find_only(std::string_view object, IsKey&& is_key) {
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

tl::expected<std::string_view, MemberError> find_member(std::string_view object,
                                                        std::string_view key) {
  return find_only(object, [key](std::string_view raw) { return json_string_equals(raw, key); });
}

tl::expected<std::string_view, MemberError> find_clear_member(std::string_view object,
                                                              std::string_view key) {
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

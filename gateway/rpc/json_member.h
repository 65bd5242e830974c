// Looking into a payload that has been validated: the members of an object, or one by its key.
//
// Used for the few ids and tokens inside params that must be rewritten, and the names that rules
// judge; everything else in a payload stays unread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <tl/expected.hpp>

#include "gateway/rpc/json_cursor.h"
#include "gateway/rpc/json_string.h"

namespace stdgate::rpc {

enum class MemberError : uint8_t {
  absent,     // no such member, or `object` is no object
  duplicate,  // readers would disagree on which one counts: the member occurs twice, or so
};

using Member = tl::expected<std::string_view, MemberError>;
inline bool is_absent(const Member& member) {
  return !member && member.error() == MemberError::absent;
}

// Calls visit(key, value) for each member: the key as spelled between its quotes, the value raw. A
// text that is no object has none.
template <class Visit>
void for_each_member(std::string_view object, Visit&& visit) {
  JsonCursor cursor(object);
  if (!cursor.take('{') || cursor.take('}')) return;
  do {
    const std::string_view key = string_content(cursor.take_string());
    cursor.take(':');
    visit(key, cursor.take_value());
  } while (cursor.take(','));
}

// `object` is raw, valid JSON; `key` is compared with the decoded key. The answer is a view into
// `object`. Linear in the size of `object`.
Member find_member(std::string_view object, std::string_view key);

// As find_member(), but empty if there is no such member.
inline std::string_view member_or_empty(std::string_view object, std::string_view key) {
  return find_member(object, key).value_or(std::string_view());
}

// As find_member(), for several keys in one pass.
void find_members(std::string_view object, std::span<const std::string_view> keys,
                  std::span<Member> found);
template <size_t count>
std::array<Member, count> find_members(std::string_view object,
                                       const std::array<std::string_view, count>& keys) {
  std::array<Member, count> found;
  find_members(object, keys, found);
  return found;
}

// As find_members(), for members that are judged: a member whose key only resembles one of `keys`
// (json_string.h) is a duplicate too, as some readers take it for that one.
void find_clear_members(std::string_view object, std::span<const std::string_view> keys,
                        std::span<Member> found);
inline Member find_clear_member(std::string_view object, std::string_view key) {
  Member found;
  find_clear_members(object, {&key, 1}, {&found, 1});
  return found;
}

}  // namespace stdgate::rpc

#include "gateway/rpc/json_reader.h"

#include <algorithm>

namespace stdgate::rpc {

namespace {

void put(Member& found, std::string_view value) {
  found = is_absent(found) ? Member(value) : tl::unexpected(MemberError::duplicate);
}

}  // namespace

Member find_member(std::string_view object, std::string_view key) {
  Member found = tl::unexpected(MemberError::absent);
  for_each_member(object, [&](std::string_view raw, std::string_view value) {
    if (json_string_equals(raw, key)) put(found, value);
  });
  return found;
}

void find_members(std::string_view object, std::span<const std::string_view> keys,
                  std::span<Member> found) {
  std::ranges::fill(found, tl::unexpected(MemberError::absent));
  for_each_member(object, [&](std::string_view raw, std::string_view value) {
    const bool is_plain = !has_escapes(raw);
    for (size_t i = 0; i < keys.size(); ++i) {
      if (is_plain ? raw == keys[i] : json_string_equals(raw, keys[i])) put(found[i], value);
    }
  });
}

void find_clear_members(std::string_view object, std::span<const std::string_view> keys,
                        std::span<Member> found) {
  std::ranges::fill(found, tl::unexpected(MemberError::absent));
  for_each_member(object, [&](std::string_view raw, std::string_view value) {
    for (size_t i = 0; i < keys.size(); ++i) {
      if (!json_string_resembles(raw, keys[i])) continue;
      put(found[i], value);
      if (!json_string_equals(raw, keys[i])) found[i] = tl::unexpected(MemberError::duplicate);
    }
  });
}

}  // namespace stdgate::rpc

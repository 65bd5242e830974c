#include "gateway/rpc/json_reader.h"

#include <algorithm>

namespace stdgate::rpc {

const char* skip_json_string(const char* at, const char* end) {
  ++at;
  uint64_t non_ascii = 0;
  while (at != end) {
    at = find_string_special(at, end, non_ascii);
    if (at == end) break;
    if (*at == '"') return at + 1;
    at += std::min<ptrdiff_t>(*at == '\\' ? 2 : 1, end - at);
  }
  return end;
}

const char* skip_json_value(const char* at, const char* end) {
  size_t depth = 0;
  while (at != end) {
    const char c = *at;
    if (c == '"') {
      at = skip_json_string(at, end);
      if (depth == 0) return at;
      continue;
    }
    if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth == 0) return at;
      if (--depth == 0) return at + 1;
    } else if (c == ',' && depth == 0) {
      return at;
    }
    ++at;
  }
  return at;
}

bool JsonCursor::take(char c) {
  skip_space();
  if (at_ == end_ || *at_ != c) return false;
  ++at_;
  skip_space();
  return true;
}

std::string_view JsonCursor::take_value() {
  if (at_ != end_ && *at_ == '"') return take_string();
  std::string_view value = pass_to(skip_json_value(at_, end_));
  while (!value.empty() && is_json_space(value.back())) value.remove_suffix(1);
  return value;
}

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

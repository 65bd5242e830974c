// Reading JSON that has been validated: where values end, a cursor, and the members of an object.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include "gateway/rpc/json_scanner.h"
#include "gateway/rpc/json_text.h"

namespace stdgate::rpc {

// --- Where a string or a value ends, without checking it again
//
// If a text is not valid JSON, or is cut, each function still stops at the end of the text at the
// latest. [at, end) is the rest of the text.

inline bool is_json_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

inline const char* skip_json_space(const char* at, const char* end) {
  while (at != end && is_json_space(*at)) ++at;
  return at;
}

// Behind the closing quote of the string that opens at `at`.
const char* skip_json_string(const char* at, const char* end);

// Behind the value that begins at `at`. A number or a word ends at what separates values; space
// before that belongs to it.
const char* skip_json_value(const char* at, const char* end);

// JsonCursor: steps over the parts of a text that has been validated. Owner: the function that
// reads the text.
class JsonCursor {
 public:
  explicit JsonCursor(std::string_view text) : at_(text.data()), end_(at_ + text.size()) {}

  // Whether `c` is next; passes it and the space around it.
  bool take(char c);
  // With its quotes.
  std::string_view take_string() { return pass_to(skip_json_string(at_, end_)); }
  // Without the space behind it.
  std::string_view take_value();
  // Takes the value without scanning it, if it is `object` byte for byte; else returns nothing.
  // `object` may be empty.
  std::string_view take_object(std::string_view object) {
    return object.empty() || !rest().starts_with(object) ? std::string_view()
                                                         : pass_to(at_ + object.size());
  }
  // So many bytes, which are a value.
  std::string_view take_bytes(size_t length) { return pass_to(at_ + length); }
  // From here to the end.
  [[nodiscard]] std::string_view rest() const { return {at_, static_cast<size_t>(end_ - at_)}; }
  void skip_space() {
    if (at_ != end_ && *at_ <= ' ') at_ = skip_json_space(at_, end_);
  }
  [[nodiscard]] const char* position() const { return at_; }

 private:
  std::string_view pass_to(const char* position) {
    const char* const start = std::exchange(at_, position);
    return {start, static_cast<size_t>(position - start)};
  }

  const char* at_;
  const char* const end_;
};

// --- Members of an object in a payload that has been validated
//
// Used for the few ids and tokens inside params that must be rewritten, and for the names that
// rules judge. Everything else in a payload stays unread.

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
// (json_text.h) is a duplicate too, as some readers take it for that one.
void find_clear_members(std::string_view object, std::span<const std::string_view> keys,
                        std::span<Member> found);
inline Member find_clear_member(std::string_view object, std::string_view key) {
  Member found;
  find_clear_members(object, {&key, 1}, {&found, 1});
  return found;
}

}  // namespace stdgate::rpc

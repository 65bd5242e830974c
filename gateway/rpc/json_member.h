// Looking into a payload: the raw value of one member of an object that has been validated.
//
// Used for the few ids and tokens inside params that must be rewritten, and the names that rules
// judge; everything else in a payload stays unread.
#pragma once

#include <cstdint>
#include <string_view>
#include <tl/expected.hpp>

namespace stdgate::rpc {

enum class MemberError : uint8_t {
  absent,     // no such member, or `object` is no object
  duplicate,  // readers would disagree on which one counts: the member occurs twice, or so
};

// `object` is raw, valid JSON; `key` is compared with the decoded key. The answer is a view into
// `object`. Linear in the size of `object`.
tl::expected<std::string_view, MemberError> find_member(std::string_view object,
                                                        std::string_view key);

// The same for what a rule judges: a member whose key resembles `key` (json_string.h) but is
// another one is a duplicate too, as some readers take it for `key`.
tl::expected<std::string_view, MemberError> find_clear_member(std::string_view object,
                                                              std::string_view key);

}  // namespace stdgate::rpc

// Looking into a payload: the raw value of one member of an object that has been validated.
//
// Used for the few ids and tokens inside params that must be rewritten; everything else in a
// payload stays unread.
#pragma once

#include <cstdint>
#include <string_view>
#include <tl/expected.hpp>

namespace stdgate::rpc {

enum class MemberError : uint8_t {
  absent,     // no such member, or `object` is no object
  duplicate,  // the member occurs twice: readers would disagree on which one counts
};

// `object` is raw, valid JSON; `key` is compared with the decoded key. The answer is a view into
// `object`. Linear in the size of `object`.
tl::expected<std::string_view, MemberError> find_member(std::string_view object,
                                                        std::string_view key);

}  // namespace stdgate::rpc

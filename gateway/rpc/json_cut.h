// JSON cut: an object without some elements of one of its arrays; the rest is kept byte for byte.
// Owner: none; no state. Limit: the text itself.
#pragma once

#include <string>
#include <string_view>

namespace stdgate::rpc {

struct ElementFilter {
  virtual ~ElementFilter() = default;
  // `element` is raw JSON.
  virtual bool keeps(std::string_view element) = 0;
};

// The new value of a member, if the object has that member. Empty key: no replacement.
struct MemberReplacement {
  std::string_view key;
  std::string_view value;  // raw JSON
};

// Appends `object`, raw and valid JSON, to `out`, without the elements of its array `member` that
// `filter` does not keep. Each goes with the comma before it, the first ones with the comma behind
// them. A member that occurs twice is cut twice. False: nothing was to change, and `out` is as it
// was.
bool cut_elements(std::string_view object, std::string_view member, ElementFilter& filter,
                  const MemberReplacement& replacement, std::string& out);

}  // namespace stdgate::rpc

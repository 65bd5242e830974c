#include "gateway/rpc/json_member.h"

#include <utility>

#include "gateway/rpc/json_string.h"
#include "gateway/rpc/json_walk.h"

namespace stdgate::rpc {
namespace {

// Steps over parts of a valid text.
class Skipper {
 public:
  explicit Skipper(std::string_view text) : at_(text.data()), end_(at_ + text.size()) {}

  // Whether `c` is next; passes it and the space around it.
  bool take(char c) {
    at_ = skip_json_space(at_, end_);
    if (at_ == end_ || *at_ != c) return false;
    at_ = skip_json_space(at_ + 1, end_);
    return true;
  }
  std::string_view take_string() { return pass_to(skip_json_string(at_, end_)); }
  std::string_view take_value() { return pass_to(skip_json_value(at_, end_)); }

 private:
  std::string_view pass_to(const char* position) {
    const char* const start = std::exchange(at_, position);
    return {start, static_cast<size_t>(position - start)};
  }

  const char* at_;
  const char* const end_;
};

// Behind a number or a word there may be space.
std::string_view without_space_behind(std::string_view value) {
  while (!value.empty() && is_json_space(value.back())) value.remove_suffix(1);
  return value;
}

}  // namespace

tl::expected<std::string_view, MemberError> find_member(std::string_view object,
                                                        std::string_view key) {
  Skipper skipper(object);
  std::string_view found;
  if (!skipper.take('{') || skipper.take('}')) return tl::unexpected(MemberError::absent);
  do {
    const std::string_view quoted = skipper.take_string();
    skipper.take(':');
    const std::string_view value = skipper.take_value();
    if (!json_string_equals(quoted.substr(1, quoted.size() - 2), key)) continue;
    if (!found.empty()) return tl::unexpected(MemberError::duplicate);
    found = without_space_behind(value);
  } while (skipper.take(','));
  if (found.empty()) return tl::unexpected(MemberError::absent);
  return found;
}

}  // namespace stdgate::rpc

#include "gateway/rpc/json_member.h"

#include <cassert>

#include "gateway/rpc/json_scanner.h"
#include "gateway/rpc/json_string.h"

namespace stdgate {
namespace {

// Steps over parts of a valid text without checking them again.
class Skipper {
 public:
  explicit Skipper(std::string_view text) : at_(text.data()), end_(at_ + text.size()) {}

  [[nodiscard]] const char* position() const { return at_; }
  [[nodiscard]] std::string_view since(const char* start) const {
    return {start, static_cast<size_t>(at_ - start)};
  }

  // Whether `c` is next; passes it and the space around it.
  bool take(char c) {
    skip_space();
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    skip_space();
    return true;
  }

  void skip_string() {
    ++at_;
    uint64_t non_ascii = 0;
    for (;;) {
      at_ = find_string_special(at_, end_, non_ascii);
      assert(at_ != end_);
      if (*at_ == '"') break;
      at_ += 2;
    }
    ++at_;
  }

  void skip_value() {
    size_t depth = 0;
    do {
      assert(at_ != end_);
      if (*at_ == '"') {
        skip_string();
      } else if (*at_ == '{' || *at_ == '[') {
        ++depth;
        ++at_;
      } else if (*at_ == '}' || *at_ == ']') {
        --depth;
        ++at_;
      } else if (depth > 0) {
        ++at_;
      } else {
        skip_word();
      }
    } while (depth > 0);
  }

 private:
  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

  void skip_space() {
    while (at_ != end_ && is_space(*at_)) ++at_;
  }
  // A number, true, false or null.
  void skip_word() {
    while (at_ != end_ && *at_ != ',' && *at_ != '}' && !is_space(*at_)) ++at_;
  }

  const char* at_;
  const char* const end_;
};

}  // namespace

tl::expected<std::string_view, MemberError> find_member(std::string_view object,
                                                        std::string_view key) {
  Skipper skipper(object);
  std::string_view found;
  if (!skipper.take('{') || skipper.take('}')) return tl::unexpected(MemberError::absent);
  do {
    const char* start = skipper.position();
    skipper.skip_string();
    const std::string_view quoted = skipper.since(start);
    skipper.take(':');
    start = skipper.position();
    skipper.skip_value();
    if (!json_string_equals(quoted.substr(1, quoted.size() - 2), key)) continue;
    if (!found.empty()) return tl::unexpected(MemberError::duplicate);
    found = skipper.since(start);
  } while (skipper.take(','));
  if (found.empty()) return tl::unexpected(MemberError::absent);
  return found;
}

}  // namespace stdgate

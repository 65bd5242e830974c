// JsonCursor: steps over the parts of a text that has been validated. Owner: the function that
// reads the text.
#pragma once

#include <string_view>
#include <utility>

#include "gateway/rpc/json_walk.h"

namespace stdgate::rpc {

class JsonCursor {
 public:
  explicit JsonCursor(std::string_view text) : at_(text.data()), end_(at_ + text.size()) {}

  // Whether `c` is next; passes it and the space around it.
  bool take(char c) {
    skip_space();
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    skip_space();
    return true;
  }
  // With its quotes.
  std::string_view take_string() { return pass_to(skip_json_string(at_, end_)); }
  // Without the space behind it.
  std::string_view take_value() {
    if (at_ != end_ && *at_ == '"') return take_string();
    std::string_view value = pass_to(skip_json_value(at_, end_));
    while (!value.empty() && is_json_space(value.back())) value.remove_suffix(1);
    return value;
  }
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

}  // namespace stdgate::rpc

#include "gateway/rpc/json_cut.h"

#include "gateway/rpc/json_cursor.h"
#include "gateway/rpc/json_string.h"

namespace stdgate::rpc {

namespace {

class Cutter {
 public:
  Cutter(std::string_view object, ElementFilter& filter, std::string& out)
      : filter_(filter), out_(out), copied_(object.data()), end_(copied_ + object.size()) {}

  void cut(std::string_view array) {
    JsonCursor cursor(array);
    if (!cursor.take('[') || cursor.take(']')) return;
    bool some_kept = false;
    const char* comma = nullptr;  // before the element
    do {
      const std::string_view element = cursor.take_value();
      const char* const element_end = element.data() + element.size();
      if (!filter_.keeps(element)) {
        drop(comma == nullptr ? element.data() : comma, element_end);
      } else {
        if (!some_kept && comma != nullptr) drop(comma, comma + 1);
        some_kept = true;
      }
      cursor.skip_space();
      comma = cursor.position();
    } while (cursor.take(','));
  }

  void replace(std::string_view value, std::string_view with) {
    drop(value.data(), value.data() + value.size());
    out_ += with;
  }

  // Whether anything has changed.
  bool finish() {
    if (!changed_) return false;
    out_.append(copied_, end_);
    return true;
  }

 private:
  void drop(const char* from, const char* to) {
    out_.append(copied_, from);
    copied_ = to;
    changed_ = true;
  }

  ElementFilter& filter_;
  std::string& out_;
  const char* copied_;  // up to here it is in out_, or dropped
  const char* const end_;
  bool changed_ = false;
};

}  // namespace

bool cut_elements(std::string_view object, std::string_view member, ElementFilter& filter,
                  const MemberReplacement& replacement, std::string& out) {
  JsonCursor cursor(object);
  if (!cursor.take('{') || cursor.take('}')) return false;
  Cutter cutter(object, filter, out);
  do {
    const std::string_view quoted = cursor.take_string();
    const std::string_view key = quoted.substr(1, quoted.size() - 2);
    cursor.take(':');
    const std::string_view value = cursor.take_value();
    if (json_string_equals(key, member)) {
      cutter.cut(value);
    } else if (!replacement.key.empty() && value != replacement.value &&
               json_string_equals(key, replacement.key)) {
      cutter.replace(value, replacement.value);
    }
  } while (cursor.take(','));
  return cutter.finish();
}

}  // namespace stdgate::rpc

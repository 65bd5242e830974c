// JsonWriter: a JSON text that is written member by member.
//
// For documents: reports, pages, schemas. Messages are written by message_text.h, and log lines by
// log_style.h, which allocates nothing. Owner: the function that writes one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace stdgate::rpc {

// Objects and arrays nest as they are begun and ended. In an array the key is empty.
class JsonWriter {
 public:
  enum class Layout : uint8_t {
    compact,
    lines,  // one member a line, for people
  };

  explicit JsonWriter(Layout layout) : layout_(layout) {}

  void begin_object(std::string_view key = {}) { begin(key, '{'); }
  void end_object() { end('}'); }
  void begin_array(std::string_view key = {}) { begin(key, '['); }
  void end_array() { end(']'); }

  void text(std::string_view key, std::string_view value);
  void boolean(std::string_view key, bool value) { raw(key, value ? "true" : "false"); }
  void number(std::string_view key, uint64_t value) { raw(key, std::to_string(value)); }
  // `value` is JSON.
  void raw(std::string_view key, std::string_view value);

  // The whole document, without a line end behind it.
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  void begin(std::string_view key, char bracket);
  void end(char bracket);
  void start_item(std::string_view key);
  void start_line() { out_.append(1, '\n').append(2 * depth_, ' '); }

  const Layout layout_;
  std::string out_;
  size_t depth_ = 0;
  bool first_ = true;  // in the innermost object or array
};

}  // namespace stdgate::rpc

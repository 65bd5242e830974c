// JSON texts: the escapes of strings, documents that are written member by member, and arrays
// without some of their elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace stdgate::rpc {

// --- JSON strings (RFC 8259 section 7): reading and writing the escapes of one string
//
// `raw` is always the text between the quotes of a string in a text that has been validated.
// `value` is a value of such a text.

// Whether `raw`, the inside of a valid string, has half of a pair of surrogates, which stands for
// no character (RFC 8259 section 8.2).
bool has_lone_surrogate(std::string_view raw);
// The string that `raw` stands for, with escapes decoded to UTF-8; a lone surrogate becomes U+FFFD.
// Gives `raw` itself when it has no escapes, else a view of `scratch`.
std::string_view decode_string(std::string_view raw, std::string& scratch);

inline bool has_escapes(std::string_view raw) { return raw.find('\\') != std::string_view::npos; }

// The text between the quotes of a string; empty for any other value.
inline std::string_view string_content(std::string_view value) {
  return !value.empty() && value[0] == '"' ? value.substr(1, value.size() - 2) : std::string_view();
}

// Whether `raw` stands for `decoded`. Allocates nothing.
bool json_string_equals(std::string_view raw, std::string_view decoded);

// Whether `raw` stands for `key`, a word of ASCII, when case is ignored as Unicode does
// (simple case folding), which some readers of JSON do for the keys of objects. Allocates nothing.
bool json_string_resembles(std::string_view raw, std::string_view key);

// The key `raw` with its letters folded. Keys that resemble each other, as json_string_resembles()
// compares them, have equal folded forms.
std::string folded_key(std::string_view raw);

// Appends `text` as a JSON string, quotes included, that a terminal may show: see VisibleText. Each
// byte that is no UTF-8 becomes U+FFFD.
void append_json_string(std::string& out, std::string_view text);

// JsonWriter: a JSON text that is written member by member.
//
// For documents: reports, pages, schemas. Messages are written by message_text.h, and log lines by
// log_style.h, which allocates nothing. Objects and arrays nest as they are begun and ended. In an
// array the key is empty. Owner: the function that writes the document.
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

// ElementFilter: decides which elements cut_elements() keeps.
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
// `filter` does not keep. The rest is kept byte for byte. An element is removed with the comma
// before it; elements at the front, with the comma behind them. A member that occurs twice is cut
// twice. False: nothing was to change, and `out` is as it was.
bool cut_elements(std::string_view object, std::string_view member, ElementFilter& filter,
                  const MemberReplacement& replacement, std::string& out);

}  // namespace stdgate::rpc

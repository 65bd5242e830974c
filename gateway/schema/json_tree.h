// The values of a JSON text: JsonTree, and JsonNumber, a number with all its digits.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stdgate::schema {

// The kind of a JSON value.
enum class JsonKind : uint8_t { null, boolean, number, string, array, object };
inline constexpr size_t kJsonKinds = static_cast<size_t>(JsonKind::object) + 1;
std::string_view kind_name(JsonKind kind);  // as JSON Schema calls it

// Place of a value in its tree.
using ValueId = uint32_t;

// A value, by its place in the text.
struct JsonValue {
  uint32_t begin = 0;       // in the text
  uint32_t size = 0;        // of its text, quotes included
  ValueId next = 0;         // the value that follows this one and its content
  uint32_t count : 28 = 0;  // of an array's elements, or of an object's members
  uint32_t kind : 3 = 0;
  uint32_t has_escapes : 1 = 0;
};

// JsonTree: the values of a JSON text in the order of the text, each with the index of the value
// that follows it.
//
// Job: make any value, and what is behind it, reachable without another scan. Values point into the
// text, which outlives the tree. Reused from text to text, so that the steady state allocates
// nothing. Owner: the code that reads the text. Limits: kMaxValues; kMaxKept values of storage are
// kept for the next text.
class JsonTree {
 public:
  static constexpr size_t kMaxValues = size_t{1} << 20;
  static constexpr size_t kMaxKept = size_t{1} << 12;

  // `text` is valid JSON. False: it has too many values.
  bool read(std::string_view text);

  [[nodiscard]] size_t size() const { return values_.size(); }
  [[nodiscard]] std::string_view text() const { return text_; }
  // Memory of the tree itself, without the text.
  [[nodiscard]] size_t bytes() const {
    return values_.capacity() * sizeof(JsonValue) + open_.capacity() * sizeof(ValueId);
  }
  [[nodiscard]] const JsonValue& at(ValueId id) const { return values_[id]; }
  [[nodiscard]] JsonKind kind(ValueId id) const { return static_cast<JsonKind>(at(id).kind); }
  [[nodiscard]] uint32_t count(ValueId id) const { return at(id).count; }
  // An object is followed by its keys, each followed by its value. An array is followed by its
  // elements. The first key or element has the id after the value's own; next() is the end.
  [[nodiscard]] ValueId next(ValueId id) const { return at(id).next; }
  [[nodiscard]] std::string_view raw(ValueId id) const {
    return text_.substr(at(id).begin, at(id).size);
  }
  // Of a string or key, decoded: a view of the text, or of `scratch`.
  std::string_view string(ValueId id, std::string& scratch) const;
  // The value of a member, by its decoded key; nothing: no such member, or `object` is no object.
  [[nodiscard]] std::optional<ValueId> find(ValueId object, std::string_view key) const;
  [[nodiscard]] bool is_true(ValueId id) const { return raw(id) == "true"; }

 private:
  std::string_view text_;
  std::vector<JsonValue> values_;
  std::vector<ValueId> open_;  // scratch: the arrays and objects around
};

// The key of an object that is there twice; nothing: none is. Readers of such a text could see
// different values.
std::optional<ValueId> find_duplicate_key(const JsonTree& tree);
// The place of a value or a key, as a JSON pointer, which is cut after `most` bytes; empty: the
// whole.
std::string place_of(const JsonTree& tree, ValueId id, size_t most);

// Whether a value of one tree equals a value of another tree, as JSON Schema compares values.
// `steps`: the budget of the comparison, which is reduced; false if it is used up.
bool equal_values(const JsonTree& one, ValueId value, const JsonTree& other, ValueId with,
                  size_t& steps);
// Equal values have the same hash.
uint64_t hash_value(const JsonTree& tree, ValueId value);

// JsonNumber: a number of a JSON text with all its digits.
//
// Compares exactly, whatever the size: no digit is lost to a double. Owner: none; a value. Limit:
// the text itself.
class JsonNumber {
 public:
  // `raw` is a number of JSON.
  explicit JsonNumber(std::string_view raw);

  friend bool operator==(const JsonNumber& one, const JsonNumber& other) {
    return (one <=> other) == std::strong_ordering::equal;
  }
  friend std::strong_ordering operator<=>(const JsonNumber& one, const JsonNumber& other);

  // 1.0 is an integer.
  [[nodiscard]] bool is_integer() const {
    return static_cast<int64_t>(digits_.size()) <= exponent_ || digits_.empty();
  }
  [[nodiscard]] bool is_positive() const { return !is_negative_ && !digits_.empty(); }
  // More digits than a divisor may have.
  [[nodiscard]] bool can_divide() const { return is_positive() && digits_.size() <= 18; }
  // `divisor` can divide.
  [[nodiscard]] bool is_multiple_of(const JsonNumber& divisor) const;
  [[nodiscard]] uint64_t hash() const;

 private:
  // The number is 0.DIGITS times ten to the exponent. Neither end of the digits is 0; zero has
  // none.
  bool is_negative_ = false;
  std::string digits_;
  int64_t exponent_ = 0;
};

// Whether the text of a number stands for an integer. Cheap in the usual case.
bool is_integer_text(std::string_view raw);

}  // namespace stdgate::schema

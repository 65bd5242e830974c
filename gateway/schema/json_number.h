// JsonNumber: a number of a JSON text with all its digits.
//
// Compares exactly, whatever the size: no digit is lost to a double. Owner: none; a value. Limit:
// the text itself.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace stdgate::schema {

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
  // It is 0.DIGITS times ten to the exponent. Neither end of the digits is 0; zero has none.
  bool is_negative_ = false;
  std::string digits_;
  int64_t exponent_ = 0;
};

// Whether the text of a number stands for an integer. Cheap in the usual case.
bool is_integer_text(std::string_view raw);

}  // namespace stdgate::schema

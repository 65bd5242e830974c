#include "gateway/schema/json_number.h"

#include <algorithm>
#include <functional>

namespace stdgate::schema {

namespace {

// Exponents beyond are all the same: no number of a text reaches from one to another.
constexpr int64_t kMaxExponent = int64_t{1} << 40;

int64_t exponent_of(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  int64_t exponent = 0;
  for (const char c : text) exponent = std::min(exponent * 10 + (c - '0'), kMaxExponent);
  return is_negative ? -exponent : exponent;
}

__extension__ typedef unsigned __int128 Wide;  // NOLINT(modernize-use-using): warned of, else

uint64_t multiply(uint64_t one, uint64_t other, uint64_t modulus) {
  return static_cast<uint64_t>(static_cast<Wide>(one) * other % modulus);
}

uint64_t power_of_ten(int64_t exponent, uint64_t modulus) {
  uint64_t result = 1 % modulus;
  uint64_t base = 10 % modulus;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 != 0) result = multiply(result, base, modulus);
    base = multiply(base, base, modulus);
  }
  return result;
}

}  // namespace

JsonNumber::JsonNumber(std::string_view raw) : is_negative_(raw.starts_with('-')) {
  if (is_negative_) raw.remove_prefix(1);
  const size_t e = raw.find_first_of("eE");
  if (e != std::string_view::npos) exponent_ = exponent_of(raw.substr(e + 1));
  const std::string_view mantissa = raw.substr(0, e);
  const size_t point = std::min(mantissa.find('.'), mantissa.size());
  digits_.reserve(mantissa.size());
  digits_.append(mantissa.substr(0, point));
  exponent_ += static_cast<int64_t>(digits_.size());
  if (point < mantissa.size()) digits_.append(mantissa.substr(point + 1));
  const size_t first = std::min(digits_.find_first_not_of('0'), digits_.size());
  digits_.erase(0, first);
  exponent_ -= static_cast<int64_t>(first);
  digits_.resize(digits_.find_last_not_of('0') + 1);
  if (!digits_.empty()) return;
  exponent_ = 0;
  is_negative_ = false;
}

std::strong_ordering operator<=>(const JsonNumber& one, const JsonNumber& other) {
  const auto sign = [](const JsonNumber& number) {
    return number.digits_.empty() ? 0 : (number.is_negative_ ? -1 : 1);
  };
  if (sign(one) != sign(other)) return sign(one) <=> sign(other);
  const auto size = one.exponent_ != other.exponent_ ? one.exponent_ <=> other.exponent_
                                                     : one.digits_.compare(other.digits_) <=> 0;
  return one.is_negative_ ? 0 <=> size : size;
}

bool JsonNumber::is_multiple_of(const JsonNumber& divisor) const {
  if (digits_.empty()) return true;
  uint64_t modulus = 0;
  for (const char c : divisor.digits_) modulus = modulus * 10 + static_cast<uint64_t>(c - '0');
  const int64_t own = exponent_ - static_cast<int64_t>(digits_.size());
  const int64_t its = divisor.exponent_ - static_cast<int64_t>(divisor.digits_.size());
  // The last digit is not 0: no power of ten divides them.
  if (own < its) return false;
  uint64_t rest = 0;
  for (const char c : digits_) {
    rest = (multiply(rest, 10, modulus) + static_cast<uint64_t>(c - '0')) % modulus;
  }
  return multiply(rest, power_of_ten(own - its, modulus), modulus) == 0;
}

uint64_t JsonNumber::hash() const {
  return std::hash<std::string_view>()(digits_) * 31 + static_cast<uint64_t>(exponent_) * 2 +
         (is_negative_ ? 1 : 0);
}

bool is_integer_text(std::string_view raw) {
  return raw.find_first_of(".eE") == std::string_view::npos || JsonNumber(raw).is_integer();
}

}  // namespace stdgate::schema

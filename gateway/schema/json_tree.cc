#include "gateway/schema/json_tree.h"

#include <algorithm>
#include <array>
#include <functional>

#include "gateway/base/encodings.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"
#include "gateway/schema/schema_reference.h"

namespace stdgate::schema {

namespace {

constexpr std::array<std::string_view, kJsonKinds> kKindNames = {"null",   "boolean", "number",
                                                                 "string", "array",   "object"};

JsonKind kind_of(char first) {
  switch (first) {
    case '{':
      return JsonKind::object;
    case '[':
      return JsonKind::array;
    case '"':
      return JsonKind::string;
    case 'n':
      return JsonKind::null;
    case 't':
    case 'f':
      return JsonKind::boolean;
    default:
      return JsonKind::number;
  }
}

bool ends_scalar(char c) { return c == ',' || c == '}' || c == ']' || rpc::is_json_space(c); }

// Keys that are compared with each other, as a pair each.
constexpr size_t kFewKeys = 8;

}  // namespace

std::string_view kind_name(JsonKind kind) { return kKindNames[static_cast<size_t>(kind)]; }

bool JsonTree::read(std::string_view text) {
  text_ = text;
  values_.clear();
  open_.clear();
  if (values_.capacity() > kMaxKept) std::vector<JsonValue>().swap(values_);
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const char* at = begin;
  for (; at != end;) {
    const char c = *at;
    if (rpc::is_json_space(c) || c == ',' || c == ':') {
      ++at;
      continue;
    }
    if (c == '}' || c == ']') {
      ++at;
      if (open_.empty()) break;
      JsonValue& closed = values_[open_.back()];
      closed.size = static_cast<uint32_t>(at - begin) - closed.begin;
      closed.next = static_cast<ValueId>(values_.size());
      if (static_cast<JsonKind>(closed.kind) == JsonKind::object)
        closed.count = (closed.count / 2U) & 0xfffffffU;
      open_.pop_back();
      continue;
    }
    const auto id = static_cast<ValueId>(values_.size());
    if (id == kMaxValues) return false;
    if (!open_.empty()) ++values_[open_.back()].count;
    const JsonKind kind = kind_of(c);
    JsonValue value;
    value.begin = static_cast<uint32_t>(at - begin);
    value.next = id + 1;
    value.kind = static_cast<uint32_t>(kind) & 7U;
    if (kind == JsonKind::object || kind == JsonKind::array) {
      ++at;
      open_.push_back(id);
    } else if (kind == JsonKind::string) {
      const char* const start = at;
      at = rpc::skip_json_string(at, end);
      value.size = static_cast<uint32_t>(at - start);
      value.has_escapes = rpc::has_escapes({start, value.size}) ? 1 : 0;
    } else {
      const char* const start = at;
      while (at != end && !ends_scalar(*at)) ++at;
      value.size = static_cast<uint32_t>(at - start);
    }
    values_.push_back(value);
  }
  return !values_.empty();
}

std::string_view JsonTree::string(ValueId id, std::string& scratch) const {
  const JsonValue& value = values_[id];
  const std::string_view content = text_.substr(value.begin + 1, value.size - 2);
  return value.has_escapes != 0 ? rpc::decode_string(content, scratch) : content;
}

std::optional<ValueId> JsonTree::find(ValueId object, std::string_view key) const {
  if (kind(object) != JsonKind::object) return std::nullopt;
  std::string scratch;
  for (ValueId at = object + 1; at < next(object); at = next(at + 1)) {
    if (string(at, scratch) == key) return at + 1;
  }
  return std::nullopt;
}

std::optional<ValueId> find_duplicate_key(const JsonTree& tree) {
  std::vector<std::pair<std::string, ValueId>> sorted;
  std::string scratch;
  std::string other_scratch;
  for (ValueId id = 0; id < tree.size(); ++id) {
    if (tree.kind(id) != JsonKind::object || tree.count(id) < 2) continue;
    const ValueId end = tree.next(id);
    if (tree.count(id) <= kFewKeys) {
      for (ValueId at = id + 1; at < end; at = tree.next(at + 1)) {
        const std::string_view key = tree.string(at, scratch);
        for (ValueId other = tree.next(at + 1); other < end; other = tree.next(other + 1)) {
          if (tree.string(other, other_scratch) == key) return other;
        }
      }
      continue;
    }
    sorted.clear();
    for (ValueId at = id + 1; at < end; at = tree.next(at + 1)) {
      sorted.emplace_back(tree.string(at, scratch), at);
    }
    std::ranges::sort(sorted);
    const auto twice = std::ranges::adjacent_find(
        sorted, [](const auto& one, const auto& other) { return one.first == other.first; });
    if (twice != sorted.end()) return std::next(twice)->second;
  }
  return std::nullopt;
}

// From the root to it, through the one part of each object or array that contains it.
std::string place_of(const JsonTree& tree, ValueId id, size_t most) {
  std::string place;
  std::string scratch;
  for (ValueId around = 0; around != id;) {
    const bool is_object = tree.kind(around) == JsonKind::object;
    size_t ordinal = 0;
    ValueId part = around + 1;
    const auto value_of = [is_object](ValueId of) { return is_object ? of + 1 : of; };
    for (; tree.next(value_of(part)) <= id; part = tree.next(value_of(part))) ++ordinal;
    append_pointer(place, is_object ? tree.string(part, scratch) : std::to_string(ordinal));
    if (part == id) break;
    around = value_of(part);
  }
  return std::string(cut_utf8(place, most));
}

// --- Equality -------------------------------------------------------------------------------

bool equal_values(const JsonTree& one, ValueId value, const JsonTree& other, ValueId with,
                  size_t& steps) {
  if (steps == 0) return false;
  --steps;
  const JsonKind kind = one.kind(value);
  if (kind != other.kind(with)) return false;
  std::string scratch;
  std::string other_scratch;
  switch (kind) {
    case JsonKind::null:
      return true;
    case JsonKind::boolean:
      return one.raw(value) == other.raw(with);
    case JsonKind::number:
      return one.raw(value) == other.raw(with) ||
             JsonNumber(one.raw(value)) == JsonNumber(other.raw(with));
    case JsonKind::string:
      return one.string(value, scratch) == other.string(with, other_scratch);
    case JsonKind::array: {
      if (one.count(value) != other.count(with)) return false;
      ValueId mine = value + 1;
      for (ValueId its = with + 1; its < other.next(with); its = other.next(its)) {
        if (!equal_values(one, mine, other, its, steps)) return false;
        mine = one.next(mine);
      }
      return true;
    }
    case JsonKind::object:
      break;
  }
  if (one.count(value) != other.count(with)) return false;
  for (ValueId key = value + 1; key < one.next(value); key = one.next(key + 1)) {
    steps -= std::min<size_t>(steps, other.count(with));
    const auto its = other.find(with, one.string(key, scratch));
    if (!its || !equal_values(one, key + 1, other, *its, steps)) return false;
  }
  return true;
}

uint64_t hash_value(const JsonTree& tree, ValueId value) {
  const auto mix = [](uint64_t hash, uint64_t with) {
    hash ^= with + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2);
    return hash * 0xff51afd7ed558ccd;
  };
  const std::hash<std::string_view> hash_text;
  std::string scratch;
  const JsonKind kind = tree.kind(value);
  const auto seed = static_cast<uint64_t>(kind) + 1;
  switch (kind) {
    case JsonKind::string:
      return mix(seed, hash_text(tree.string(value, scratch)));
    case JsonKind::number:
      return mix(seed, JsonNumber(tree.raw(value)).hash());
    case JsonKind::array: {
      uint64_t hash = seed;
      for (ValueId at = value + 1; at < tree.next(value); at = tree.next(at)) {
        hash = mix(hash, hash_value(tree, at));
      }
      return hash;
    }
    case JsonKind::object: {
      // Members have no order.
      uint64_t hash = 0;
      for (ValueId at = value + 1; at < tree.next(value); at = tree.next(at + 1)) {
        hash += mix(hash_text(tree.string(at, scratch)), hash_value(tree, at + 1));
      }
      return mix(seed, hash);
    }
    case JsonKind::null:
    case JsonKind::boolean:
      break;
  }
  return mix(seed, hash_text(tree.raw(value)));
}

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
  // The number has a digit other than 0 below the last place of the divisor, so it is no multiple.
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

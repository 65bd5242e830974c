#include "gateway/schema/plain_check.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <tuple>
#include <utility>

#include "gateway/base/text.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"

namespace stdgate::schema {

namespace {

constexpr bool kIsLittleEndian = std::endian::native == std::endian::little;
constexpr size_t kWord = sizeof(uint64_t);
constexpr uint64_t kOnes = 0x0101010101010101;
constexpr uint64_t kHighBits = 0x8080808080808080;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Passes values: each function that takes a position returns the position behind the value that it
// has passed. Null, by stop(): the value does not fit, or is unclear. Usual cases are inlined, all
// others are calls. Every position is in a container, or at a value that shows its own end. So the
// text goes on at the position, and its end is looked for only where more than a byte is read.
class PlainCheck {
 public:
  PlainCheck(const CompiledSchema& schema, std::string_view text)
      : schema_(schema),
        end_(text.data() + text.size()),
        is_short_(text.size() < kWord),
        words_end_(is_short_ ? text.data() : end_ - (kWord - 1)),
        steps_(PlainLimits::kBaseSteps + PlainLimits::kStepsPerByte * text.size()) {}

  PlainFit run(NodeId node, const char* at) {
    const SchemaNode* const whole = node_of(node);
    const bool is_usual = at != end_ && *at == '{' && whole != nullptr &&
                          (whole->bare_types & type_bit(JsonKind::object)) != 0;
    if (is_usual) {
      if (pass_object(whole->object.get(), at) == nullptr) return PlainFit::unclear;
      return has_others_ ? PlainFit::open : PlainFit::declared;
    }
    at = rpc::skip_json_space(at, end_);
    // Nothing shows where a number alone ends.
    if (at == end_ || *at == '-' || is_digit(*at)) return PlainFit::unclear;
    return pass_any(whole, at) == nullptr ? PlainFit::unclear : PlainFit::open;
  }

 private:
  // Null: every value fits.
  [[nodiscard]] const SchemaNode* node_of(NodeId id) const {
    return id == kNoNode ? nullptr : schema_.nodes.data() + id;
  }

  [[gnu::always_inline]] const char* pass(const SchemaNode* node, const char* at) {
    if (node == nullptr) return pass_any(node, at);
    if (*at == '"' && (node->plain_types & kStringBit) != 0) return pass_string(node, at);
    if (is_digit(*at) && (node->plain_types & kNumberBits) != 0) return pass_number(node, at);
    const bool is_bare_word =
        (*at == 't' || *at == 'f') && (node->bare_types & type_bit(JsonKind::boolean)) != 0;
    if (is_bare_word) return behind_word(at);
    const bool is_bare_array = *at == '[' && (node->bare_types & type_bit(JsonKind::array)) != 0;
    return is_bare_array ? pass_array(node->array.get(), at) : pass_any(node, at);
  }

  [[gnu::noinline]] const char* pass_any(const SchemaNode* node, const char* at) {
    if (node == nullptr || node->is_plain_alone) return pass_itself(node, at);
    return node->is_plain ? pass_parts(*node, at) : stop(at);
  }

  // Looks at the same text more than once, and pays for it.
  [[gnu::noinline]] const char* pass_parts(const SchemaNode& node, const char* const begin) {
    if (depth_ == PlainLimits::kMaxDepth || !spend(1)) return stop(begin);
    const size_t depth = depth_ + 1;
    // Each part reads the value from its beginning, and pays for itself and for the bytes that it
    // has passed.
    const auto is_paid = [&](const char* at) {
      const char* const reached = at == nullptr ? stopped_ : at;
      return spend(1 + static_cast<size_t>(reached - begin)) && at != nullptr;
    };
    const auto fits_from_here = [&](NodeId id) {
      depth_ = depth;
      return is_paid(pass_any(node_of(id), begin));
    };
    depth_ = depth;
    const char* const behind = pass_itself(&node, begin);
    const SchemaParts& parts = *node.parts;
    const bool does_fit = is_paid(behind) && std::ranges::all_of(parts.all, fits_from_here) &&
                          (parts.any.empty() || std::ranges::any_of(parts.any, fits_from_here));
    depth_ = depth - 1;
    return does_fit ? behind : stop(std::max(begin, stopped_));
  }

  const char* pass_itself(const SchemaNode* node, const char* at) {
    const char c = *at;
    if (c == '"') return has_type(node, JsonKind::string) ? pass_string(node, at) : stop(at);
    if (c <= '9') return pass_number(node, at);
    if (c == '{') {
      if (!has_parts(node, JsonKind::object)) return stop(at);
      return pass_object(node == nullptr ? nullptr : node->object.get(), at);
    }
    if (c == '[') {
      if (!has_parts(node, JsonKind::array)) return stop(at);
      return pass_array(node == nullptr ? nullptr : node->array.get(), at);
    }
    return pass_word(node, c == 'n' ? JsonKind::null : JsonKind::boolean, at);
  }
  const char* pass_word(const SchemaNode* node, JsonKind kind, const char* at) {
    const char* const behind = behind_word(at);
    return has_type(node, kind) && is_one_of(node, at, behind) ? behind : stop(at);
  }
  static const char* behind_word(const char* at) {
    return at + (*at == 'f' ? kFalse : kTrueOrNull).size();
  }
  static bool has_type(const SchemaNode* node, JsonKind kind) {
    return node == nullptr || (node->types & type_bit(kind)) != 0;
  }
  // Of its parts the schema may say more, and nothing of the whole.
  static bool has_parts(const SchemaNode* node, JsonKind kind) {
    return node == nullptr || ((node->types & type_bit(kind)) != 0 && node->values.empty());
  }

  bool is_one_of(const SchemaNode* node, const char* begin, const char* end) {
    return node == nullptr || node->values.empty() ||
           is_listed(*node, {begin, static_cast<size_t>(end - begin)});
  }
  // Equal texts are equal values. Others may be too.
  [[gnu::noinline]] bool is_listed(const SchemaNode& node, std::string_view raw) {
    for (const std::vector<ValueId>& values : node.values) {
      if (!spend(values.size())) return false;
      if (!has_text(values, raw)) return false;
    }
    return true;
  }
  bool has_text(const std::vector<ValueId>& values, std::string_view raw) const {
    for (const ValueId one : values) {
      const JsonValue& value = schema_.tree.at(one);
      const char* const text = schema_.tree.text().data() + value.begin;
      if (same_short_text({text, value.size}, raw)) return true;
    }
    return false;
  }

  const char* pass_number(const SchemaNode* node, const char* at) {
    const char* const begin = at;
    if (*at == '-') ++at;
    if (node != nullptr && (node->bare_types & kNumberBits) != 0) {
      const char* const behind = pass_digits(at);
      if (!goes_on_as_number(*behind)) return behind;
    }
    uint64_t digits = 0;  // nonsense where there are too many
    for (;; ++at) {
      const uint64_t digit = static_cast<unsigned char>(*at) - uint64_t{'0'};
      if (digit > 9) break;
      digits = digits * 10 + digit;
    }
    const auto value = static_cast<int64_t>(*begin == '-' ? -digits : digits);
    if (goes_on_as_number(*at)) return pass_fraction(node, begin, at, value);
    if (node == nullptr) return at;
    if ((node->types & kNumberBits) == 0) return stop(at);
    if (node->number) {
      const NumberChecks& checks = *node->number;
      const bool is_small = static_cast<size_t>(at - begin) <= PlainLimits::kMaxWhole;
      if (!is_small || value < checks.least || value > checks.most) return stop(at);
    }
    return is_one_of(node, begin, at) ? at : stop(at);
  }

  // The rest of a number that is not written as a whole one; `value`: what stands before.
  [[gnu::noinline]] const char* pass_fraction(const SchemaNode* node, const char* begin,
                                              const char* at, int64_t value) {
    const bool is_small = static_cast<size_t>(at - begin) <= PlainLimits::kMaxWhole;
    const char* const point = at++;
    at = pass_digits(at);
    const bool is_decimal = *point == '.' && ends_scalar(*at);
    while (!is_decimal && !ends_scalar(*at)) ++at;
    if (node == nullptr) return at;
    if ((node->types & type_bit(JsonKind::number)) == 0) return stop(at);
    if (node->number) {
      // The number fits if the whole numbers below and above it both do. Bounds that exclude their
      // own value are not looked at here.
      const NumberChecks& checks = *node->number;
      const int64_t down = *begin == '-' ? 1 : 0;
      const bool is_within = is_decimal && is_small && !checks.above && !checks.below &&
                             value - down >= checks.least && value + (1 - down) <= checks.most;
      if (!is_within) return stop(at);
    }
    return is_one_of(node, begin, at) ? at : stop(at);
  }

  // Most strings end within a word. A quote that is part of one has a backslash before it.
  const char* pass_string(const SchemaNode* node, const char* at) {
    const char* const begin = at;
    const uint64_t word = word_at(at + 1);
    const uint64_t quotes = kIsLittleEndian ? zero_bytes(word ^ (kOnes * '"')) : 0;
    at += 2 + std::countr_zero(quotes) / 8;
    const bool is_short = quotes != 0 && at[-2] != '\\';
    const StringEnd far = is_short ? StringEnd() : find_far_end(begin);
    if (!is_short) at = far.behind;
    if (node == nullptr || (node->bare_types & kStringBit) != 0) return at;
    if (node->string) {
      const uint64_t unclear = (zero_bytes(word ^ (kOnes * '\\')) | (word & kHighBits));
      const bool is_plain = is_short ? (unclear & (quotes - 1) & ~quotes) == 0 : far.is_plain;
      const auto size = static_cast<size_t>(at - begin) - 2;
      if (!fits_text(*node->string, {begin + 1, size}, is_plain)) return stop(at);
    }
    return is_one_of(node, begin, at) ? at : stop(at);
  }

  struct StringEnd {
    const char* behind = nullptr;
    bool is_plain = false;  // see is_plain_text(); false: it may be
  };
  [[nodiscard, gnu::noinline]] StringEnd find_far_end(const char* begin) const {
    uint64_t beyond_ascii = 0;
    const char* const at = rpc::find_string_special(begin + 1, end_, beyond_ascii);
    const bool is_at_end = at != end_ && *at == '"';
    return {is_at_end ? at + 1 : skip_string(at - 1), is_at_end && beyond_ascii == 0};
  }
  // The high bits of the bytes that are zero, and maybe of others above the lowest of these.
  static uint64_t zero_bytes(uint64_t word) { return (word - kOnes) & ~word & kHighBits; }

  bool fits_text(const StringChecks& checks, std::string_view text, bool is_plain) {
    if (text.size() < checks.length.min || text.size() > checks.length.max) return false;
    return (is_plain && !checks.pattern) || fits_pattern(checks, text);
  }
  [[gnu::noinline]] bool fits_pattern(const StringChecks& checks, std::string_view text) {
    if (!is_plain_text(text)) return false;
    const auto& pattern = checks.pattern;
    return !pattern || (spend(pattern->cost(text.size())) && pattern->matches(text));
  }

  [[gnu::noinline, gnu::flatten]] const char* pass_array(const ArrayChecks* checks,
                                                         const char* at) {
    at = open(at);
    if (at == nullptr) return nullptr;
    const SchemaNode* const items = node_of(checks == nullptr ? kNoNode : checks->items);
    const size_t prefix = checks == nullptr ? 0 : checks->prefix.size();
    uint64_t count = 0;
    if (*at != ']') {
      do {
        at = pass(count < prefix ? node_of(checks->prefix[count]) : items, at);
        ++count;
      } while (goes_on(at));
      if (!closes(at, ']')) return nullptr;
    }
    --depth_;
    const bool does_fit =
        checks == nullptr || (count >= checks->items_count.min && count <= checks->items_count.max);
    return does_fit ? at + 1 : stop(at);
  }

  [[gnu::noinline, gnu::flatten]] const char* pass_object(const ObjectChecks* checks,
                                                          const char* at) {
    at = open(at);
    if (at == nullptr) return nullptr;
    const Properties properties(checks);
    Others others;
    const Property* likely = properties.begin;  // the one that is expected
    uint64_t seen = 0;                          // bits of properties
    if (*at != '}') {
      do {
        const Property* property = likely;
        if (likely != properties.end && begins_with(at, *likely)) {
          at = skip_space(at + likely->start.size());
        } else {
          std::tie(at, property) = pass_other_key(properties, others, likely, at);
          if (at == nullptr) return nullptr;
        }
        if (property == nullptr) {
          at = pass_any(node_of(checks == nullptr ? kNoNode : checks->additional), at);
          continue;
        }
        if ((seen & property->bit) != 0) return stop(at);
        seen |= property->bit;
        likely = property + 1;
        at = pass(property->checked_by, at);
      } while (goes_on(at));
      if (!closes(at, '}')) return nullptr;
    }
    --depth_;
    return checks == nullptr || has_members(*checks, seen, others.count) ? at + 1 : stop(at);
  }

  static bool has_members(const ObjectChecks& checks, uint64_t seen, size_t others) {
    if ((seen & checks.required_bits) != checks.required_bits) return false;
    if (!checks.members.any()) return true;
    const size_t count = static_cast<size_t>(std::popcount(seen)) + others;
    return count >= checks.members.min && count <= checks.members.max;
  }

  struct Properties {
    explicit Properties(const ObjectChecks* checks) {
      if (checks == nullptr) return;
      begin = checks->properties.data();
      end = begin + checks->properties.size();
    }
    const Property* begin = nullptr;
    const Property* end = nullptr;
  };
  // Where the keys begin that are no properties.
  struct Others {
    std::array<const char*, PlainLimits::kMaxOthers> begins;
    size_t count = 0;
  };

  // Most clients name arguments in the order of the schema, and leave some out.
  [[nodiscard]] bool begins_with(const char* at, const Property& property) const {
    if ((word_at(at) & property.mask) != property.first) return false;
    return property.start.size() <= kWord || goes_on_with(at, property.start);
  }
  // With zeros, which are in no text, behind the end.
  [[nodiscard]] uint64_t word_at(const char* at) const {
    return at < words_end_ ? read_word(at) : last_word(at);
  }
  [[nodiscard, gnu::noinline]] uint64_t last_word(const char* at) const {
    const auto size = static_cast<size_t>(end_ - at);
    const bool is_in_word = kIsLittleEndian && size > 0 && !is_short_;
    if (is_in_word) return read_word(end_ - kWord) >> (8 * (kWord - size));
    uint64_t word = 0;
    std::memcpy(&word, at, size);
    return word;
  }
  static uint64_t read_word(const char* at) {
    uint64_t word = 0;
    std::memcpy(&word, at, kWord);
    return word;
  }
  // Its first word is there.
  [[nodiscard]] bool goes_on_with(const char* at, std::string_view start) const {
    const size_t size = start.size();
    if (static_cast<size_t>(end_ - at) < size) return false;
    for (size_t i = kWord; i + kWord < size; i += kWord) {
      if (std::memcmp(at + i, start.data() + i, kWord) != 0) return false;
    }
    return std::memcmp(at + size - kWord, start.data() + size - kWord, kWord) == 0;
  }

  // Behind the key, the colon and the space there; which property it is: null: none.
  using Passed = std::pair<const char*, const Property*>;
  [[gnu::noinline]] Passed pass_other_key(const Properties& properties, Others& others,
                                          const Property* likely, const char* at) {
    const auto size = static_cast<size_t>(properties.end - properties.begin);
    if (!spend(size)) return {stop(at), nullptr};
    for (size_t i = 0; i < size; ++i) {
      if (likely == properties.end) likely = properties.begin;
      if (begins_with(at, *likely)) return {skip_space(at + likely->start.size()), likely};
      ++likely;
    }
    return pass_any_key({properties.begin, properties.end}, others, at);
  }

  Passed pass_any_key(std::span<const Property> properties, Others& others, const char* at) {
    const char* const begin = at + 1;
    at = rpc::skip_json_string(at, end_);
    const std::string_view key(begin, static_cast<size_t>(at - 1 - begin));
    at = skip_space(at);
    if (rpc::has_escapes(key) || *at != ':') return {stop(at), nullptr};
    at = skip_space(at + 1);
    if (!spend(properties.size())) return {stop(at), nullptr};
    const auto found = std::ranges::find(properties, key, &Property::name);
    if (found != properties.end()) return {at, &*found};
    const auto known = std::span(others.begins).first(others.count);
    // A key that is there ends with a quote, as this one does.
    const std::string_view ended(begin, key.size() + 1);
    if (known.size() == others.begins.size() || !spend(known.size()) ||
        std::ranges::any_of(known, [&](const char* other) {
          return std::string_view(other, static_cast<size_t>(end_ - other)).starts_with(ended);
        })) {
      return {stop(at), nullptr};
    }
    others.begins[others.count++] = begin;
    if (depth_ == 1) has_others_ = true;
    return {at, nullptr};
  }

  // --- Text
  static constexpr std::string_view kTrueOrNull = "true";
  static constexpr std::string_view kFalse = "false";

  // Null. The text has been looked at up to here.
  const char* stop(const char* at) {
    stopped_ = at;
    return nullptr;
  }
  // The first part of a container, or its end.
  const char* open(const char* at) {
    if (++depth_ > PlainLimits::kMaxDepth) return stop(at);
    return skip_space(at + 1);
  }
  // Behind a part of a container; null passes. Whether there is another part, which is next then.
  bool goes_on(const char*& at) const {
    if (at == nullptr) return false;
    at = skip_space(at);
    if (*at != ',') return false;
    at = skip_space(at + 1);
    return true;
  }
  bool closes(const char*& at, char closer) {
    const bool is_closed = at != nullptr && *at == closer;
    if (!is_closed && at != nullptr) at = stop(at);
    return is_closed;
  }
  static const char* pass_digits(const char* at) {
    while (is_digit(*at)) ++at;
    return at;
  }
  static bool goes_on_as_number(char c) { return c == '.' || (c | 0x20) == 'e'; }
  static bool ends_scalar(char c) {
    return c == ',' || c == '}' || c == ']' || rpc::is_json_space(c);
  }
  [[nodiscard]] const char* skip_space(const char* at) const {
    return *at <= ' ' ? skip_more_space(at) : at;
  }
  [[gnu::noinline]] const char* skip_more_space(const char* at) const {
    return rpc::skip_json_space(at, end_);
  }
  [[gnu::noinline]] const char* skip_string(const char* at) const {
    return rpc::skip_json_string(at, end_);
  }
  bool spend(size_t steps) {
    const bool is_enough = steps <= steps_;
    steps_ = is_enough ? steps_ - steps : 0;
    return is_enough;
  }

  const CompiledSchema& schema_;
  const char* const end_;
  const bool is_short_;          // less than a word
  const char* const words_end_;  // before it, a position has a whole word behind it
  const char* stopped_ = end_;
  size_t steps_;
  size_t depth_ = 0;
  bool has_others_ = false;  // of the whole: members that are no properties
};

}  // namespace

PlainFit fits_plainly(const CompiledSchema& schema, NodeId node, std::string_view text) {
  return PlainCheck(schema, text).run(node, text.data());
}

}  // namespace stdgate::schema

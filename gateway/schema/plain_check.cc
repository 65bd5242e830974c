#include "gateway/schema/plain_check.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <span>

#include "gateway/rpc/json_string.h"
#include "gateway/rpc/json_walk.h"

namespace stdgate::schema {

namespace {

// Numbers of so many characters are of 64 bits.
constexpr size_t kMaxWhole = 18;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::optional<int64_t> whole(std::string_view raw) {
  if (raw.size() > kMaxWhole) return std::nullopt;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), value);
  if (error != std::errc() || end != raw.data() + raw.size()) return std::nullopt;
  return value;
}

bool is_plain_text(std::string_view text) {
  return std::ranges::none_of(
      text, [](char c) { return c == '\\' || c == '"' || static_cast<unsigned char>(c) >= 0x80; });
}

// Whether parts of the schema say nothing but what all or any of others say.
bool is_plain(const SchemaParts& parts) {
  return parts.one.empty() && parts.none == kNoNode && parts.condition == kNoNode &&
         parts.dynamic_default == kNoNode;
}

bool is_plain(const ObjectChecks& checks) {
  return checks.properties.size() <= PlainLimits::kMaxProperties && checks.patterns.empty() &&
         checks.names == kNoNode && checks.dependent_names.empty() &&
         checks.dependent_schemas.empty() && checks.unevaluated == kNoNode;
}

// What a member of this name nearly always begins with.
void prepare(Property& property) {
  if (!is_plain_text(property.name)) return;
  property.start = "\"" + property.name + "\":";
  const size_t size = std::min(property.start.size(), sizeof property.first);
  const std::string ones(size, '\xff');
  std::memcpy(&property.first, property.start.data(), size);
  std::memcpy(&property.mask, ones.data(), size);
}

bool is_plain(const ArrayChecks& checks) {
  return !checks.is_unique && checks.contains == kNoNode && checks.unevaluated == kNoNode;
}

class PlainCheck {
 public:
  PlainCheck(const CompiledSchema& schema, std::string_view text)
      : schema_(schema),
        at_(text.data()),
        end_(at_ + text.size()),
        steps_(PlainLimits::kBaseSteps + PlainLimits::kStepsPerByte * text.size()) {}

  bool run(NodeId node) {
    skip_space();
    return fits(node);
  }

 private:
  // All of them: true: the value fits, and has been passed.
  bool fits(NodeId id) { return fits(id == kNoNode ? nullptr : &schema_.nodes[id]); }
  // null: every value fits.
  bool fits(const SchemaNode* node) {
    if (at_ == end_) return false;
    if (node == nullptr) return fits_itself(nullptr);
    if (!node->is_plain) return false;
    return node->parts ? fits_parts(*node) : fits_itself(node);
  }

  // Looks at the same text more than once, and pays for it.
  bool fits_parts(const SchemaNode& node) {
    if (depth_ == PlainLimits::kMaxDepth || !spend(1)) return false;
    const char* const begin = at_;
    const size_t depth = depth_ + 1;
    const auto fits_from_here = [&](NodeId id) {
      at_ = begin;
      depth_ = depth;
      const bool does_fit = fits(id);
      return spend(static_cast<size_t>(at_ - begin)) && does_fit;
    };
    const SchemaParts& parts = *node.parts;
    depth_ = depth;
    const bool fits_without = fits_itself(&node);
    // Each part begins anew, and pays only for what it has passed itself.
    if (!spend(static_cast<size_t>(at_ - begin)) || !fits_without) return false;
    const bool does_fit = std::ranges::all_of(parts.all, fits_from_here) &&
                          (parts.any.empty() || std::ranges::any_of(parts.any, fits_from_here));
    depth_ = depth - 1;
    return does_fit;
  }

  bool fits_itself(const SchemaNode* node) {
    switch (*at_) {
      case '{':
        return has_parts(node, JsonKind::object) &&
               fits_object(node == nullptr ? nullptr : node->object.get());
      case '[':
        return has_parts(node, JsonKind::array) &&
               fits_array(node == nullptr ? nullptr : node->array.get());
      case '"':
        return has_type(node, JsonKind::string) && fits_string(node);
      case 't':
      case 'f':
        return has_type(node, JsonKind::boolean) && is_one_of(node, take_scalar());
      case 'n':
        return has_type(node, JsonKind::null) && is_one_of(node, take_scalar());
      default:
        return fits_number(node);
    }
  }
  static bool has_type(const SchemaNode* node, JsonKind kind) {
    return node == nullptr || (node->types & type_bit(kind)) != 0;
  }

  // Of its parts the schema may say more, and nothing of the whole.
  static bool has_parts(const SchemaNode* node, JsonKind kind) {
    return node == nullptr || ((node->types & type_bit(kind)) != 0 && node->values.empty());
  }

  bool is_one_of(const SchemaNode* node, std::string_view raw) {
    return node == nullptr || node->values.empty() || is_listed(*node, raw);
  }
  // Equal texts are equal values. Others may be too.
  bool is_listed(const SchemaNode& node, std::string_view raw) {
    for (const std::vector<ValueId>& values : node.values) {
      if (!spend(values.size())) return false;
      const bool is_there = std::ranges::any_of(values, [&](ValueId one) {
        const JsonValue& value = schema_.tree.at(one);
        return value.size == raw.size() &&
               std::memcmp(schema_.tree.text().data() + value.begin, raw.data(), raw.size()) == 0;
      });
      if (!is_there) return false;
    }
    return true;
  }

  bool fits_number(const SchemaNode* node) {
    const char* const begin = at_;
    if (*at_ == '-') ++at_;
    int64_t digits = 0;  // nonsense where there are too many
    for (; at_ != end_ && is_digit(*at_); ++at_) {
      digits = static_cast<int64_t>(static_cast<uint64_t>(digits) * 10 +
                                    static_cast<uint64_t>(*at_ - '0'));
    }
    const bool is_whole = at_ == end_ || ends_scalar(*at_);
    if (!is_whole) take_scalar();
    if (node == nullptr) return true;
    const bool is_of_type = (node->types & type_bit(JsonKind::number)) != 0 ||
                            ((node->types & kIntegerBit) != 0 && is_whole);
    if (!is_of_type) return false;
    const std::string_view raw(begin, static_cast<size_t>(at_ - begin));
    if (node->number) {
      const NumberChecks& checks = *node->number;
      if (!is_whole) return fits_bounds(checks, raw) && is_one_of(node, raw);
      const int64_t value = *begin == '-' ? -digits : digits;
      if (raw.size() > kMaxWhole || value < checks.least || value > checks.most) return false;
    }
    return is_one_of(node, raw);
  }

  // Of a number that is not written as a whole one.
  static bool fits_bounds(const NumberChecks& checks, std::string_view raw) {
    // The number fits if the whole numbers below and above it both do. Bounds that exclude their
    // own value are not looked at here.
    const size_t point = raw.find('.');
    if (point == std::string_view::npos || checks.above || checks.below) return false;
    const auto value = whole(raw.substr(0, point));
    const std::string_view digits = raw.substr(point + 1);
    if (!value || !std::ranges::all_of(digits, is_digit)) return false;
    const int64_t down = raw.front() == '-' ? 1 : 0;
    return *value - down >= checks.least && *value + (1 - down) <= checks.most;
  }

  bool fits_string(const SchemaNode* node) {
    const char* const begin = at_;
    uint64_t beyond_ascii = 0;
    at_ = rpc::find_string_special(at_ + 1, end_, beyond_ascii);
    const bool is_plain = at_ != end_ && *at_ == '"' && beyond_ascii == 0;
    at_ = is_plain ? at_ + 1 : rpc::skip_json_string(begin, end_);
    if (node == nullptr) return true;
    const std::string_view raw(begin, static_cast<size_t>(at_ - begin));
    return (!node->string || fits_text(*node->string, raw.substr(1, raw.size() - 2), is_plain)) &&
           is_one_of(node, raw);
  }

  bool fits_text(const StringChecks& checks, std::string_view text, bool is_plain) {
    if (!is_plain && !is_plain_text(text)) return false;
    if (text.size() < checks.length.min || text.size() > checks.length.max) return false;
    const auto& pattern = checks.pattern;
    return !pattern || (spend(pattern->cost(text.size())) && pattern->matches(text));
  }

  bool fits_array(const ArrayChecks* checks) {
    if (!open()) return false;
    uint64_t count = 0;
    if (!closes(']')) {
      do {
        NodeId node = kNoNode;
        if (checks != nullptr) {
          node = count < checks->prefix.size() ? checks->prefix[count] : checks->items;
        }
        if (!fits(node)) return false;
        ++count;
      } while (goes_on());
      if (!closes(']')) return false;
    }
    --depth_;
    return checks == nullptr ||
           (count >= checks->items_count.min && count <= checks->items_count.max);
  }

  bool fits_object(const ObjectChecks* checks) {
    if (!open()) return false;
    Members members;
    if (!closes('}')) {
      do {
        const Property* property = checks == nullptr ? nullptr : take_likely(*checks, members);
        if (property == nullptr) {
          property = take_key(checks, members);
          if (!takes_colon()) return false;
        }
        if (members.is_unclear) return false;
        const bool is_known = property != nullptr && property->node != kNoNode;
        if (!fits(is_known ? property->node : checks == nullptr ? kNoNode : checks->additional)) {
          return false;
        }
        ++members.count;
      } while (goes_on());
      if (!closes('}')) return false;
    }
    --depth_;
    return checks == nullptr ||
           (members.required == checks->required && members.count >= checks->members.min &&
            members.count <= checks->members.max);
  }

  // What has come of an object.
  struct Members {
    uint64_t seen = 0;  // a bit for each property
    uint64_t count = 0;
    uint32_t required = 0;
    size_t next = 0;                                          // the property that is likely to come
    std::array<const char*, PlainLimits::kMaxOthers> others;  // where their keys begin
    size_t other_count = 0;
    bool is_unclear = false;
  };

  // Most clients name arguments in the order of the schema, without space before the colon. The key
  // and its colon are passed then; null: it is another one, and nothing is passed.
  const Property* take_likely(const ObjectChecks& checks, Members& members) {
    if (members.next >= checks.properties.size()) return nullptr;
    const Property& likely = checks.properties[members.next];
    const std::string& start = likely.start;
    const auto left = static_cast<size_t>(end_ - at_);
    if (start.empty() || left <= start.size() || left < sizeof(uint64_t)) return nullptr;
    uint64_t first = 0;
    std::memcpy(&first, at_, sizeof first);
    if ((first & likely.mask) != likely.first) return nullptr;
    if (start.size() > sizeof first && rest().substr(0, start.size()) != start) return nullptr;
    at_ += start.size();
    skip_space();
    return note(likely, members.next, members);
  }

  // The property of the key, which is passed; null: it is none.
  const Property* take_key(const ObjectChecks* checks, Members& members) {
    const char* const begin = at_ + 1;
    at_ = rpc::skip_json_string(at_, end_);
    const std::string_view key(begin, static_cast<size_t>(at_ - 1 - begin));
    if (rpc::has_escapes(key)) members.is_unclear = true;
    if (checks != nullptr) {
      if (!spend(checks->properties.size())) members.is_unclear = true;
      const auto found = std::ranges::find(checks->properties, key, &Property::name);
      if (found != checks->properties.end()) {
        return note(*found, static_cast<size_t>(found - checks->properties.begin()), members);
      }
    }
    const auto others = std::span(members.others).first(members.other_count);
    // A key that is there ends with a quote, as this one does.
    const std::string_view ended(begin, key.size() + 1);
    if (others.size() == members.others.size() || !spend(others.size()) ||
        std::ranges::any_of(others, [&](const char* other) {
          return std::string_view(other, static_cast<size_t>(end_ - other)).starts_with(ended);
        })) {
      members.is_unclear = true;
    } else {
      members.others[members.other_count++] = begin;
    }
    return nullptr;
  }

  static const Property* note(const Property& property, size_t at, Members& members) {
    const uint64_t bit = uint64_t{1} << at;
    if ((members.seen & bit) != 0) members.is_unclear = true;
    members.seen |= bit;
    members.next = at + 1;
    if (property.is_required) ++members.required;
    return &property;
  }

  // --- Text
  bool open() {
    if (++depth_ > PlainLimits::kMaxDepth) return false;
    ++at_;
    skip_space();
    return true;
  }
  bool closes(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  bool goes_on() {
    skip_space();
    if (!closes(',')) return false;
    skip_space();
    return true;
  }
  bool takes_colon() {
    skip_space();
    if (!closes(':')) return false;
    skip_space();
    return true;
  }
  static bool ends_scalar(char c) {
    return c == ',' || c == '}' || c == ']' || rpc::is_json_space(c);
  }
  std::string_view take_scalar() {
    const char* const begin = at_;
    while (at_ != end_ && !ends_scalar(*at_)) ++at_;
    return {begin, static_cast<size_t>(at_ - begin)};
  }
  [[nodiscard]] std::string_view rest() const { return {at_, static_cast<size_t>(end_ - at_)}; }
  void skip_space() {
    if (at_ != end_ && *at_ <= ' ') at_ = rpc::skip_json_space(at_, end_);
  }
  bool spend(size_t steps) {
    const bool is_enough = steps <= steps_;
    steps_ = is_enough ? steps_ - steps : 0;
    return is_enough;
  }

  const CompiledSchema& schema_;
  const char* at_;
  const char* const end_;
  size_t steps_;
  size_t depth_ = 0;
};

}  // namespace

void prepare_plain_check(SchemaNode& node) {
  node.is_plain = !node.is_false && (!node.parts || is_plain(*node.parts)) &&
                  (!node.object || is_plain(*node.object)) &&
                  (!node.array || is_plain(*node.array));
  if (node.object) {
    for (Property& property : node.object->properties) {
      prepare(property);
    }
  }
  if (!node.number) return;
  NumberChecks& checks = *node.number;
  checks.least = INT64_MIN;
  checks.most = INT64_MAX;
  // Of a bound that is no small whole number, nothing is known: no number fits.
  const auto raise = [&](std::string_view text, int64_t by) {
    const auto bound = whole(text);
    checks.least = bound ? std::max(checks.least, *bound + by) : INT64_MAX;
  };
  const auto lower = [&](std::string_view text, int64_t by) {
    const auto bound = whole(text);
    checks.most = bound ? std::min(checks.most, *bound - by) : INT64_MIN;
  };
  if (checks.min) raise(checks.min_text, 0);
  if (checks.above) raise(checks.above_text, 1);
  if (checks.max) lower(checks.max_text, 0);
  if (checks.below) lower(checks.below_text, 1);
  if (checks.divisor) checks.least = INT64_MAX;
}

bool fits_plainly(const CompiledSchema& schema, NodeId node, std::string_view text) {
  return PlainCheck(schema, text).run(node);
}

}  // namespace stdgate::schema

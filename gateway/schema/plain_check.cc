#include "gateway/schema/plain_check.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "gateway/rpc/json_string.h"
#include "gateway/rpc/json_walk.h"

namespace stdgate::schema {

namespace {

// Numbers of so many characters are of 64 bits.
constexpr size_t kMaxWhole = 18;

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

  // The length of the value that the text begins with; 0: it does not fit, or that is unclear.
  size_t run(NodeId node) {
    const char* const begin = at_;
    skip_space();
    return fits(node) ? static_cast<size_t>(at_ - begin) : 0;
  }

 private:
  // All of them: true: the value fits, and has been passed.
  bool fits(NodeId id) { return fits(id == kNoNode ? nullptr : &schema_.nodes[id]); }
  // null: every value fits.
  bool fits(const SchemaNode* node) {
    if (at_ == end_ || depth_ == PlainLimits::kMaxDepth || !spend(1)) return false;
    if (node == nullptr) return fits_itself(nullptr);
    if (!node->is_plain) return false;
    if (!node->parts) return fits_itself(node);
    const char* const begin = at_;
    ++depth_;
    const bool does_fit = fits_itself(node) && fits_parts(*node->parts, begin);
    --depth_;
    return does_fit;
  }

  bool fits_parts(const SchemaParts& parts, const char* begin) {
    const size_t depth = depth_;
    const auto fits_from_here = [&](NodeId id) {
      at_ = begin;
      depth_ = depth;
      return fits(id);
    };
    return std::ranges::all_of(parts.all, fits_from_here) &&
           (parts.any.empty() || std::ranges::any_of(parts.any, fits_from_here));
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

  // Equal texts are equal values. Others may be too.
  bool is_one_of(const SchemaNode* node, std::string_view raw) {
    if (node == nullptr || node->values.empty()) return true;
    return std::ranges::all_of(node->values, [&](const std::vector<ValueId>& values) {
      return spend(values.size()) &&
             std::ranges::any_of(values, [&](ValueId one) { return schema_.tree.raw(one) == raw; });
    });
  }

  bool fits_number(const SchemaNode* node) {
    const char* const begin = at_;
    if (*at_ == '-') ++at_;
    while (at_ != end_ && *at_ >= '0' && *at_ <= '9') ++at_;
    const bool is_whole = at_ == end_ || ends_scalar(*at_);
    if (!is_whole) take_scalar();
    if (node == nullptr) return true;
    const bool is_of_type = (node->types & type_bit(JsonKind::number)) != 0 ||
                            ((node->types & kIntegerBit) != 0 && is_whole);
    if (!is_of_type) return false;
    const std::string_view raw(begin, static_cast<size_t>(at_ - begin));
    if (node->number && !fits_bounds(*node->number, raw, is_whole)) return false;
    return node->values.empty() || is_one_of(node, raw);
  }

  static bool fits_bounds(const NumberChecks& checks, std::string_view raw, bool is_whole) {
    if (is_whole) {
      const auto value = whole(raw);
      return value && *value >= checks.least && *value <= checks.most;
    }
    // Between the two whole numbers beside it. Bounds that are excluded are kept as whole ones.
    const size_t point = raw.find('.');
    if (point == std::string_view::npos || checks.above || checks.below) return false;
    const auto value = whole(raw.substr(0, point));
    const std::string_view digits = raw.substr(point + 1);
    if (!value || !std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; })) {
      return false;
    }
    const int64_t down = raw.front() == '-' ? 1 : 0;
    return *value - down >= checks.least && *value + (1 - down) <= checks.most;
  }

  bool fits_string(const SchemaNode* node) {
    const char* const begin = at_;
    at_ = rpc::skip_json_string(at_, end_);
    if (node == nullptr) return true;
    const std::string_view raw(begin, static_cast<size_t>(at_ - begin));
    if (node->string) {
      const std::string_view text = raw.substr(1, raw.size() - 2);
      const Sizes& length = node->string->length;
      if (!is_plain_text(text) || text.size() < length.min || text.size() > length.max) {
        return false;
      }
      const auto& pattern = node->string->pattern;
      if (pattern && !(spend(pattern->cost(text.size())) && pattern->matches(text))) return false;
    }
    return is_one_of(node, raw);
  }

  bool fits_array(const ArrayChecks* checks) {
    open();
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
    open();
    Members members;
    if (!closes('}')) {
      do {
        const Property* const property = take_key(checks, members);
        if (members.is_unclear || !takes_colon()) return false;
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

  // The property of the key, which is passed; null: it is none.
  const Property* take_key(const ObjectChecks* checks, Members& members) {
    if (checks != nullptr && members.next < checks->properties.size()) {
      const Property& likely = checks->properties[members.next];
      const size_t size = likely.name.size();
      if (likely.is_plain && static_cast<size_t>(end_ - at_) > size + 1 && at_[size + 1] == '"' &&
          std::equal(likely.name.begin(), likely.name.end(), at_ + 1)) {
        at_ += size + 2;
        return note(likely, members.next, members);
      }
    }
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
  void open() {
    ++depth_;
    ++at_;
    skip_space();
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
  void skip_space() {
    if (at_ != end_ && *at_ <= ' ') at_ = rpc::skip_json_space(at_, end_);
  }
  bool spend(size_t steps) {
    if (steps > steps_) return false;
    steps_ -= steps;
    return true;
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
      property.is_plain = is_plain_text(property.name);
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

size_t plain_length(const CompiledSchema& schema, NodeId node, std::string_view text) {
  return PlainCheck(schema, text).run(node);
}

}  // namespace stdgate::schema

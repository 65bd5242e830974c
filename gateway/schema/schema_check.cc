#include "gateway/schema/schema_check.h"

#include <algorithm>
#include <utility>

#include "gateway/base/encodings.h"
#include "gateway/schema/schema_reference.h"

namespace stdgate::schema {

namespace {

constexpr size_t kMaxShown = 100;

std::string shown(std::string_view text) { return std::string(cut_utf8(text, kMaxShown)); }

uint64_t code_points(std::string_view text) {
  return static_cast<uint64_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80; }));
}

}  // namespace

// --- Runs -----------------------------------------------------------------------------------

Fit SchemaCheck::check_tree(const CompiledSchema& schema, NodeId node, std::string_view text) {
  schema_ = &schema;
  misfits_.clear();
  if (!tree_.read(text)) {
    misfits_.push_back({"", "fewer values: it is too large to be checked"});
    return Fit::unclear;
  }
  const Fit fit = run(node, false);
  if (fit == Fit::fits) return fit;
  run(node, true);
  if (fit == Fit::unclear) {
    misfits_.assign(1, {"", "something simpler: it takes too long to check"});
  } else if (misfits_.empty()) {
    misfits_.push_back({"", "another value"});
  }
  return fit;
}

std::optional<Misfit> SchemaCheck::repeated_key() const {
  if (plain_ != PlainFit::unclear) return std::nullopt;
  const auto key = find_duplicate_key(tree_);
  if (!key) return std::nullopt;
  return Misfit{place_of(tree_, *key, kMaxPlace), std::string(kTwice)};
}

Fit SchemaCheck::run(NodeId node, bool reports) {
  is_reporting_ = reports;
  is_stopped_ = false;
  depth_ = 0;
  quiet_ = 0;
  scope_.clear();
  place_.clear();
  steps_ = kBaseSteps + kStepsPerValue * tree_.size() + kStepsPerByte * tree_.text().size();
  const bool does_fit = fits(node, 0, nullptr);
  if (is_stopped_) return Fit::unclear;
  return does_fit ? Fit::fits : Fit::differs;
}

bool SchemaCheck::spend(size_t steps) {
  if (steps_ >= steps) {
    steps_ -= steps;
    return true;
  }
  steps_ = 0;
  is_stopped_ = true;
  return false;
}

bool SchemaCheck::misfit(std::string expected) {
  if (goes_on() && misfits_.size() < kMaxFindings) {
    misfits_.push_back({std::string(cut_utf8(place_, kMaxPlace)), std::move(expected)});
  }
  return false;
}

bool SchemaCheck::misfit_size(std::string_view what, const Sizes& sizes) {
  if (!goes_on()) return false;
  std::string expected;
  if (sizes.min > 0) expected = "at least " + std::to_string(sizes.min);
  if (sizes.max < UINT64_MAX) {
    expected += (expected.empty() ? "at most " : ", at most ") + std::to_string(sizes.max);
  }
  return misfit(expected.append(" ").append(what));
}

// --- Nodes ----------------------------------------------------------------------------------

bool SchemaCheck::fits(NodeId id, ValueId value, Evaluated* evaluated) {
  if (depth_ >= kMaxDepth) is_stopped_ = true;
  if (is_stopped_ || !spend(1)) return false;
  const SchemaNode& node = schema_->nodes[id];
  if (node.is_false) return misfit("nothing here");
  const bool is_other = scope_.empty() || scope_.back() != node.resource;
  if (is_other) scope_.push_back(node.resource);
  ++depth_;
  bool does_fit = true;
  const bool looks_back = (node.array && node.array->unevaluated != kNoNode) ||
                          (node.object && node.object->unevaluated != kNoNode);
  if (!looks_back) {
    does_fit = fits_node(node, value, evaluated);
  } else {
    Evaluated own;
    does_fit = fits_node(node, value, &own);
    if (does_fit || goes_on()) does_fit = fits_unevaluated(node, value, own) && does_fit;
    if (does_fit && evaluated != nullptr) evaluated->add(own);
  }
  --depth_;
  if (is_other) scope_.pop_back();
  return does_fit && !is_stopped_;
}

bool SchemaCheck::fits_node(const SchemaNode& node, ValueId value, Evaluated* evaluated) {
  const JsonKind kind = tree_.kind(value);
  if ((node.types & type_bit(kind)) == 0 && !fits_type(node, value)) return false;
  bool does_fit = node.values.empty() || fits_values(node, value);
  const auto also = [&](bool fits_too) { does_fit = fits_too && does_fit; };
  const auto may_go_on = [&] { return does_fit || goes_on(); };
  if (kind == JsonKind::object && node.object && may_go_on()) {
    also(fits_object(*node.object, value, evaluated));
  } else if (kind == JsonKind::string && node.string && may_go_on()) {
    also(fits_string(*node.string, value));
  } else if (kind == JsonKind::number && node.number && may_go_on()) {
    also(fits_number(*node.number, value));
  } else if (kind == JsonKind::array && node.array && may_go_on()) {
    also(fits_array(*node.array, value, evaluated));
  }
  if (node.parts && may_go_on()) also(fits_parts(*node.parts, value, evaluated));
  return does_fit;
}

bool SchemaCheck::fits_quietly(NodeId id, ValueId value, Evaluated* evaluated) {
  ++quiet_;
  const bool does_fit = fits(id, value, evaluated);
  --quiet_;
  return does_fit;
}

bool SchemaCheck::fits_type(const SchemaNode& node, ValueId value) {
  const JsonKind kind = tree_.kind(value);
  if (kind == JsonKind::number && (node.types & kIntegerBit) != 0 &&
      is_integer_text(tree_.raw(value))) {
    return true;
  }
  if (!goes_on()) return false;
  const bool is_fraction = kind == JsonKind::number && (node.types & kIntegerBit) != 0;
  return misfit(expected_type(node) + ", not " +
                (is_fraction ? "a fraction" : std::string(kind_name(kind))));
}

bool SchemaCheck::fits_values(const SchemaNode& node, ValueId value) {
  for (const std::vector<ValueId>& values : node.values) {
    const bool is_one = std::ranges::any_of(values, [&](ValueId one) {
      const bool is_equal = equal_values(tree_, value, schema_->tree, one, steps_);
      if (steps_ == 0) is_stopped_ = true;
      return is_equal;
    });
    if (is_one) continue;
    if (!goes_on()) return false;
    std::string expected = values.size() == 1 ? "" : "one of ";
    for (const ValueId one : values) {
      if (one != values.front()) expected += ", ";
      if (expected.size() > kMaxShown) {
        expected += "...";
        break;
      }
      expected += shown(schema_->tree.raw(one));
    }
    return misfit(expected);
  }
  return true;
}

bool SchemaCheck::fits_number(const NumberChecks& checks, ValueId value) {
  const std::string_view raw = tree_.raw(value);
  if (!spend(1 + raw.size() / 64)) return false;
  const JsonNumber number(raw);
  const auto expect = [this](std::string_view what, std::string_view bound) {
    return goes_on() && misfit(std::string(what).append(shown(bound)));
  };
  if (checks.min && number < *checks.min) return expect("at least ", checks.min_text);
  if (checks.max && number > *checks.max) return expect("at most ", checks.max_text);
  if (checks.above && number <= *checks.above) return expect("more than ", checks.above_text);
  if (checks.below && number >= *checks.below) return expect("less than ", checks.below_text);
  if (checks.divisor && !number.is_multiple_of(*checks.divisor)) {
    return expect("a multiple of ", checks.divisor_text);
  }
  return true;
}

bool SchemaCheck::fits_string(const StringChecks& checks, ValueId value) {
  std::string scratch;
  const std::string_view text = tree_.string(value, scratch);
  if (checks.length.any()) {
    if (!spend(1 + text.size() / 64)) return false;
    const uint64_t length = code_points(text);
    if (length < checks.length.min || length > checks.length.max) {
      return misfit_size("characters", checks.length);
    }
  }
  if (!checks.pattern) return true;
  if (!spend(checks.pattern->cost(text.size()))) return false;
  if (checks.pattern->matches(text)) return true;
  return goes_on() && misfit("a text that matches " + shown(checks.pattern->text()));
}

// --- Arrays ---------------------------------------------------------------------------------

bool SchemaCheck::fits_child(NodeId id, ValueId value, std::string_view key) {
  if (!goes_on()) return fits(id, value, nullptr);
  const size_t size = place_.size();
  append_pointer(place_, key);
  const bool does_fit = fits(id, value, nullptr);
  place_.resize(size);
  return does_fit;
}

bool SchemaCheck::fits_child(NodeId id, ValueId value, size_t ordinal) {
  if (!goes_on()) return fits(id, value, nullptr);
  return fits_child(id, value, std::string_view(std::to_string(ordinal)));
}

bool SchemaCheck::fits_array(const ArrayChecks& checks, ValueId value, Evaluated* evaluated) {
  const uint64_t count = tree_.count(value);
  bool does_fit = true;
  if (count < checks.items_count.min || count > checks.items_count.max) {
    does_fit = misfit_size("elements", checks.items_count);
    if (!goes_on()) return false;
  }
  if (checks.is_unique && !is_unique(value)) {
    does_fit = misfit("elements that differ");
    if (!goes_on()) return false;
  }
  size_t ordinal = 0;
  for (ValueId at = value + 1; at < tree_.next(value); at = tree_.next(at), ++ordinal) {
    const NodeId node = ordinal < checks.prefix.size() ? checks.prefix[ordinal] : checks.items;
    if (node == kNoNode) break;
    if (!fits_child(node, at, ordinal)) does_fit = false;
    if (!does_fit && !goes_on()) return false;
    if (evaluated != nullptr) evaluated->add(ordinal);
  }
  if (checks.contains != kNoNode && !fits_contained(checks, value, evaluated)) does_fit = false;
  return does_fit;
}

bool SchemaCheck::fits_contained(const ArrayChecks& checks, ValueId value, Evaluated* evaluated) {
  uint64_t found = 0;
  size_t ordinal = 0;
  for (ValueId at = value + 1; at < tree_.next(value); at = tree_.next(at), ++ordinal) {
    if (!fits_quietly(checks.contains, at, nullptr)) continue;
    ++found;
    if (evaluated != nullptr && checks.contains_counts) evaluated->add(ordinal);
  }
  if (found >= checks.contained.min && found <= checks.contained.max) return true;
  return misfit_size("elements of a kind", checks.contained);
}

bool SchemaCheck::is_unique(ValueId array) {
  std::vector<std::pair<uint64_t, ValueId>> hashes;
  if (!spend(tree_.next(array) - array)) return false;
  for (ValueId at = array + 1; at < tree_.next(array); at = tree_.next(at)) {
    hashes.emplace_back(hash_value(tree_, at), at);
  }
  std::ranges::sort(hashes);
  for (size_t i = 0; i < hashes.size(); ++i) {
    for (size_t j = i + 1; j < hashes.size() && hashes[j].first == hashes[i].first; ++j) {
      if (equal_values(tree_, hashes[i].second, tree_, hashes[j].second, steps_)) return false;
      if (steps_ == 0) is_stopped_ = true;
      if (is_stopped_) return false;
    }
  }
  return true;
}

// --- Objects --------------------------------------------------------------------------------

bool SchemaCheck::fits_object(const ObjectChecks& checks, ValueId value, Evaluated* evaluated) {
  const uint64_t count = tree_.count(value);
  bool does_fit = true;
  if (count < checks.members.min || count > checks.members.max) {
    does_fit = misfit_size("members", checks.members);
    if (!goes_on()) return false;
  }
  uint32_t required = 0;
  size_t ordinal = 0;
  std::string scratch;
  for (ValueId key = value + 1; key < tree_.next(value); key = tree_.next(key + 1), ++ordinal) {
    const std::string_view name = tree_.string(key, scratch);
    const Property* const property = find_property(checks, name);
    if (property != nullptr && property->is_required) ++required;
    bool is_evaluated = false;
    if (!fits_member(checks, key, name, property, is_evaluated)) does_fit = false;
    if (!does_fit && !goes_on()) return false;
    if (is_evaluated && evaluated != nullptr) evaluated->add(ordinal);
  }
  if (required < checks.required && !has_required(checks, value, required)) does_fit = false;
  if (!does_fit && !goes_on()) return false;
  const bool has_dependencies =
      !checks.dependent_names.empty() || !checks.dependent_schemas.empty();
  return (!has_dependencies || fits_dependencies(checks, value, evaluated)) && does_fit;
}

bool SchemaCheck::fits_member(const ObjectChecks& checks, ValueId key, std::string_view name,
                              const Property* property, bool& is_evaluated) {
  bool does_fit = true;
  if (property != nullptr && property->node != kNoNode) {
    is_evaluated = true;
    does_fit = fits_child(property->node, key + 1, name);
  }
  for (const auto& [pattern, node] : checks.patterns) {
    if (!spend(pattern.cost(name.size()))) return false;
    if (!pattern.matches(name)) continue;
    is_evaluated = true;
    if (!fits_child(node, key + 1, name)) does_fit = false;
  }
  if (!is_evaluated && checks.additional != kNoNode) {
    is_evaluated = true;
    if (goes_on() && schema_->nodes[checks.additional].is_false) {
      return misfit("no member \"" + shown(name) + "\"");
    }
    if (!fits_child(checks.additional, key + 1, name)) does_fit = false;
  }
  if (checks.names != kNoNode && !fits_quietly(checks.names, key, nullptr)) {
    return misfit("another name than \"" + shown(name) + "\"");
  }
  return does_fit;
}

// `found`: how many members there are that are required, though one may be there twice.
bool SchemaCheck::has_required(const ObjectChecks& checks, ValueId value, uint32_t found) {
  if (!goes_on()) return found >= checks.required;
  bool has_all = true;
  for (const Property& property : checks.properties) {
    if (!property.is_required || tree_.find(value, property.name)) continue;
    has_all = misfit("a member \"" + shown(property.name) + "\"");
  }
  return has_all;
}

bool SchemaCheck::fits_dependencies(const ObjectChecks& checks, ValueId value,
                                    Evaluated* evaluated) {
  bool does_fit = true;
  const size_t members = tree_.count(value);
  for (const auto& [name, names] : checks.dependent_names) {
    if (!spend(1 + members)) return false;
    if (!tree_.find(value, name)) continue;
    for (const std::string& other : names) {
      if (!spend(1 + members)) return false;
      if (tree_.find(value, other)) continue;
      does_fit = misfit("a member \"" + shown(other) + "\" beside \"" + shown(name) + "\"");
      if (!goes_on()) return false;
    }
  }
  for (const auto& [name, node] : checks.dependent_schemas) {
    if (!spend(1 + members)) return false;
    if (!tree_.find(value, name)) continue;
    if (!fits(node, value, evaluated)) does_fit = false;
    if (!does_fit && !goes_on()) return false;
  }
  return does_fit;
}

// --- Parts ----------------------------------------------------------------------------------

NodeId SchemaCheck::dynamic_target(const SchemaParts& parts) const {
  for (const uint16_t resource : scope_) {
    const DynamicAnchors& anchors = schema_->resources[resource];
    const auto anchor = anchors.find(parts.dynamic_anchor);
    if (anchor != anchors.end()) return anchor->second;
  }
  return parts.dynamic_default;
}

bool SchemaCheck::fits_parts(const SchemaParts& parts, ValueId value, Evaluated* evaluated) {
  bool does_fit = true;
  const auto also = [&](bool fits_too) {
    does_fit = fits_too && does_fit;
    return does_fit || goes_on();
  };
  for (const NodeId node : parts.all) {
    if (!also(fits(node, value, evaluated))) return false;
  }
  if (parts.dynamic_default != kNoNode && !also(fits(dynamic_target(parts), value, evaluated))) {
    return false;
  }
  if (!parts.any.empty() && !also(fits_any(parts.any, value, evaluated))) return false;
  if (!parts.one.empty() && !also(fits_one(parts.one, value, evaluated))) return false;
  if (parts.none != kNoNode && fits_quietly(parts.none, value, nullptr) &&
      !also(misfit("another value"))) {
    return false;
  }
  if (parts.condition == kNoNode) return does_fit;
  Evaluated of_condition;
  const bool holds = fits_quietly(parts.condition, value, evaluated ? &of_condition : nullptr);
  if (holds && evaluated != nullptr) evaluated->add(of_condition);
  const NodeId next = holds ? parts.then : parts.otherwise;
  return (next == kNoNode || fits(next, value, evaluated)) && does_fit;
}

bool SchemaCheck::fits_any(const std::vector<NodeId>& nodes, ValueId value, Evaluated* evaluated) {
  bool does_any = false;
  for (const NodeId node : nodes) {
    Evaluated own;
    if (!fits_quietly(node, value, evaluated != nullptr ? &own : nullptr)) continue;
    if (evaluated == nullptr) return true;
    evaluated->add(own);
    does_any = true;
  }
  if (does_any || !goes_on()) return does_any;
  std::string expected;
  for (const NodeId node : nodes) {
    const std::string type = expected_type(schema_->nodes[node]);
    if (type.empty()) {
      return misfit("what one of " + std::to_string(nodes.size()) + " alternatives says");
    }
    expected += (expected.empty() ? "" : " or ") + type;
  }
  return misfit(expected);
}

bool SchemaCheck::fits_one(const std::vector<NodeId>& nodes, ValueId value, Evaluated* evaluated) {
  size_t found = 0;
  for (const NodeId node : nodes) {
    Evaluated own;
    if (!fits_quietly(node, value, evaluated != nullptr ? &own : nullptr)) continue;
    if (evaluated != nullptr) evaluated->add(own);
    if (++found > 1) break;
  }
  if (found == 1) return true;
  if (!goes_on()) return false;
  return misfit((found == 0 ? "what one of " : "what only one of ") + std::to_string(nodes.size()) +
                " alternatives says");
}

bool SchemaCheck::fits_unevaluated(const SchemaNode& node, ValueId value, Evaluated& evaluated) {
  bool does_fit = true;
  size_t ordinal = 0;
  const JsonKind kind = tree_.kind(value);
  if (kind == JsonKind::array && node.array && node.array->unevaluated != kNoNode) {
    for (ValueId at = value + 1; at < tree_.next(value); at = tree_.next(at), ++ordinal) {
      if (evaluated.has(ordinal)) continue;
      if (!fits_child(node.array->unevaluated, at, ordinal)) does_fit = false;
      evaluated.add(ordinal);
    }
  }
  if (kind == JsonKind::object && node.object && node.object->unevaluated != kNoNode) {
    std::string scratch;
    for (ValueId key = value + 1; key < tree_.next(value); key = tree_.next(key + 1), ++ordinal) {
      if (evaluated.has(ordinal)) continue;
      if (!fits_child(node.object->unevaluated, key + 1, tree_.string(key, scratch))) {
        does_fit = false;
      }
      evaluated.add(ordinal);
    }
  }
  return does_fit;
}

void SchemaCheck::Evaluated::add(size_t ordinal) {
  if (parts.size() <= ordinal) parts.resize(ordinal + 1);
  parts[ordinal] = true;
}

void SchemaCheck::Evaluated::add(const Evaluated& other) {
  if (parts.size() < other.parts.size()) parts.resize(other.parts.size());
  for (size_t i = 0; i < other.parts.size(); ++i) {
    if (other.parts[i]) parts[i] = true;
  }
}

}  // namespace stdgate::schema

// SchemaCheck: holds a JSON text against a compiled schema.
//
// Job: say whether the text fits, and if not, where it does not fit and what was expected there.
// For most texts one pass (plain_check.h) shows that they fit, without a tree. Other texts are
// parsed into a tree and checked. A second run collects the places, only if the text does not fit.
// Reused from text to text, so that the steady state allocates nothing. Owner: the code that
// checks. Limits: kMaxDepth; steps in proportion to the text; kMaxFindings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/schema/json_schema.h"
#include "gateway/schema/json_tree.h"
#include "gateway/schema/plain_check.h"

namespace stdgate::schema {

enum class Fit : uint8_t {
  fits,
  differs,
  unclear,  // it would take too long to find out, or goes too deep
};

// The expectation that a key which occurs twice has missed.
inline constexpr std::string_view kTwice = "once, and is there twice";

// Where a text does not fit, and what was expected there.
struct Misfit {
  std::string place;     // JSON pointer; empty: the whole
  std::string expected;  // "a string, not a number"
};

class SchemaCheck {
 public:
  // Nesting of schemas and values.
  static constexpr size_t kMaxDepth = 1000;
  static constexpr size_t kMaxFindings = 8;
  static constexpr size_t kBaseSteps = 50000;
  static constexpr size_t kStepsPerValue = 32;
  static constexpr size_t kStepsPerByte = 4;
  static constexpr size_t kMaxPlace = 512;

  // `text` is valid JSON.
  Fit check(const JsonSchema& schema, std::string_view text) {
    return check(schema.compiled(), 0, text);
  }
  // Checks by one of the schemas in a document.
  Fit check(const CompiledSchema& schema, NodeId node, std::string_view text) {
    plain_ = fits_plainly(schema, node, text);
    return plain_ != PlainFit::unclear ? Fit::fits : check_tree(schema, node, text);
  }
  // The place of a key that occurs twice in an object of the text that was checked last, so that
  // readers could see different values. Nothing: no key does.
  [[nodiscard]] std::optional<Misfit> repeated_key() const;
  [[nodiscard]] bool has_repeated_key() const {
    return plain_ == PlainFit::unclear && repeated_key().has_value();
  }
  // The text that was checked last fits, and is known to have no key twice, and at its top none but
  // declared ones.
  [[nodiscard]] bool is_settled() const { return plain_ == PlainFit::declared; }
  // Valid after a check that did not return `fits`.
  [[nodiscard]] const std::vector<Misfit>& misfits() const { return misfits_; }

 private:
  // The elements or members that a schema has evaluated, for the `unevaluated…` keywords.
  struct Evaluated {
    std::vector<bool> parts;  // by ordinal
    void add(const Evaluated& other);
    void add(size_t ordinal);
    [[nodiscard]] bool has(size_t ordinal) const {
      return ordinal < parts.size() && parts[ordinal];
    }
  };

  Fit check_tree(const CompiledSchema& schema, NodeId node, std::string_view text);
  Fit run(NodeId node, bool reports);
  bool spend(size_t steps);
  bool fits(NodeId id, ValueId value, Evaluated* evaluated);
  bool fits_node(const SchemaNode& node, ValueId value, Evaluated* evaluated);
  bool fits_quietly(NodeId id, ValueId value, Evaluated* evaluated);
  bool fits_type(const SchemaNode& node, ValueId value);
  bool fits_values(const SchemaNode& node, ValueId value);
  bool fits_number(const NumberChecks& checks, ValueId value);
  bool fits_string(const StringChecks& checks, ValueId value);
  bool fits_array(const ArrayChecks& checks, ValueId value, Evaluated* evaluated);
  bool fits_contained(const ArrayChecks& checks, ValueId value, Evaluated* evaluated);
  bool is_unique(ValueId array);
  bool fits_object(const ObjectChecks& checks, ValueId value, Evaluated* evaluated);
  bool fits_member(const ObjectChecks& checks, ValueId key, std::string_view name,
                   const Property* property, bool& is_evaluated);
  bool fits_dependencies(const ObjectChecks& checks, ValueId value, Evaluated* evaluated);
  bool has_required(const ObjectChecks& checks, ValueId value, uint32_t found);
  bool fits_parts(const SchemaParts& parts, ValueId value, Evaluated* evaluated);
  bool fits_any(const std::vector<NodeId>& nodes, ValueId value, Evaluated* evaluated);
  bool fits_one(const std::vector<NodeId>& nodes, ValueId value, Evaluated* evaluated);
  bool fits_unevaluated(const SchemaNode& node, ValueId value, Evaluated& evaluated);
  bool fits_child(NodeId id, ValueId value, std::string_view key);
  bool fits_child(NodeId id, ValueId value, size_t ordinal);
  [[nodiscard]] NodeId dynamic_target(const SchemaParts& parts) const;
  // False, always.
  bool misfit(std::string expected);
  bool misfit_size(std::string_view what, const Sizes& sizes);
  [[nodiscard]] bool goes_on() const { return is_reporting_ && quiet_ == 0; }

  const CompiledSchema* schema_ = nullptr;
  JsonTree tree_;
  std::vector<uint16_t> scope_;  // resources that the check has come through
  std::vector<Misfit> misfits_;
  std::string place_;
  size_t steps_ = 0;
  size_t depth_ = 0;
  size_t quiet_ = 0;                    // alternatives around, whose misfits are not told
  PlainFit plain_ = PlainFit::unclear;  // otherwise there is no tree
  bool is_reporting_ = false;
  bool is_stopped_ = false;
};

// The types of a schema that checks nothing but the type, as "string or null"; empty: the schema
// checks more.
std::string expected_type(const SchemaNode& node);
// All in one line: "/path: expected a string; ...".
std::string text_of(const std::vector<Misfit>& misfits, std::string_view whole);

}  // namespace stdgate::schema

// SchemaCompiler: reads a JSON Schema's text and makes the nodes that are checked.
//
// Job: find the names within the document first, then make a node of each schema that is reached. A
// work list replaces recursion. Owner: the function that compiles one text.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gateway/schema/json_schema.h"
#include "gateway/schema/schema_node.h"
#include "gateway/schema/schema_reference.h"

namespace stdgate::schema {

class SchemaCompiler {
 public:
  SchemaCompiler(CompiledSchema& out, Draft draft) : out_(out), tree_(out.tree), draft_(draft) {}

  // The whole document is one schema. False: why().
  bool compile(ValueId root);
  // For a document that is no schema but contains schemas, which may refer to any part of it.
  void begin(ValueId document);
  // The node of a schema in the document; nothing: it cannot be compiled, and why() says why. The
  // other schemas are not affected.
  std::optional<NodeId> add(ValueId schema);
  // Why the last one could not be compiled.
  [[nodiscard]] const std::string& why() const { return why_; }
  // Instructions of all patterns so far.
  [[nodiscard]] size_t programs() const { return programs_; }

 private:
  struct Resource {
    std::string uri;
    ValueId root = 0;
  };

  [[nodiscard]] bool is_old() const { return draft_ <= Draft::v7; }
  bool fail(std::string why) {
    if (why_.empty()) why_ = std::move(why);
    return false;
  }
  bool read_draft(ValueId root);
  bool complete(size_t first);
  // --- Names
  void note_names(ValueId schema, uint16_t resource);
  void note_own_names(ValueId schema, uint16_t& resource);
  std::optional<ValueId> resolve(const Reference& reference);
  // --- Nodes
  NodeId node_of(ValueId schema);
  bool fill(NodeId id, ValueId schema);
  bool read_keyword(SchemaNode& node, std::string_view keyword, ValueId value);
  bool read_types(SchemaNode& node, ValueId value);
  bool read_values(SchemaNode& node, std::string_view keyword, ValueId value);
  bool read_number_keyword(SchemaNode& node, std::string_view keyword, ValueId value);
  bool read_string_keyword(SchemaNode& node, std::string_view keyword, ValueId value);
  bool read_array_keyword(SchemaNode& node, std::string_view keyword, ValueId value);
  bool read_object_keyword(SchemaNode& node, std::string_view keyword, ValueId value);
  bool read_properties(SchemaNode& node, ValueId value);
  bool read_required(SchemaNode& node, ValueId value);
  bool read_dependencies(SchemaNode& node, ValueId value);
  bool read_part(SchemaNode& node, std::string_view keyword, ValueId value);
  bool read_reference(SchemaNode& node, std::string_view keyword, ValueId value);
  bool read_schemas(std::vector<NodeId>& into, ValueId value);
  bool read_schema(NodeId& into, ValueId value);
  bool read_size(uint64_t& into, ValueId value);
  std::optional<TextPattern> pattern_of(std::string_view text);
  bool is_schema(ValueId value) const {
    return tree_.kind(value) == JsonKind::object || tree_.kind(value) == JsonKind::boolean;
  }
  // Number of schemas that apply to the same value one after another; 0: a circle, or too many.
  size_t chain_of(NodeId id, size_t depth);

  CompiledSchema& out_;
  const JsonTree& tree_;
  PointerIndex pointers_{tree_};
  Draft draft_;
  std::string why_;
  std::vector<Resource> resources_;
  std::map<std::string, uint16_t, std::less<>> by_uri_;
  std::map<std::string, ValueId, std::less<>> anchors_;  // URI#NAME
  struct Dynamic {
    std::string name;
    uint16_t resource = 0;
    ValueId schema = 0;
  };
  std::vector<Dynamic> dynamic_;
  std::unordered_map<ValueId, uint16_t> resource_of_;  // of schemas whose names are known
  std::unordered_map<ValueId, NodeId> nodes_;
  std::vector<std::pair<NodeId, ValueId>> work_;
  size_t dynamic_done_ = 0;     // entries of `dynamic_` that have nodes
  std::vector<size_t> chains_;  // of nodes; 0: not known
  // State of the schema that is being read.
  bool has_condition_ = false;  // `if`
  bool has_item_list_ = false;  // `items` is a list
  size_t patterns_ = 0;
  size_t programs_ = 0;
  std::string scratch_;
};

}  // namespace stdgate::schema

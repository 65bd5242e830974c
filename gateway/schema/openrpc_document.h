// OpenRpcDocument: an OpenRPC document (1.x), read once: what each method takes and gives.
//
// Job: hold the document against OpenRPC's own schema, and compile the schemas of its methods for
// SchemaCheck. Params become one schema for both ways of sending them, by name and by position.
// Schemas are of draft 7, as OpenRPC has them; references lead to places within the document.
// Owner: the configuration, and whoever checks by it. Limits: kMaxText, kMaxMethods, kMaxParams,
// kMaxFaults; JsonSchema::kMaxNodes in all.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/schema/schema_check.h"
#include "gateway/schema/schema_node.h"

namespace stdgate::schema {

class SchemaCompiler;

class OpenRpcDocument {
 public:
  static constexpr size_t kMaxText = size_t{4} << 20;
  static constexpr size_t kMaxMethods = 5000;
  static constexpr size_t kMaxParams = 500;  // of a method
  static constexpr size_t kMaxFaults = 20;   // that are told

  // The schemas of one method.
  struct Method {
    NodeId params = kNoNode;
    NodeId result = kNoNode;       // kNoNode: the document says nothing of it
    bool is_by_position = false;   // and by name: not at all
    std::optional<int> refusal{};  // the code that it declares for params that do not fit
  };
  // A schema that cannot be compiled: what is checked by it passes.
  struct Unchecked {
    std::string place;  // JSON pointer
    std::string why;
  };

  // `text`: of a file. The error has at least one fault, with its place.
  static tl::expected<OpenRpcDocument, std::vector<Misfit>> read(std::string_view text);

  // Null: the document does not know it. `method` is decoded.
  [[nodiscard]] const Method* find(std::string_view method) const;
  // The document in one line, valid JSON.
  [[nodiscard]] std::string_view text() const { return compiled_->text; }
  [[nodiscard]] const CompiledSchema& compiled() const { return *compiled_; }
  [[nodiscard]] const std::vector<Unchecked>& unchecked() const { return unchecked_; }
  [[nodiscard]] size_t methods() const { return methods_.size(); }

 private:
  // The state while the document is read.
  struct Reading;

  OpenRpcDocument() : compiled_(std::make_unique<CompiledSchema>()) {}

  void read_methods(Reading& reading);
  void read_method(Reading& reading, ValueId method, const std::string& place);
  void read_params(Reading& reading, ValueId params, const std::string& place, Method& out);
  void read_errors(Reading& reading, ValueId errors, const std::string& place, Method& out);
  NodeId read_schema(Reading& reading, ValueId descriptor, const std::string& place);

  std::unique_ptr<CompiledSchema> compiled_;
  std::map<std::string, Method, std::less<>> methods_;
  std::vector<Unchecked> unchecked_;
  NodeId nothing_ = kNoNode;   // fits no value
  NodeId anything_ = kNoNode;  // fits every value
};

}  // namespace stdgate::schema

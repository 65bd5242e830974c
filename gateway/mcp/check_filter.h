// CheckFilter: holds arguments and results of MCP's tools against the schemas that their server
// lists.
//
// Job: answer a call whose arguments do not fit by a tool error that says where and what was
// expected, so that a model can mend it; turn a result that does not fit into a fault. A schema is
// compiled when it is first needed, and once for all that list it. One that cannot be compiled
// lets all pass, and is told and counted. A notification that does not fit is dropped. Owner: the
// backend. Limits: kMaxTools of a list, kMaxText of all schemas: other tools are not checked.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/mcp/listed_filter.h"
#include "gateway/schema/json_schema.h"
#include "gateway/schema/schema_check.h"

namespace stdgate::mcp {

class McpDialect;

class CheckFilter final : public ListedFilter {
 public:
  static constexpr size_t kMaxTools = 2000;
  static constexpr size_t kMaxText = 16 << 20;

  CheckFilter(const pool::FilterServices& services, const McpDialect& dialect);

  void on_request(call::CallPtr& call, const call::Request& request) override {
    if (request.method == "tools/call") review(call, request, 0);
  }
  call::Passage on_notification(const call::Notification& notification) override;

 private:
  // A schema, compiled when it is needed.
  struct Schema {
    std::string text;
    std::optional<schema::JsonSchema> compiled;
    bool is_tried = false;
  };
  using SchemaRef = std::shared_ptr<Schema>;
  struct Tool {
    SchemaRef input;
    SchemaRef output;  // null: there is none
  };
  using Tools = std::map<std::string, Tool, std::less<>>;

  void judge(call::CallPtr& call, const call::Request& request) override;
  void learn(const Page& page) override;
  void see(call::CallPtr& call, call::Answer& answer) override;
  void forget_child(const call::ChildRef& child) override;

  [[nodiscard]] const Tool* find(Scope scope, std::string_view name) const;
  SchemaRef keep(std::string_view text);
  // Null: what is checked by it passes.
  const schema::JsonSchema* compiled(Schema& schema, std::string_view tool);
  // Nothing: they fit. `why` is set where the message itself is wrong.
  std::optional<std::string> misfit_of(const rpc::Envelope& message, Scope scope, const char*& why);
  std::optional<std::string> misfit_of_result(const call::Call& call, std::string_view payload);

  const config::CheckConfig& config_;
  std::map<Scope, Tools> tools_;
  std::map<std::string, std::weak_ptr<Schema>, std::less<>> schemas_;  // by text
  size_t text_bytes_ = 0;
  schema::SchemaCheck check_;
  std::string scratch_;
};

}  // namespace stdgate::mcp

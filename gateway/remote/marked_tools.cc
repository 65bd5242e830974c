#include "gateway/remote/marked_tools.h"

#include <utility>

#include "gateway/remote/client_message.h"
#include "gateway/rpc/json_member.h"
#include "gateway/rpc/json_string.h"

namespace stdgate::remote {

void MarkedTools::learn(const rpc::Envelope& answer) {
  auto page = mcp::read_tool_page(answer);
  if (!page) return;
  for (mcp::MarkedTool& tool : page->tools) {
    if (tool.arguments.empty()) {
      tools_.erase(tool.name);
    } else if (tools_.size() < kMaxTools || tools_.contains(tool.name)) {
      const std::string name = tool.name;
      tools_[name] = std::move(tool);
    }
  }
}

void MarkedTools::append_fields(std::string_view tool, std::string_view params,
                                std::vector<std::string>& fields) const {
  const auto found = tools_.find(tool);
  if (found == tools_.end()) return;
  const std::string_view arguments = rpc::member_or_empty(params, "arguments");
  for (const mcp::MarkedArgument& argument : found->second.arguments) {
    std::string_view value = arguments;
    for (const std::string& key : argument.path) value = rpc::member_or_empty(value, key);
    if (value.empty() || value == "null" || value.front() == '{' || value.front() == '[') continue;
    std::string scratch;
    const std::string_view text =
        value.front() == '"' ? rpc::decode_string(rpc::string_content(value), scratch) : value;
    fields.push_back("Mcp-Param-" + argument.field + ": " + field_value_of(text));
  }
}

}  // namespace stdgate::remote

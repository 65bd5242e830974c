#include "gateway/mcp/check_filter.h"

#include <array>
#include <utility>

#include "gateway/mcp/param_headers.h"
#include "gateway/rpc/json_cursor.h"
#include "gateway/rpc/json_member.h"
#include "gateway/rpc/json_string.h"

namespace stdgate::mcp {

std::string tool_error_member(std::string_view text, bool is_modern) {
  std::string member = R"("result":{)";
  if (is_modern) member += R"("resultType":"complete",)";
  member += R"("content":[{"type":"text","text":)";
  rpc::append_json_string(member, text);
  return member + R"(}],"isError":true})";
}

CheckFilter::CheckFilter(const pool::FilterServices& services, const McpDialect& dialect)
    : ListedFilter(services, dialect,
                   [] {
                     static constexpr std::array<ListFacts, 1> kLists = {
                         {{kToolList, "notifications/tools/list_changed"}}};
                     return std::span<const ListFacts>(kLists);
                   }()),
      config_(services.services.config.check) {}

// --- Tools ----------------------------------------------------------------------------------

const CheckFilter::Tool* CheckFilter::find(Scope scope, std::string_view name) const {
  const auto tools = tools_.find(scope);
  if (tools == tools_.end()) return nullptr;
  const auto tool = tools->second.find(name);
  return tool == tools->second.end() ? nullptr : &tool->second;
}

CheckFilter::SchemaRef CheckFilter::keep(std::string_view text) {
  if (!text.starts_with('{')) return nullptr;
  const auto known = schemas_.find(text);
  if (known != schemas_.end()) {
    if (SchemaRef schema = known->second.lock()) return schema;
    text_bytes_ -= known->first.size();
    schemas_.erase(known);
  }
  if (text_bytes_ + text.size() > kMaxText) {
    std::erase_if(schemas_, [this](const auto& one) {
      if (!one.second.expired()) return false;
      text_bytes_ -= one.first.size();
      return true;
    });
  }
  if (text_bytes_ + text.size() > kMaxText) {
    services_.core.observer.on_check_failed(services_.backend, CheckFailure::schema);
    return nullptr;
  }
  auto schema = std::make_shared<Schema>();
  schema->text = text;
  schemas_.emplace(schema->text, schema);
  text_bytes_ += text.size();
  return schema;
}

void CheckFilter::learn(const Page& page) {
  Tools& tools = tools_[page.scope];
  if (page.is_asked && page.is_first) tools.clear();
  rpc::JsonCursor cursor(rpc::member_or_empty(page.payload, "tools"));
  if (!cursor.take('[') || cursor.take(']')) return;
  do {
    const std::string_view text = cursor.take_value();
    const std::string_view name = rpc::string_content(rpc::member_or_empty(text, "name"));
    if (name.empty()) continue;
    Tool tool;
    if (config_.arguments) tool.input = keep(rpc::member_or_empty(text, "inputSchema"));
    if (config_.results) tool.output = keep(rpc::member_or_empty(text, "outputSchema"));
    const std::string key(rpc::decode_string(name, scratch_));
    if (tools.size() < kMaxTools || tools.contains(key)) tools[key] = std::move(tool);
  } while (cursor.take(','));
}

void CheckFilter::forget_child(const call::ChildRef& child) {
  if (!child.is_shared) tools_.erase(scope_of(child.session));
}

const schema::JsonSchema* CheckFilter::compiled(Schema& schema, std::string_view tool) {
  if (!std::exchange(schema.is_tried, true)) {
    auto compiled = schema::JsonSchema::compile(schema.text);
    if (compiled) {
      schema.compiled.emplace(*std::move(compiled));
    } else {
      services_.core.observer.on_check_failed(services_.backend, CheckFailure::schema);
      services_.core.log.write(
          LogLevel::warn, "a schema cannot be compiled, and checks nothing",
          {{"backend", services_.config.name}, {"tool", tool}, {"reason", compiled.error()}});
    }
  }
  return schema.compiled ? &*schema.compiled : nullptr;
}

// --- Arguments ------------------------------------------------------------------------------

std::optional<std::string> CheckFilter::misfit_of(const rpc::Envelope& message, Scope scope,
                                                  const char*& why) {
  const auto name = rpc::find_clear_member(message.params, "name");
  const auto arguments = rpc::find_clear_member(message.params, "arguments");
  const auto is_twice = [](const rpc::Member& member) {
    return !member && member.error() == rpc::MemberError::duplicate;
  };
  if (message.has_lookalikes || is_twice(name) || is_twice(arguments)) {
    why = "readers could see different tools or arguments";
    return std::nullopt;
  }
  if (!name || !config_.arguments) return std::nullopt;
  const std::string_view tool = rpc::decode_string(rpc::string_content(*name), scratch_);
  const Tool* const known = find(scope, tool);
  if (known == nullptr || known->input == nullptr) return std::nullopt;
  const schema::JsonSchema* const schema = compiled(*known->input, tool);
  if (schema == nullptr) return std::nullopt;
  const std::string_view text = arguments.value_or("{}");
  if (check_.check(*schema, text) != schema::Fit::fits) {
    return text_of(check_.misfits(), "arguments");
  }
  if (const auto key = check_.repeated_key()) return *key + ": expected once, and is there twice";
  return std::nullopt;
}

void CheckFilter::judge(call::CallPtr& call, const call::Request& request) {
  const char* why = nullptr;
  const auto misfit = misfit_of(request.message, scope_of(call->session), why);
  if (why != nullptr) {
    return chain_.on_fault(std::move(call), rpc::faults::because(rpc::Fault::invalid_request, why));
  }
  if (!misfit) return;
  services_.core.observer.on_check_failed(services_.backend, CheckFailure::arguments);
  const bool is_modern = call->client_kind == PeerKind::stateless;
  const call::CallPtr refused = std::move(call);
  chain_.answer(*refused, Outcome::tool_error(),
                tool_error_member("Invalid arguments. " + *misfit, is_modern), {}, *misfit);
}

call::Passage CheckFilter::on_notification(const call::Notification& notification) {
  if (notification.method != "tools/call") return call::Passage::open;
  const Scope scope = scope_of(notification.context.session);
  const char* why = nullptr;
  const bool fits =
      is_known(scope, 0) && !misfit_of(notification.message, scope, why) && why == nullptr;
  if (fits) return call::Passage::open;
  services_.core.observer.on_check_failed(services_.backend, CheckFailure::arguments);
  return call::Passage::denied;
}

// --- Results --------------------------------------------------------------------------------

std::optional<std::string> CheckFilter::misfit_of_result(const call::Call& call,
                                                         std::string_view payload) {
  const Tool* const tool = find(scope_of(call.session), call.tool_name);
  if (tool == nullptr || tool->output == nullptr) return std::nullopt;
  const auto members = rpc::find_members(
      payload,
      std::array<std::string_view, 4>{"isError", "structuredContent", "resultType", "task"});
  const std::string_view type = members[2].value_or(R"("complete")");
  // Errors have no result, and what is not complete has none yet.
  if (members[0].value_or("false") == "true" || members[3] || type != R"("complete")") {
    return std::nullopt;
  }
  if (!members[1]) return "structuredContent: expected, as there is an outputSchema";
  const schema::JsonSchema* const schema = compiled(*tool->output, call.tool_name);
  if (schema == nullptr || check_.check(*schema, *members[1]) == schema::Fit::fits) {
    return std::nullopt;
  }
  return text_of(check_.misfits(), "structuredContent");
}

void CheckFilter::see(call::CallPtr& call, call::Answer& answer) {
  if (answer.message.kind != rpc::MessageKind::result) return;
  if (call->method_name == kToolList) {
    Page page;
    page.scope = scope_of(call->session);
    page.payload = answer.payload;
    return learn(page);
  }
  if (!config_.results || call->method_name != "tools/call") return;
  const auto misfit = misfit_of_result(*call, answer.payload);
  if (!misfit) return;
  services_.core.observer.on_check_failed(services_.backend, CheckFailure::result);
  chain_.on_fault(std::move(call), rpc::faults::child_failed(
                                       "the result does not fit the tool's outputSchema", *misfit));
}

}  // namespace stdgate::mcp

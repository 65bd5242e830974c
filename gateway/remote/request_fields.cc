#include "gateway/remote/request_fields.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "gateway/remote/client_message.h"
#include "gateway/rpc/json_member.h"
#include "gateway/rpc/json_string.h"

namespace stdgate::remote {

namespace {

bool names_target(std::string_view method) {
  return method == "tools/call" || method == "prompts/get" || method == "resources/read" ||
         method.starts_with("tasks/");
}

}  // namespace

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

WebRequest RequestFields::post(const ClientMessage& message, const SessionTag& session) {
  WebRequest request{
      .method = WebMethod::post,
      .url = url_,
      .fields = {"Content-Type: application/json", "Accept: application/json, text/event-stream"},
      .body = message.text};
  if (!message.is_request()) request.time = kNoticeTime;
  if (message.is_greeting()) request.time = kGreetingTime;
  if (message.is_modern()) {
    modern_version_ = message.version;
    add_modern(message, request);
  } else if (message.is_greeting()) {
    modern_version_.clear();
  } else {
    add_session(session, request);
  }
  add_credentials(request);
  return request;
}

void RequestFields::add_modern(const ClientMessage& message, WebRequest& request) const {
  request.fields.push_back("MCP-Protocol-Version: " + field_value_of(message.version));
  request.fields.push_back("Mcp-Method: " + field_value_of(message.method));
  if (!names_target(message.method)) return;
  request.fields.push_back("Mcp-Name: " + field_value_of(message.target));
  if (message.method == "tools/call" && tools_.knows(message.target)) {
    tools_.append_fields(message.target, rpc::member_or_empty(message.text, "params"),
                         request.fields);
  }
}

// Revisions before 2025-06-18 do not define the version field, but their servers accept it.
void RequestFields::add_session(const SessionTag& session, WebRequest& request) const {
  if (!session.id.empty()) request.fields.push_back("Mcp-Session-Id: " + session.id);
  const bool is_told = !session.revision.empty();
  const std::string& version = is_told || !session.id.empty() ? session.revision : modern_version_;
  if (version.empty()) return;
  request.fields.push_back("MCP-Protocol-Version: " + field_value_of(version));
}

void RequestFields::add_credentials(WebRequest& request) const {
  std::ranges::copy(authorizer_.fields(), std::back_inserter(request.fields));
}

WebRequest RequestFields::listen(const SessionTag& session, const std::string& last_id) const {
  WebRequest request{.url = url_, .fields = {"Accept: text/event-stream"}};
  if (!last_id.empty()) request.fields.push_back("Last-Event-ID: " + last_id);
  add_session(session, request);
  add_credentials(request);
  return request;
}

WebRequest RequestFields::end(const SessionTag& session) const {
  WebRequest request{.method = WebMethod::del, .url = url_, .time = Remote::kFarewellTime};
  add_session(session, request);
  add_credentials(request);
  return request;
}

std::string RequestFields::session_id_of(const WebHead& head) {
  const std::string_view id = head.find("mcp-session-id");
  const bool is_good = id.size() <= kMaxSessionId &&
                       std::ranges::all_of(id, [](char c) { return c >= '!' && c <= '~'; });
  return is_good ? std::string(id) : std::string();
}

}  // namespace stdgate::remote

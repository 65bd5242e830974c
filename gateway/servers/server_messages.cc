#include "gateway/servers/server_messages.h"

#include "gateway/base/text.h"
#include "gateway/call/insertion.h"
#include "gateway/mcp/mcp_revision.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"
#include "gateway/rpc/message_text.h"
#include "gateway/servers/text_edits.h"
#include "gateway/servers/tool_search.h"

namespace stdgate::servers {

namespace {

constexpr std::string_view kMemberKey = "stdgate/member";

// An object as a member of `object`: as it is there, or a new one.
std::string object_within(std::string_view object, std::string_view key) {
  const std::string_view value = rpc::member_or_empty(object, key);
  return value.starts_with('{') ? std::string(value) : "{}";
}

}  // namespace

std::string greeting_of_gateway(const std::string& version) {
  return R"({"protocolVersion":")" + std::string(mcp::kMcpRevisions.front()) +
         R"(","capabilities":{},"clientInfo":{"name":"stdgate","version":)" + json_text(version) +
         "}}";
}

rpc::FaultReport report_of(const session::Reply& reply, std::string_view error) {
  std::string scratch;
  rpc::FaultReport report;
  report.fault = *reply.fault;
  report.message =
      rpc::decode_string(rpc::string_content(rpc::member_or_empty(error, "message")), scratch);
  report.retry_after = reply.retry_after;
  report.scope = reply.scope;
  return report;
}

std::string cancel_notice(session::Tag tag) {
  return rpc::notification_text("notifications/cancelled",
                                R"({"requestId":)" + std::to_string(tag) + "}");
}

std::string level_request(std::string_view level) {
  return rpc::request_text(R"("stdgate-level")", "logging/setLevel",
                           R"({"level":)" + json_text(level) + "}");
}

std::string subscribe_request(std::string_view uri) {
  return rpc::request_text(json_text("stdgate " + std::string(uri)), "resources/subscribe",
                           R"({"uri":)" + json_text(uri) + "}");
}

std::string with_logger(const rpc::Envelope& notification, std::string_view member) {
  if (!rpc::json_string_equals(notification.method, "notifications/message")) {
    return std::string(notification.text);
  }
  TextEdits edits(notification.text);
  const auto logger = rpc::find_member(notification.params, "logger");
  if (logger && logger->starts_with('"')) {
    std::string scratch;
    std::string named(member);
    named.append("/").append(rpc::decode_string(rpc::string_content(*logger), scratch));
    edits.replace(*logger, json_text(named));
    return edits.apply();
  }
  const std::string own = R"("logger":)" + json_text(member);
  const auto insertion = call::insertion_at(call::InsertionPlace::params, notification, own);
  if (insertion && rpc::is_absent(logger)) edits.insert(*insertion);
  return edits.apply();
}

std::string question_for_client(const rpc::Envelope& question, uint64_t id,
                                std::string_view member) {
  TextEdits edits(question.text);
  edits.replace(question.id, std::to_string(id));
  std::string own = "\"" + std::string(kMemberKey) + "\":";
  own += json_text(member);
  if (const auto insertion = call::insertion_at(call::InsertionPlace::meta, question, own)) {
    edits.insert(*insertion);
  }
  return edits.apply();
}

std::string with_asking_member(const rpc::Envelope& answer, std::string_view member) {
  // A search stops at each occurrence of the first letter, and '_' is rare.
  if (answer.kind != rpc::MessageKind::result ||
      answer.payload.find("_required") == std::string_view::npos ||
      rpc::member_or_empty(answer.payload, "resultType") != R"("input_required")") {
    return {};
  }
  TextEdits edits(answer.text);
  rpc::for_each_member(rpc::member_or_empty(answer.payload, "inputRequests"),
                       [&](std::string_view, std::string_view question) {
                         if (!question.starts_with('{')) return;
                         const std::string params = object_within(question, "params");
                         const std::string meta = with_member(object_within(params, "_meta"),
                                                              kMemberKey, json_text(member));
                         const std::string own = with_member(params, "_meta", meta);
                         edits.replace(question, with_member(question, "params", own));
                       });
  return edits.apply();
}

std::string with_name_of_client(const rpc::Envelope& answer, std::string_view name) {
  const std::string_view message = rpc::member_or_empty(answer.payload, "message");
  std::string scratch;
  const std::string_view text = rpc::decode_string(rpc::string_content(message), scratch);
  for (const std::string_view what : {"Unknown tool: ", "Unknown prompt: "}) {
    if (!text.starts_with(what)) continue;
    TextEdits edits(answer.text);
    edits.replace(message, json_text(std::string(what).append(name)));
    return edits.apply();
  }
  return {};
}

std::string with_id(const rpc::Envelope& message, std::string_view id) {
  TextEdits edits(message.text);
  edits.replace(message.id, id);
  return edits.apply();
}

std::optional<std::string> request_within(const rpc::Envelope& request) {
  if (!rpc::json_string_equals(request.method, "tools/call")) return std::nullopt;
  const auto name = rpc::find_clear_member(request.params, "name");
  const auto arguments = rpc::find_clear_member(request.params, "arguments");
  if (!name || !arguments || !rpc::json_string_equals(rpc::string_content(*name), kCallTool)) {
    return std::nullopt;
  }
  const auto inner = rpc::find_clear_member(*arguments, "name");
  const auto inner_arguments = rpc::find_clear_member(*arguments, "arguments");
  const bool is_clear = inner_arguments || rpc::is_absent(inner_arguments);
  if (!inner || !inner->starts_with('"') || !is_clear) return std::nullopt;
  TextEdits edits(request.text);
  edits.replace(*name, *inner);
  edits.replace(*arguments, inner_arguments.value_or("{}"));
  return edits.apply();
}

std::string error_text(std::string_view error) {
  std::string scratch;
  return std::string(
      rpc::decode_string(rpc::string_content(rpc::member_or_empty(error, "message")), scratch));
}

bool is_subscription(std::string_view method) {
  return same_text(method, "resources/subscribe") || same_text(method, "resources/unsubscribe");
}

}  // namespace stdgate::servers

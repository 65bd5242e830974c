#include "gateway/mcp/mcp_dialect.h"

#include <algorithm>
#include <array>

#include "gateway/mcp/mcp_revision.h"
#include "gateway/rpc/json_member.h"

namespace stdgate {

namespace {

constexpr std::string_view kSubscribe = "resources/subscribe";
constexpr std::string_view kUnsubscribe = "resources/unsubscribe";
constexpr std::string_view kEmptyResult = "{}";
// Of "isError": a search stops at every first letter, and this one is rare.
constexpr std::string_view kErrorEnd = "Error";

constexpr std::array<std::string_view, 29> kMethods = {"initialize",
                                                       "ping",
                                                       "tools/list",
                                                       "tools/call",
                                                       "resources/list",
                                                       "resources/templates/list",
                                                       "resources/read",
                                                       kSubscribe,
                                                       kUnsubscribe,
                                                       "prompts/list",
                                                       "prompts/get",
                                                       "completion/complete",
                                                       "logging/setLevel",
                                                       "tasks/get",
                                                       "tasks/result",
                                                       "tasks/list",
                                                       "tasks/cancel",
                                                       "notifications/initialized",
                                                       "notifications/cancelled",
                                                       "notifications/progress",
                                                       "notifications/message",
                                                       "notifications/roots/list_changed",
                                                       "notifications/tools/list_changed",
                                                       "notifications/prompts/list_changed",
                                                       "notifications/resources/list_changed",
                                                       "notifications/resources/updated",
                                                       "notifications/tasks/status",
                                                       "notifications/elicitation/complete",
                                                       "server/discover"};

// The member at the end of a path of members; empty when there is none.
tl::expected<std::string_view, MemberError> find_path(
    std::string_view object, std::initializer_list<std::string_view> path) {
  for (const std::string_view key : path) {
    const auto member = find_member(object, key);
    if (!member) return member;
    object = *member;
  }
  return object;
}

bool is_string_or_number(std::string_view raw) {
  return !raw.empty() && (raw[0] == '"' || raw[0] == '-' || (raw[0] >= '0' && raw[0] <= '9'));
}

// What stands between the quotes; empty for what is no string.
std::string_view string_content(std::string_view raw) {
  return !raw.empty() && raw[0] == '"' ? raw.substr(1, raw.size() - 2) : std::string_view();
}

// Whether `raw` may hold the member at all; spares the walk through a large payload. A key can be
// spelled with escapes, so a backslash before a 'u' means that it has to be looked at.
bool may_hold(std::string_view raw, std::string_view key) {
  return raw.find(key) != std::string_view::npos || raw.find("\\u") != std::string_view::npos;
}

// The value of a member that there may be once; empty when there is none.
tl::expected<std::string_view, MemberError> only_member(std::string_view object,
                                                        std::string_view key) {
  const auto member = find_member(object, key);
  if (!member && member.error() == MemberError::absent) return std::string_view();
  return member;
}

// The intent of a request, with the token by which it asks for progress.
tl::expected<ClientIntent, const char*> with_token(const Envelope& request, ClientIntent intent) {
  // What most requests do not have, and begins with a rare letter, first.
  if (!may_hold(request.params, "_meta") || !may_hold(request.params, "progressToken")) {
    return intent;
  }
  const auto token = find_path(request.params, {"_meta", "progressToken"});
  if (token) {
    if (!is_string_or_number(*token)) {
      return tl::unexpected<const char*>("progressToken is neither a string nor a number");
    }
    intent.progress_token = *token;
  } else if (token.error() == MemberError::duplicate) {
    return tl::unexpected<const char*>("params name _meta or progressToken twice");
  }
  return intent;
}

std::string uri_request(WireId id, std::string_view method, std::string_view uri) {
  std::string text = R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":)";
  append_json_string(text, method);
  text += R"(,"params":{"uri":)";
  append_json_string(text, uri);
  text += "}}";
  return text;
}

}  // namespace

std::span<const std::string_view> McpDialect::known_methods() const { return kMethods; }

std::string McpDialect::handshake(WireId id) const {
  std::string text = R"({"jsonrpc":"2.0","id":)";
  text += std::to_string(id);
  text += R"(,"method":"initialize","params":{"protocolVersion":")";
  text += kMcpRevisions.front();
  text += R"(","capabilities":{},"clientInfo":{"name":"stdgate","version":)";
  append_json_string(text, version_);
  text += "}}}";
  return text;
}

tl::expected<std::string, std::string> McpDialect::finish_handshake(const Envelope& answer) const {
  if (answer.kind == MessageKind::error) {
    return tl::unexpected("initialize was answered with the error " + std::string(answer.payload));
  }
  const auto raw = find_member(answer.payload, "protocolVersion");
  if (!raw || raw->size() < 2 || raw->front() != '"') {
    return tl::unexpected(std::string("the answer to initialize names no protocolVersion"));
  }
  const std::string_view revision = raw->substr(1, raw->size() - 2);
  if (!parse_mcp_revision(revision)) {
    return tl::unexpected("it speaks the unknown MCP revision " + std::string(revision));
  }
  return R"({"jsonrpc":"2.0","method":"notifications/initialized"})";
}

tl::expected<ClientIntent, const char*> McpDialect::read_client(const Envelope& message,
                                                                std::string_view method,
                                                                Isolation isolation) const {
  const bool is_shared = isolation == Isolation::shared;
  ClientIntent intent;
  if (message.kind == MessageKind::notification) {
    if (method == "notifications/initialized" && is_shared) {
      intent.kind = ClientIntent::Kind::swallow;
    }
    if (method == "notifications/cancelled") {
      intent.kind = ClientIntent::Kind::cancel;
      const auto id = only_member(message.params, "requestId");
      if (!id) return tl::unexpected<const char*>("params name requestId twice");
      intent.cancelled_id = *id;
    }
    return intent;
  }
  // A session's own child is greeted by its client.
  if (method == "initialize" && is_shared) {
    intent.kind = ClientIntent::Kind::handshake;
    return intent;
  }
  if (method == "tools/call") {
    const auto name = only_member(message.params, "name");
    if (!name) return tl::unexpected<const char*>("params name the tool twice");
    intent.tool = string_content(*name);
  }
  if (is_shared && (method == kSubscribe || method == kUnsubscribe)) {
    const auto uri = only_member(message.params, "uri");
    if (!uri) return tl::unexpected<const char*>("params name the uri twice");
    intent.key = string_content(*uri);
    intent.result = kEmptyResult;
  }
  if (!intent.key.empty()) {
    intent.kind =
        method == kSubscribe ? ClientIntent::Kind::subscribe : ClientIntent::Kind::unsubscribe;
  }
  return with_token(message, intent);
}

std::string McpDialect::cancel(WireId id, CancelReason reason) const {
  std::string text =
      R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)";
  text += std::to_string(id);
  text += R"(,"reason":")";
  text += cancel_reason_text(reason);
  text += "\"}}";
  return text;
}

std::string_view McpDialect::cancelled_by_child(const Envelope& notification,
                                                std::string_view method) const {
  if (method != "notifications/cancelled") return {};
  return find_member(notification.params, "requestId").value_or(std::string_view());
}

std::string_view McpDialect::progress_token(const Envelope& notification,
                                            std::string_view method) const {
  if (method != "notifications/progress") return {};
  return find_member(notification.params, "progressToken").value_or(std::string_view());
}

// What the schema does not define is taken to be caused by a call, as log messages are.
Audience McpDialect::audience(const Envelope& notification, std::string_view method) const {
  if (method == "notifications/resources/updated") {
    const auto uri = find_member(notification.params, "uri");
    return {Audience::Kind::subscribers, string_content(uri.value_or(std::string_view()))};
  }
  const bool is_change_of_a_list = method == "notifications/tools/list_changed" ||
                                   method == "notifications/prompts/list_changed" ||
                                   method == "notifications/resources/list_changed";
  return {is_change_of_a_list ? Audience::Kind::everybody : Audience::Kind::caller, {}};
}

std::string McpDialect::subscribe(WireId id, std::string_view key) const {
  return uri_request(id, kSubscribe, key);
}

std::string McpDialect::unsubscribe(WireId id, std::string_view key) const {
  return uri_request(id, kUnsubscribe, key);
}

// "a/b", then "a/", then "a": whoever subscribed may have written either.
std::string_view McpDialect::enclosing(std::string_view uri) const {
  const size_t separator = uri.find_last_of("/?#");
  if (separator == std::string_view::npos) return {};
  return uri.substr(0, separator + 1 == uri.size() ? separator : separator + 1);
}

std::string_view McpDialect::answer_child(std::string_view method) const {
  return method == "ping" ? kEmptyResult : "";
}

Outcome McpDialect::outcome(const Envelope& answer, std::string_view method) const {
  if (answer.kind == MessageKind::error) return Outcome::error();
  if (method != "tools/call" || !may_hold(answer.payload, kErrorEnd)) return Outcome::ok();
  const auto is_error = find_member(answer.payload, "isError");
  return is_error && *is_error == "true" ? Outcome::tool_error() : Outcome::ok();
}

}  // namespace stdgate

#include "gateway/mcp/mcp_dialect.h"

#include <algorithm>
#include <array>

#include "gateway/rpc/json_member.h"

namespace stdgate {

namespace {

// Newest first; the first is offered in the handshake.
constexpr std::array<std::string_view, 4> kRevisions = {"2025-11-25", "2025-06-18", "2025-03-26",
                                                        "2024-11-05"};

constexpr std::array<std::string_view, 29> kMethods = {"initialize",
                                                       "ping",
                                                       "tools/list",
                                                       "tools/call",
                                                       "resources/list",
                                                       "resources/templates/list",
                                                       "resources/read",
                                                       "resources/subscribe",
                                                       "resources/unsubscribe",
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

// Whether `raw` may hold the member at all; spares the walk through a large payload. A key can be
// spelled with escapes, so a backslash before a 'u' means that it has to be looked at.
bool may_hold(std::string_view raw, std::string_view key) {
  return raw.find(key) != std::string_view::npos || raw.find("\\u") != std::string_view::npos;
}

}  // namespace

std::span<const std::string_view> McpDialect::known_methods() const { return kMethods; }

std::string McpDialect::handshake(WireId id) const {
  std::string text = R"({"jsonrpc":"2.0","id":)";
  text += std::to_string(id);
  text += R"(,"method":"initialize","params":{"protocolVersion":")";
  text += kRevisions.front();
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
  if (std::find(kRevisions.begin(), kRevisions.end(), revision) == kRevisions.end()) {
    return tl::unexpected("it speaks the unknown MCP revision " + std::string(revision));
  }
  return R"({"jsonrpc":"2.0","method":"notifications/initialized"})";
}

tl::expected<ClientIntent, const char*> McpDialect::read_client(const Envelope& message,
                                                                std::string_view method) const {
  ClientIntent intent;
  if (message.kind == MessageKind::notification) {
    if (method == "notifications/initialized") intent.kind = ClientIntent::Kind::swallow;
    if (method == "notifications/cancelled") {
      intent.kind = ClientIntent::Kind::cancel;
      const auto id = find_member(message.params, "requestId");
      if (!id && id.error() == MemberError::duplicate) {
        return tl::unexpected<const char*>("params name requestId twice");
      }
      if (id) intent.cancelled_id = *id;
    }
    return intent;
  }
  if (method == "initialize") {
    intent.kind = ClientIntent::Kind::handshake;
    return intent;
  }
  if (!may_hold(message.params, "progressToken")) return intent;
  const auto token = find_path(message.params, {"_meta", "progressToken"});
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

std::string McpDialect::cancel(WireId id, CancelReason reason) const {
  std::string text =
      R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)";
  text += std::to_string(id);
  text += R"(,"reason":")";
  text += cancel_reason_text(reason);
  text += "\"}}";
  return text;
}

std::string_view McpDialect::progress_token(const Envelope& notification,
                                            std::string_view method) const {
  if (method != "notifications/progress") return {};
  return find_member(notification.params, "progressToken").value_or(std::string_view());
}

std::string_view McpDialect::answer_child(std::string_view method) const {
  return method == "ping" ? "{}" : "";
}

Outcome McpDialect::outcome(const Envelope& answer, std::string_view method) const {
  if (answer.kind == MessageKind::error) return Outcome::error();
  if (method != "tools/call" || !may_hold(answer.payload, "isError")) return Outcome::ok();
  const auto is_error = find_member(answer.payload, "isError");
  return is_error && *is_error == "true" ? Outcome::tool_error() : Outcome::ok();
}

}  // namespace stdgate

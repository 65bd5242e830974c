#include "gateway/acp/acp_dialect.h"

#include <algorithm>
#include <array>
#include <utility>

#include "gateway/base/text.h"
#include "gateway/pool/child_facts.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"
#include "gateway/rpc/message_text.h"

namespace stdgate::acp {
namespace {

constexpr std::string_view kCancel = "$/cancel_request";

constexpr auto kMethods = std::to_array<std::string_view>({
    // To the agent
    "initialize",
    "authenticate",
    "logout",
    "session/new",
    "session/load",
    "session/resume",
    "session/list",
    "session/delete",
    "session/close",
    "session/prompt",
    "session/cancel",
    "session/set_mode",
    "session/set_config_option",
    kCancel,
    // To the client
    "session/update",
    "session/request_permission",
    "fs/read_text_file",
    "fs/write_text_file",
    "terminal/create",
    "terminal/output",
    "terminal/release",
    "terminal/wait_for_exit",
    "terminal/kill",
    "elicitation/create",
    "elicitation/complete",
});

constexpr std::string_view kPrompt = "session/prompt";
constexpr std::string_view kUpdate = "session/update";
constexpr std::string_view kAskPermission = "session/request_permission";

// Why an agent stops, where it has not finished its turn.
constexpr auto kStops = std::to_array<std::pair<std::string_view, Outcome>>({
    {R"("cancelled")", Outcome::cancelled()},
    {R"("refusal")", Outcome::refusal()},
    {R"("max_tokens")", Outcome::max_tokens()},
    {R"("max_turn_requests")", Outcome::max_turn_requests()},
});

// The text between the quotes of a member; empty: the member is no string, or missing.
std::string_view text_in(std::string_view object, std::string_view member) {
  const auto raw = rpc::find_member(object, member);
  const bool is_text = raw && raw->size() >= 2 && raw->front() == '"';
  return is_text ? raw->substr(1, raw->size() - 2) : std::string_view();
}

// Messages that keep a session alive. A client may always stop its own work.
constexpr auto kLifecycle =
    std::to_array<std::string_view>({"initialize", "session/cancel", kCancel});

}  // namespace

AcpDialect::AcpDialect() : pool::Dialect({.shares_children = false, .methods = kMethods}) {}

Outcome AcpDialect::outcome(const rpc::Envelope& answer, std::string_view method) const {
  if (answer.kind == rpc::MessageKind::error) return Outcome::error();
  if (method != kPrompt) return Outcome::ok();
  const auto reason = rpc::find_member(answer.payload, "stopReason");
  const auto* const stop = std::ranges::find(kStops, reason.value_or(std::string_view()),
                                             [](const auto& one) { return one.first; });
  return stop == kStops.end() ? Outcome::ok() : stop->second;
}

call::Particulars AcpDialect::particulars(const rpc::Envelope& message,
                                          std::string_view method) const {
  call::Particulars found;
  if (message.kind == rpc::MessageKind::result && method == kAskPermission) {
    const auto outcome = rpc::find_member(message.payload, "outcome");
    if (outcome) found.option = text_in(*outcome, "optionId");
    return found;
  }
  if (message.params.empty()) return found;
  found.session = text_in(message.params, "sessionId");
  if (method == kAskPermission) {
    const auto tool = rpc::find_member(message.params, "toolCall");
    if (tool) found.title = text_in(*tool, "title");
  } else if (method == kUpdate) {
    const auto update = rpc::find_member(message.params, "update");
    if (update && text_in(*update, "sessionUpdate") == "tool_call") {
      found.title = text_in(*update, "title");
    }
  }
  return found;
}

bool AcpDialect::is_lifecycle(std::string_view method) const {
  return std::ranges::find(kLifecycle, method) != kLifecycle.end();
}

std::optional<pool::ChildFacts> AcpDialect::facts(const rpc::Envelope& answer,
                                                  std::string_view /*method*/) const {
  const auto [version, agent, capabilities] =
      rpc::find_members<3>(answer.payload, {"protocolVersion", "agentInfo", "agentCapabilities"});
  pool::ChildFacts facts;
  facts.protocol_version = std::string(version.value_or(std::string_view()));
  if (facts.protocol_version.size() > pool::ChildFacts::kMaxNameBytes) {
    facts.protocol_version.clear();
  }
  facts.server_name = pool::fact_text(rpc::member_or_empty(agent.value_or("{}"), "name"));
  facts.server_version = pool::fact_text(rpc::member_or_empty(agent.value_or("{}"), "version"));
  const std::string_view raw = capabilities.value_or(std::string_view());
  if (raw.size() <= pool::ChildFacts::kMaxRawBytes) facts.capabilities = raw;
  return facts;
}

tl::expected<call::ClientIntent, const char*> AcpDialect::read_client(
    const rpc::Envelope& message, std::string_view method, const call::Reading& /*reading*/) const {
  call::ClientIntent intent;
  if (message.kind == rpc::MessageKind::notification && method == kCancel) {
    const auto id = rpc::find_member(message.params, "requestId");
    if (!id && id.error() == rpc::MemberError::duplicate) {
      return tl::unexpected<const char*>("params name requestId twice");
    }
    intent.kind = call::ClientIntent::Kind::cancel;
    if (id) intent.cancelled_id = *id;
  } else if (message.kind == rpc::MessageKind::request && method == "initialize") {
    intent.introduces = true;
  }
  return intent;
}

std::string AcpDialect::cancel(rpc::WireId id, pool::CancelReason /*reason*/) const {
  return rpc::notification_text(kCancel, R"({"requestId":)" + std::to_string(id) + "}");
}

std::string_view AcpDialect::cancelled_by_child(const rpc::Envelope& notification,
                                                std::string_view method) const {
  if (method != kCancel) return {};
  return rpc::find_member(notification.params, "requestId").value_or(std::string_view());
}

std::string session_in(std::string_view params) {
  const auto raw = rpc::find_member(params, "sessionId");
  if (!raw || raw->size() < 2 || raw->front() != '"') return {};
  std::string scratch;
  return std::string(rpc::decode_string(raw->substr(1, raw->size() - 2), scratch));
}

bool is_method(const rpc::Envelope& message, std::string_view method) {
  return rpc::json_string_equals(message.method, method);
}

// The RFD wants that of answers and of what takes up a session, too, and the Python SDK leaves it
// out there.
bool needs_session(const rpc::Envelope& message) {
  constexpr auto kTakeUp =
      std::to_array<std::string_view>({"session/load", "session/resume", "session/fork"});
  return !message.method.empty() && std::ranges::none_of(kTakeUp, [&](std::string_view method) {
    return is_method(message, method);
  });
}

std::string with_connection_id(std::string_view answer, std::string_view result,
                               const std::string& id) {
  std::string text(answer);
  const rpc::Member named = rpc::find_member(result, "connectionId");
  if (named) {
    const TextPlace place = place_of(*named, answer);
    return text.replace(place.offset, place.length, '"' + id + '"');
  }
  if (!result.starts_with('{') || !rpc::is_absent(named)) return text;
  const size_t inside = place_of(result, answer).offset + 1;
  const bool is_empty = text[text.find_first_not_of(" \t\r\n", inside)] == '}';
  return text.insert(inside, R"("connectionId":")" + id + (is_empty ? "\"" : "\","));
}

}  // namespace stdgate::acp

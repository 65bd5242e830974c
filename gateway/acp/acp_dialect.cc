#include "gateway/acp/acp_dialect.h"

#include <algorithm>
#include <array>

#include "gateway/pool/greeting_facts.h"
#include "gateway/rpc/json_member.h"

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

// Messages that keep a session alive. A client may always stop its own work.
constexpr auto kLifecycle =
    std::to_array<std::string_view>({"initialize", "session/cancel", kCancel});

}  // namespace

AcpDialect::AcpDialect() : pool::Dialect({.shares_children = false, .methods = kMethods}) {}

bool AcpDialect::is_lifecycle(std::string_view method) const {
  return std::ranges::find(kLifecycle, method) != kLifecycle.end();
}

pool::ChildFacts AcpDialect::facts(const rpc::Envelope& answer) const {
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
    const rpc::Envelope& message, std::string_view method, config::Isolation /*isolation*/) const {
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
  return R"({"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":)" +
         std::to_string(id) + "}}";
}

std::string_view AcpDialect::cancelled_by_child(const rpc::Envelope& notification,
                                                std::string_view method) const {
  if (method != kCancel) return {};
  return rpc::find_member(notification.params, "requestId").value_or(std::string_view());
}

}  // namespace stdgate::acp

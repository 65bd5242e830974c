#include "gateway/servers/own_requests.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "gateway/base/text.h"
#include "gateway/mcp/era_bridge.h"
#include "gateway/mcp/mcp_revision.h"
#include "gateway/rpc/json_text.h"

namespace stdgate::servers {

namespace {

constexpr std::string_view kEmptyResult = "{}";
std::optional<ListKind> list_of(std::string_view method) {
  for (const ListKind kind : kListed) {
    if (facts_of(kind).method == method) return kind;
  }
  return std::nullopt;
}

}  // namespace

OwnRequests::Taking OwnRequests::take(call::CallPtr& call, const call::Request& request) {
  const auto taken = [](bool is_answered) { return is_answered ? Taking::answered : Taking::open; };
  const std::string_view method = request.method;
  if (same_text(method, "tools/call")) return call_tool(call, request);
  if (const auto kind = list_of(method)) return taken(list(call, request, *kind));
  if (method == "server/discover" && request.context.peer_kind == PeerKind::stateless) {
    return taken(discover(call, request));
  }
  if (method == "initialize") {
    greet(*call, request);
  } else if (method == "ping") {
    services_.chain.answer_result(*call, kEmptyResult);
  } else if (method == "logging/setLevel") {
    set_level(*call, request);
  } else {
    return Taking::of_member;
  }
  return Taking::answered;
}

// A member's tool cannot have the names of ours. A clear call_tool has been replaced by the call
// inside of it.
OwnRequests::Taking OwnRequests::call_tool(call::CallPtr& call, const call::Request& request) {
  const auto is = [&](std::string_view tool) {
    return services_.config.expose.is_search && rpc::json_string_equals(request.intent.tool, tool);
  };
  if (is(kFindTool)) return find_tool(call, request) ? Taking::answered : Taking::open;
  if (!is(kCallTool)) return Taking::of_member;
  services_.chain.answer_error(
      *call, {rpc::RpcError::invalid_params,
              "call_tool calls another tool: its argument `name` is a name that find_tool has "
              "given, and its argument `arguments` has what goes to that tool"});
  return Taking::answered;
}

bool OwnRequests::list(call::CallPtr& call, const call::Request& request, ListKind kind) {
  const call::CallContext& context = request.context;
  // Members that are awake are asked for their capabilities. No client waits for the answer.
  services_.answers.prepare(ListKind::greeting, context);
  VirtualSession* const session = services_.sessions.find(context.session);
  const bool is_first = session != nullptr && !session->has_listed(kind);
  if (!services_.answers.prepare_list(kind, context, is_first)) return false;
  if (session != nullptr) session->note_listed(kind);
  if (const Member* const missing = services_.answers.missing_required(kind, context)) {
    services_.changes.arm_retry();
    services_.chain.on_fault(std::move(call),
                             rpc::faults::child_failed("the server '" + missing->name() +
                                                       "' is required here, and is down"));
    return true;
  }
  if (context.peer_kind == PeerKind::stateless && services_.answers.is_refused(context)) {
    refuse_era(*call);
    return true;
  }
  const auto result = services_.answers.list(kind, request.message.params, context);
  services_.changes.arm_retry();
  if (result) {
    services_.chain.on_result(std::move(call), *result);
  } else {
    services_.chain.answer_error(*call, {rpc::RpcError::invalid_params, result.error()});
  }
  return true;
}

// As a server that has sessions alone.
void OwnRequests::refuse_era(const call::Call& call) {
  const bool is_probe = call.method_name == services_.dialect.traits().probe;
  services_.chain.answer_error(call, mcp::unsupported_version(mcp::kModernRevision, false),
                               is_probe ? Outcome::other_era() : Outcome::error());
}

bool OwnRequests::discover(call::CallPtr& call, const call::Request& request) {
  const bool may_refuse = std::ranges::all_of(services_.members.order(), [this](size_t i) {
    return services_.members[i]->may_refuse_modern();
  });
  if (may_refuse && !services_.answers.prepare(ListKind::tools, request.context)) return false;
  if (may_refuse && services_.answers.is_refused(request.context)) {
    refuse_era(*call);
  } else {
    services_.chain.on_result(std::move(call), services_.answers.discovery(request.context));
  }
  return true;
}

bool OwnRequests::find_tool(call::CallPtr& call, const call::Request& request) {
  if (!services_.answers.prepare(ListKind::tools, request.context)) return false;
  if (const auto result = services_.answers.search(request.message.params, request.context)) {
    services_.changes.arm_retry();
    services_.chain.on_result(std::move(call), *result);
  } else {
    services_.chain.answer_error(*call, {rpc::RpcError::invalid_params,
                                         "find_tool needs the argument `query`: some words that "
                                         "say what the tool is to do"});
  }
  return true;
}

void OwnRequests::greet(const call::Call& call, const call::Request& request) {
  const std::string_view params = request.message.params;
  VirtualSession* const session = services_.sessions.find(request.context.session);
  if (session != nullptr) {
    if (params.size() > VirtualSession::kMaxGreeting) {
      return services_.chain.answer_error(
          call, {rpc::RpcError::invalid_params, "initialize has more than 64 KiB of params"});
    }
    session->greeting = params.empty() ? "{}" : params;
    session->revision = mcp::agreed_mcp_revision(params);
    session->transport = request.context.transport;
    session->charge();
  }
  services_.chain.answer_result(call, services_.answers.greeting(params, request.context));
}

void OwnRequests::set_level(const call::Call& call, const call::Request& request) {
  const auto refuse = [&](const char* why) {
    services_.chain.answer_error(call, {rpc::RpcError::invalid_params, why});
  };
  VirtualSession* const session = services_.sessions.find(request.context.session);
  if (session == nullptr) {
    return refuse("a log level belongs to a session, and this call has none");
  }
  if (!request.intent.severity) return refuse("no such log level");
  services_.sessions.set_level(*session, session::severity_name(*request.intent.severity));
  services_.chain.answer_result(call, kEmptyResult);
}

}  // namespace stdgate::servers

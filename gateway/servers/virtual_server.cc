#include "gateway/servers/virtual_server.h"

#include <utility>

#include "gateway/mcp/mcp_params.h"
#include "gateway/rpc/message_text.h"
#include "gateway/servers/server_messages.h"

namespace stdgate::servers {

namespace {

backend::FilterOptions filter_options(const VirtualServerOptions& options,
                                      call::LabelNames& names) {
  backend::FilterOptions of_filters;
  of_filters.config = config::as_backend(options.config);
  of_filters.limits = options.limits;
  of_filters.roles = options.roles;
  of_filters.known_methods = options.known_methods;
  of_filters.known_tools = options.known_tools;
  of_filters.names = &names;
  return of_filters;
}

}  // namespace

VirtualServer::VirtualServer(BackendId id, VirtualServerOptions options,
                             std::unique_ptr<pool::Dialect> dialect, call::LabelNames& names,
                             session::Callers& callers, const pool::CoreServices& core)
    : FilteredUpstream(id, filter_options(options, names), std::move(dialect), callers, core),
      config_(std::move(options.config)),
      version_(std::move(options.version)),
      aggregate_({config_, version_, core, callers, FilteredUpstream::dialect(), chain(),
                  call_store(), traces(), id, core.payer_of(id), max_sessions()}) {
  set_owns_children(false);
  aggregate_.set_rules(config(), options.roles);
  assemble();
}

// The eras are each member's own business.
void VirtualServer::assemble() {
  add_first_filters();
  add_rules();
  add_trace();
  chain().add("members", aggregate_);
}

void VirtualServer::take(const config::ServerConfig& config) {
  const config::ServerConfig former = std::exchange(config_, config);
  if (former.members == config.members && former.expose == config.expose &&
      former.instructions == config.instructions) {
    return;
  }
  aggregate_.take_members();
  aggregate_.note_changed();
  end_listening();
}

void VirtualServer::set_rules(const config::BackendConfig& backend,
                              const std::vector<config::RoleConfig>& roles) {
  if (!rules().replace(backend, roles)) return;
  aggregate_.set_rules(backend, roles);
  const auto is_denied = [this](const VirtualSession& session) {
    return rules().any() && !rules().serves(session.client.principal.get());
  };
  aggregate_.sessions().end_if(is_denied, session::SessionEnd::denied,
                               "no rule lets this client in any more");
  aggregate_.note_changed();
  end_listening();
}

// --- Messages ------------------------------------------------------------------------------------

// Its rules, its routes and its member look at the same few params.
backend::Admission VirtualServer::accept_request(const rpc::Envelope& request,
                                                 const call::CallContext& context) {
  // The call inside of call_tool is judged, counted and recorded under its own name.
  auto inner = config_.expose.is_search ? request_within(request) : std::nullopt;
  if (!inner && context.params != nullptr) {
    return FilteredUpstream::accept_request(request, context);
  }
  call::CallContext own = context;
  std::optional<rpc::KnownMessage> known;
  if (inner) {
    known.emplace(*inner);
    own.params = nullptr;
    own.mirrored.reset();
  }
  const rpc::Envelope& message = known ? known->envelope() : request;
  std::optional<mcp::McpParams> params;
  if (own.params == nullptr) own.params = &params.emplace(mcp::read_params(message.params));
  return FilteredUpstream::accept_request(message, own);
}

// A notification with the method of a request would reach members by their own names, past what the
// server exposes, fixes and denies. MCP has none (basic, notifications).
backend::Admission VirtualServer::forward(const call::Notification& notification,
                                          const call::ClientIntent& /*intent*/) {
  if (!notification.method.starts_with("notifications/")) return drop(DropReason::denied);
  VirtualSession* const session = aggregate_.sessions().find(notification.context.session);
  if (session != nullptr) VirtualSessions::tell_parts(*session, notification.message.text);
  return backend::Admission::delivered;
}

bool VirtualServer::take_answer(session::SessionId session, const rpc::Envelope& answer) {
  VirtualSession* const found = aggregate_.sessions().find(session);
  return found != nullptr && aggregate_.sessions().pass_answer(*found, answer);
}

SessionName VirtualServer::name_of(session::SessionId session) const {
  const VirtualSession* const found = aggregate_.sessions().find(session);
  return found == nullptr ? SessionName() : found->sink->name();
}

void VirtualServer::cancel_calls_of(session::Caller caller) {
  aggregate_.end_calls([caller](const call::Call& call) { return call.caller == caller; },
                       "client_left", nullptr);
}

// --- Sessions ------------------------------------------------------------------------------------

tl::expected<session::SessionId, rpc::FaultReport> VirtualServer::adopt_session(
    session::Caller caller, session::SessionSink& sink, const policy::Client& client,
    const session::Beginning& beginning) {
  auto obstacle = find_obstacle(client);
  if (obstacle) return tl::unexpected(*std::move(obstacle));
  const auto session = aggregate_.sessions().add(caller, sink, client, beginning);
  if (session) core().observer.on_session_opened(id());
  aggregate_.note_clients();
  return session;
}

void VirtualServer::close_session(session::SessionId session, std::string_view why) {
  const VirtualSession* const found = aggregate_.sessions().find(session);
  if (found == nullptr) return;
  // Over WebSocket, modern calls of the same connection have no session.
  const auto is_its = [session, caller = found->caller](const call::Call& call) {
    return call.session == session || call.caller == caller;
  };
  const auto report = rpc::faults::child_failed(std::string(why));
  aggregate_.end_calls(is_its, "client_left", why.empty() ? nullptr : &report);
  aggregate_.sessions().close(session);
  // Its parts may be parked. The session itself never is.
  core().observer.on_session_closed(id(), SessionState::live);
  aggregate_.note_clients();
}

session::Parking VirtualServer::park_session(session::SessionId session) {
  VirtualSession* const found = aggregate_.sessions().find(session);
  return found == nullptr ? session::Parking::refused : aggregate_.sessions().park(*found);
}

void VirtualServer::give_up_asks(session::SessionId session) {
  if (auto* const found = aggregate_.sessions().find(session)) {
    aggregate_.sessions().give_up_asks(*found);
  }
}

void VirtualServer::hold_child(session::SessionId session, bool held) {
  if (auto* const found = aggregate_.sessions().find(session)) {
    aggregate_.sessions().hold(*found, held);
  }
}

void VirtualServer::end_sessions(session::SessionEnd end, std::string_view message) {
  aggregate_.sessions().end_if([](const VirtualSession&) { return true; }, end, message);
}

// --- Its own life --------------------------------------------------------------------------------

void VirtualServer::drain() {
  aggregate_.drain();
  aggregate_.end_listening();
}

void VirtualServer::fail_calls(const rpc::FaultReport& report) {
  aggregate_.end_calls([](const call::Call&) { return true; }, report.message, &report);
}

pool::BackendStatus VirtualServer::status() const {
  pool::BackendStatus status;
  status.name = name();
  aggregate_.describe(status);
  return status;
}

}  // namespace stdgate::servers

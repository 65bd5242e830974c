#include "gateway/servers/virtual_server.h"

#include <utility>

#include "gateway/backend/upstream.h"
#include "gateway/call/audit_filter.h"
#include "gateway/mcp/mcp_params.h"
#include "gateway/mcp/mcp_revision.h"
#include "gateway/rpc/known_message.h"
#include "gateway/servers/message_texts.h"

namespace stdgate::servers {

VirtualServer::VirtualServer(BackendId id, VirtualServerOptions options,
                             std::unique_ptr<pool::Dialect> dialect, call::BackendNames& names,
                             session::Callers& callers, const pool::CoreServices& core)
    : Upstream(backend::upstream_facts(id, config::as_backend(options.config), options.limits,
                                       *dialect, core.payer_of(id).held)),
      options_(std::move(options)),
      backend_config_(config::as_backend(options_.config)),
      dialect_(std::move(dialect)),
      callers_(callers),
      core_(core),
      names_of_calls_(names),
      traces_messages_(core.log.enabled(LogLevel::debug)),
      calls_{core.random(), core.random()},
      chain_services_{core_.clock, core_.wall_clock, core_.observer,  callers_,  *dialect_,
                      calls_,      Upstream::id(),   backend_config_, core_.log, traces_messages_},
      chain_(chain_services_),
      names_(names_of_calls_, core_.clock, calls_),
      traces_(core_.traces, core_.random, backend_config_, calls_),
      capacity_(chain_, core_.overload, core.payer_of(id).account, core_.observer, Upstream::id()),
      quotas_(chain_,
              std::make_shared<policy::ClientQuotas>(backend_config_.calls_per_principal,
                                                     backend_config_.calls, core.calls),
              calls_, chain_services_),
      rules_(chain_, options_.roles, calls_, chain_services_),
      aggregate_({options_.config, options_.version, core_, callers_, *dialect_, chain_, calls_,
                  traces_, Upstream::id(), core_.payer_of(id), max_sessions()}) {
  set_owns_children(false);
  call::NameTable& methods = names_of_calls_.methods();
  for (const std::string& name : options_.known_methods) methods.admit(name);
  for (const std::string& name : options_.known_tools) names_of_calls_.tools().admit(name);
  for (const std::string_view name : dialect_->traits().methods) methods.admit(name);
  aggregate_.set_rules(backend_config_, options_.roles);
  assemble();
}

// As in front of a pool (Backend::assemble()). The eras are each member's own business.
void VirtualServer::assemble() {
  chain_.add("names", names_);
  chain_.add("capacity", capacity_);
  if (core_.audit != nullptr) {
    chain_.own<call::AuditFilter>("audit", chain_, *core_.audit, calls_, chain_services_);
  }
  if (quotas_.any()) chain_.add("quota", quotas_);
  chain_.add("rules", rules_);
  chain_.add("trace", traces_);
  chain_.add("members", aggregate_);
}

void VirtualServer::take(const config::ServerConfig& config) {
  const config::ServerConfig former = std::exchange(options_.config, config);
  if (former.members == config.members && former.expose == config.expose &&
      former.instructions == config.instructions) {
    return;
  }
  aggregate_.take_members();
  aggregate_.note_changed();
  end_listening();
}

void VirtualServer::set_limits(const config::LimitsConfig& limits,
                               const config::TimeoutsConfig& /*timeouts*/) {
  options_.limits = limits;
  set_envelope_limits(limits);
  traces_messages_ = core_.log.enabled(LogLevel::debug);
}

void VirtualServer::set_rules(const config::BackendConfig& backend,
                              const std::vector<config::RoleConfig>& roles) {
  if (!rules_.replace(backend, roles)) return;
  aggregate_.set_rules(backend, roles);
  const auto is_denied = [this](const VirtualSession& session) {
    return rules_.any() && !rules_.serves(session.client.principal.get());
  };
  aggregate_.sessions().end_if(is_denied, session::SessionEnd::denied,
                               "no rule lets this client in any more");
  aggregate_.note_changed();
  end_listening();
}

// --- Messages ------------------------------------------------------------------------------------

call::CallPtr VirtualServer::refused_call(std::string_view id, const call::CallContext& context) {
  core_.observer.on_call_started(Upstream::id());
  return chain_.begin(id, {.context = context, .is_refused = true});
}

void VirtualServer::refuse(const rpc::FaultReport& report, std::string_view id,
                           const call::CallContext& context) {
  chain_.on_fault(refused_call(id, context), report);
}

void VirtualServer::count_refused(const rpc::FaultReport& report, std::string_view id,
                                  const call::CallContext& context) {
  chain_.end(*refused_call(id, context), Outcome::of(report.fault), report.detail);
}

backend::Admission VirtualServer::drop(DropReason reason) {
  core_.observer.on_dropped(id(), reason);
  return backend::Admission::dropped;
}

backend::Admission VirtualServer::accept(const rpc::ParsedMessage& message,
                                         const call::CallContext& context) {
  if (const auto admission = redirect(message, context)) return *admission;
  const rpc::Envelope& envelope = message.envelope;
  if (!message.ok()) {
    call::CallPtr call = refused_call(envelope.id, context);
    call->bytes_in = envelope.text.size();
    chain_.on_fault(std::move(call),
                    rpc::faults::because(rpc::Fault::invalid_request, message.rejection));
    return backend::Admission::answered_by_reply;
  }
  core_.observer.on_message(id(), Direction::to_child, {&envelope.text, 1});
  if (envelope.kind == rpc::MessageKind::notification) {
    return accept_notification(envelope, context);
  }
  if (envelope.kind == rpc::MessageKind::request) {
    auto inner = options_.config.expose.is_search ? request_within(envelope) : std::nullopt;
    if (!inner) return accept_request(envelope, context);
    // The call inside of call_tool is judged, counted and recorded under its own name.
    const rpc::KnownMessage known(*inner);
    call::CallContext own = context;
    own.params = nullptr;
    own.mirrored.reset();
    return accept_request(known.envelope(), own);
  }
  VirtualSession* const session = aggregate_.sessions().find(context.session);
  const bool is_taken = session != nullptr && aggregate_.sessions().pass_answer(*session, envelope);
  return is_taken ? backend::Admission::delivered : drop(DropReason::stray_response);
}

backend::Admission VirtualServer::accept_request(const rpc::Envelope& request,
                                                 const call::CallContext& from) {
  // Its rules, its routes and its member look at the same few params.
  call::CallContext context = from;
  std::optional<mcp::McpParams> params;
  if (context.params == nullptr) {
    context.params = &params.emplace(mcp::read_params(request.params));
  }
  const std::string_view method = request.decoded_method(method_);
  const bool is_modern = context.peer_kind == PeerKind::stateless;
  const auto intent = dialect_->read_client(
      request, method, {.peer_kind = context.peer_kind, .params = context.params});
  call::CallPtr call = chain_.begin(
      request.id, {context, &request, method, intent ? intent->tool : std::string_view(), !intent});
  call->bytes_in = request.text.size();
  if (const VirtualSession* const session = aggregate_.sessions().find(context.session)) {
    call->session_name = session->sink->name();
    call->revision = session->revision;
  }
  if (is_modern) call->revision = mcp::kModernRevision;
  core_.observer.on_call_started(id());
  if (intent) {
    chain_.pass(std::move(call), {request, method, *intent, context});
  } else {
    chain_.on_fault(std::move(call),
                    rpc::faults::because(rpc::Fault::invalid_request, intent.error()));
  }
  return backend::Admission::answered_by_reply;
}

backend::Admission VirtualServer::accept_notification(const rpc::Envelope& notification,
                                                      const call::CallContext& context) {
  const std::string_view method = notification.decoded_method(method_);
  VirtualSession* const session = aggregate_.sessions().find(context.session);
  const call::Passage passage = chain_.pass(call::Notification{
      notification, method, context, session == nullptr ? SessionName() : session->sink->name()});
  if (passage == call::Passage::refused) {
    drop(DropReason::overloaded);
    return backend::Admission::refused_overloaded;
  }
  if (passage == call::Passage::denied) return drop(DropReason::denied);
  const auto intent = dialect_->read_client(notification, method, call::Reading());
  if (!intent) return drop(DropReason::unknown_cancel);
  if (intent->kind == call::ClientIntent::Kind::cancel) {
    if (!aggregate_.cancel(context.caller, intent->cancelled_id)) {
      return drop(DropReason::unknown_cancel);
    }
  } else if (intent->kind == call::ClientIntent::Kind::forward && session != nullptr) {
    VirtualSessions::tell_parts(*session, notification.text);
  }
  core_.observer.on_notification(id(), names_of_calls_.methods().find(method), Direction::to_child);
  return backend::Admission::delivered;
}

bool VirtualServer::take_cancel(const rpc::ParsedMessage& message,
                                const call::CallContext& context) {
  const rpc::Envelope& envelope = message.envelope;
  if (!message.ok() || envelope.kind != rpc::MessageKind::notification) return false;
  const std::string_view method = envelope.decoded_method(method_);
  const auto intent = dialect_->read_client(envelope, method, call::Reading());
  if (!intent || intent->kind != call::ClientIntent::Kind::cancel ||
      calls_.index().find(context.caller, intent->cancelled_id) == nullptr) {
    return false;
  }
  accept(message, context);
  return true;
}

void VirtualServer::cancel_calls_of(session::Caller caller) {
  aggregate_.end_calls([caller](const call::Call& call) { return call.caller == caller; },
                       "client_left", nullptr);
}

// --- Sessions ------------------------------------------------------------------------------------

tl::expected<session::SessionId, rpc::FaultReport> VirtualServer::adopt_session(
    session::Caller caller, session::SessionSink& sink, const policy::Client& client,
    const session::Beginning& beginning) {
  if (!rules_.serves(client.principal.get())) {
    core_.observer.on_rejected(id(), Rejection::denied);
    return tl::unexpected(
        rpc::faults::because(rpc::Fault::denied, "no rule of this backend is about you"));
  }
  if (auto obstacle = capacity_.obstacle_of_session(client.account.get())) {
    return tl::unexpected(*std::move(obstacle));
  }
  const auto session = aggregate_.sessions().add(caller, sink, client, beginning);
  aggregate_.note_clients();
  return session;
}

void VirtualServer::close_session(session::SessionId session, std::string_view why) {
  if (aggregate_.sessions().find(session) == nullptr) return;
  const auto report = rpc::faults::child_failed(std::string(why));
  aggregate_.end_calls([session](const call::Call& call) { return call.session == session; },
                       "client_left", why.empty() ? nullptr : &report);
  aggregate_.sessions().close(session);
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

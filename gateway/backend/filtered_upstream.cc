#include "gateway/backend/filtered_upstream.h"

#include <utility>

#include "gateway/call/audit_filter.h"
#include "gateway/call/chain.h"

namespace stdgate::backend {

FilteredUpstream::FilteredUpstream(BackendId id, FilterOptions options,
                                   std::unique_ptr<pool::Dialect> dialect,
                                   session::Callers& callers, const pool::CoreServices& core)
    : Upstream(
          upstream_facts(id, options.config, options.limits, *dialect, core.payer_of(id).held)),
      options_(std::move(options)),
      dialect_(std::move(dialect)),
      callers_(callers),
      core_(core),
      own_names_(options_.names != nullptr ? nullptr
                                           : std::make_unique<call::LabelNames>(
                                                 id, options_.method_names, core_.observer)),
      names_of_calls_(own_names_ ? *own_names_ : *options_.names),
      logs_messages_(core_.log.enabled(LogLevel::debug)),
      calls_{core_.random(), core_.random()},
      chain_services_{core_.clock,
                      core_.wall_clock,
                      core_.observer,
                      callers_,
                      *dialect_,
                      calls_,
                      id,
                      options_.config,
                      core_.log,
                      logs_messages_,
                      &core_.timers,
                      core_.payer_of(id).held},
      chain_(chain_services_),
      names_(names_of_calls_, core_.clock, calls_),
      traces_(core_.traces, core_.random, options_.config, calls_),
      capacity_(chain_, core_.overload, core_.payer_of(id).account, core_.observer, id),
      quotas_(chain_,
              options_.quotas != nullptr
                  ? options_.quotas
                  : std::make_shared<policy::ClientQuotas>(options_.config.calls_per_principal,
                                                           options_.config.calls, core_.calls),
              calls_, chain_services_),
      rules_(chain_, options_.roles, calls_, chain_services_, core_.payer_of(id)) {
  call::NameTable& methods = names_of_calls_.methods();
  for (const std::string& name : options_.known_methods) methods.admit(name);
  for (const std::string& name : options_.known_tools) names_of_calls_.tools().admit(name);
  for (const std::string_view name : dialect_->traits().methods) methods.admit(name);
}

void FilteredUpstream::add_first_filters() {
  // First, because the record names the method of each call, whichever filter refuses it.
  chain_.add("names", names_);
  // Before all filters that keep something: without memory, a call is not even described.
  chain_.add("capacity", capacity_);
  // Before quota and rules, whose refusals are recorded. The line is written last, when all filters
  // below have reported what they know about the call.
  if (core_.audit != nullptr) {
    chain_.own<call::AuditFilter>("audit", chain_, *core_.audit, calls_, chain_services_);
  }
  // Before the rules, which cost more: a call beyond the quota need not be judged.
  if (quotas_.any()) chain_.add("quota", quotas_);
}

void FilteredUpstream::set_limits(const config::LimitsConfig& limits,
                                  const config::TimeoutsConfig& /*timeouts*/) {
  options_.limits = limits;
  set_envelope_limits(limits);
  logs_messages_ = core_.log.enabled(LogLevel::debug);
}

void FilteredUpstream::drop_caches() {
  chain_.drop_kept();
  calls_.drop_kept();
}

// --- Messages -------------------------------------------------------------------------------

Admission FilteredUpstream::accept(const rpc::ParsedMessage& message,
                                   const call::CallContext& context) {
  if (const auto admission = redirect(message, context)) return *admission;
  if (!message.ok()) return reject(message, context);
  core_.observer.on_message(id(), Direction::to_child, {&message.envelope.text, 1});
  switch (message.envelope.kind) {
    case rpc::MessageKind::request:
      return accept_request(message.envelope, context);
    case rpc::MessageKind::notification:
      return accept_notification(message.envelope, context);
    case rpc::MessageKind::result:
    case rpc::MessageKind::error:
      if (take_answer(context.session, message.envelope)) return Admission::delivered;
      break;
  }
  return drop(DropReason::stray_response);
}

Admission FilteredUpstream::reject(const rpc::ParsedMessage& message,
                                   const call::CallContext& context) {
  const rpc::Envelope& refused = message.envelope;
  chain_.on_fault(refused_call({refused.id, refused.text.size()}, context),
                  rpc::faults::because(rpc::Fault::invalid_request, message.rejection));
  return Admission::answered_by_reply;
}

Admission FilteredUpstream::accept_request(const rpc::Envelope& request,
                                           const call::CallContext& context) {
  const std::string_view method = request.decoded_method(method_);
  const auto intent = dialect_->read_client(request, method, reading_of(context));
  call::CallPtr call = chain_.begin(
      request.id, {context, &request, method, intent ? intent->tool : std::string_view(), !intent});
  call->bytes_in = request.text.size();
  if (!context.is_own) core_.observer.on_call_started(id());
  if (logs_messages_) call::log_arrived(core_.log, name(), *call, method);
  if (intent) {
    chain_.pass(std::move(call), {request, method, *intent, context});
  } else {
    chain_.on_fault(std::move(call),
                    rpc::faults::because(rpc::Fault::invalid_request, intent.error()));
  }
  return Admission::answered_by_reply;
}

Admission FilteredUpstream::accept_notification(const rpc::Envelope& message,
                                                const call::CallContext& context) {
  const std::string_view method = message.decoded_method(method_);
  const call::Notification notification{message, method, context, name_of(context.session)};
  const call::Passage passage = chain_.pass(notification);
  if (passage == call::Passage::refused) return refuse_notification();
  if (passage == call::Passage::denied) return drop(DropReason::denied);
  const auto intent = dialect_->read_client(message, method, reading_of(context));
  if (!intent) return drop(DropReason::unknown_cancel);
  using Kind = call::ClientIntent::Kind;
  if (intent->kind == Kind::cancel) {
    if (!cancel_call(context.caller, intent->cancelled_id)) {
      return drop(DropReason::unknown_cancel);
    }
  } else if (intent->kind != Kind::forward) {
    return Admission::delivered;
  } else if (const Admission admission = forward(notification, *intent);
             admission != Admission::delivered) {
    return admission;
  }
  const MethodId known = names_of_calls_.methods().find(method);
  core_.observer.on_notification(id(), known, Direction::to_child);
  return Admission::delivered;
}

bool FilteredUpstream::take_cancel(const rpc::ParsedMessage& message,
                                   const call::CallContext& context) {
  const rpc::Envelope& envelope = message.envelope;
  if (!message.ok() || envelope.kind != rpc::MessageKind::notification) return false;
  const std::string_view method = envelope.decoded_method(method_);
  const auto intent = dialect_->read_client(envelope, method, reading_of(context));
  if (!intent || intent->kind != call::ClientIntent::Kind::cancel ||
      calls_.index().find(context.caller, intent->cancelled_id) == nullptr) {
    return false;
  }
  accept(message, context);
  return true;
}

call::CallPtr FilteredUpstream::refused_call(const UnreadRequest& request,
                                             const call::CallContext& context) {
  core_.observer.on_call_started(id());
  call::CallPtr call = chain_.begin(request.id, {.context = context, .is_refused = true});
  call->bytes_in = request.bytes;
  return call;
}

Admission FilteredUpstream::drop(DropReason reason) {
  chain_.drop(reason);
  return Admission::dropped;
}

std::optional<rpc::FaultReport> FilteredUpstream::find_obstacle(const policy::Client& client) {
  if (!rules_.serves(client.principal.get())) {
    core_.observer.on_rejected(id(), Rejection::denied);
    return rpc::faults::because(rpc::Fault::denied, "no rule of this backend is about you");
  }
  return capacity_.obstacle_of_session(client.account.get());
}

}  // namespace stdgate::backend

#include "gateway/backend/backend.h"

#include <algorithm>
#include <utility>

#include "gateway/backend/upstream.h"
#include "gateway/call/audit_filter.h"
#include "gateway/call/schema_filter.h"
#include "gateway/pool/call_trace.h"
#include "gateway/pool/pool_services.h"

namespace stdgate::backend {

Backend::Backend(BackendId id, BackendOptions options, std::unique_ptr<pool::Dialect> dialect,
                 session::Callers& callers, const pool::CoreServices& core)
    : Upstream(
          upstream_facts(id, options.config, options.limits, *dialect, core.payer_of(id).held)),
      options_(std::move(options)),
      dialect_(std::move(dialect)),
      callers_(callers),
      core_(core),
      own_names_(options_.names != nullptr
                     ? nullptr
                     : std::make_unique<call::BackendNames>(Upstream::id(), options_.method_names,
                                                            core_.observer)),
      names_of_calls_(own_names_ ? *own_names_ : *options_.names),
      calls_{core.random(), core.random()},
      services_{core_,           Upstream::id(), options_.config, options_.limits,
                options_.launch, *dialect_,      calls_,          options_.hide_secrets},
      chain_services_{core_.clock, core_.wall_clock, core_.observer, callers_,
                      *dialect_,   calls_,           Upstream::id(), options_.config,
                      core_.log,   services_.traces, &core_.timers,  services_.payer.held},
      chain_(chain_services_),
      names_(names_of_calls_, core_.clock, calls_),
      traces_(core_.traces, core_.random, options_.config, calls_),
      capacity_(chain_, core_.overload, services_.payer.account, core_.observer, Upstream::id()),
      quotas_(chain_,
              options_.quotas != nullptr
                  ? options_.quotas
                  : std::make_shared<policy::ClientQuotas>(options_.config.calls_per_principal,
                                                           options_.config.calls, core.calls),
              calls_, chain_services_),
      lists_(list_watches(), *dialect_),
      has_peer_kinds_(!dialect_->traits().probe.empty()),
      rules_(chain_, options_.roles, calls_, chain_services_, services_.payer),
      bridge_(make_bridge()),
      sessions_(services_, pool_, callers_, *bridge_, options_.input_timeout),
      delivery_(services_, callers_, names_of_calls_.methods(), sessions_, *bridge_, rules_),
      notices_(services_, pool_, sessions_, *bridge_),
      children_say_(chain_, delivery_, notices_, sleeping_),
      pool_(services_, *this, *bridge_, sessions_, children_say_),
      memos_(sessions_, pool_, *bridge_, *dialect_, chain_, calls_) {
  options_.launch.payer = services_.payer;
  core_.observer.on_session_places(Upstream::id(), pool_.session_places());
  call::NameTable& methods = names_of_calls_.methods();
  for (const std::string& name : options_.known_methods) methods.admit(name);
  for (const std::string& name : options_.known_tools) names_of_calls_.tools().admit(name);
  for (const std::string_view name : dialect_->traits().methods) methods.admit(name);
  if (options_.make_recall) {
    sleeping_.emplace(SleepingServer::Parts{services_, chain_, *this, pool_, sessions_, memos_,
                                            notices_, *bridge_, list_watches()},
                      options_.make_recall);
  }
  assemble();
  if (sleeping_ && sleeping_->recall().has_no_sessions()) bridge_->share_as_before();
}

std::shared_ptr<Bridge> Backend::make_bridge() {
  const BridgeParts parts{*this,
                          options_.config,
                          services_,
                          pool_,
                          *this,
                          chain_,
                          sessions_,
                          callers_,
                          traces_,
                          options_.input_timeout,
                          options_.has_principals,
                          [this](bool shares) {
                            set_owns_children(!shares);
                            if (sleeping_) sleeping_->recall().note_sessions(shares);
                          }};
  auto bridge = dialect_->make_bridge(parts);
  return bridge ? std::move(bridge) : std::make_shared<Bridge>();
}

// The filters in the order in which a request passes them. Answers, faults and ends take the other
// direction.
void Backend::assemble() {
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
  // Rules judge and cut the words of the child; the filters above translate the result.
  const pool::FilterServices of_protocol{services_, pool_, chain_, delivery_,
                                         options_.input_timeout};
  outer_filters_ = dialect_->add_filters(of_protocol, pool::FilterLayer::outer);
  // Before all filters that may answer in place of a child: the client sees no more than it may,
  // whoever answers.
  chain_.add("rules", rules_);
  // Below the rules, which cut what it answers to rpc.discover, and above all that a child gets.
  if (options_.config.document.document) {
    chain_.own<call::SchemaFilter>("schema", chain_, chain_services_);
  }
  // Above the filters that keep lists: a client that asks again after a notice gets a new list.
  if (has_peer_kinds_) chain_.add("lists", lists_);
  // What is judged by what a server lists. Above all that answers in its place, whose answers are
  // judged too.
  judging_filters_ = dialect_->add_filters(of_protocol, pool::FilterLayer::judging);
  // Before what concerns a child alone: while none runs, it answers in its place.
  if (sleeping_) sleeping_->recall().add_to(chain_);
  // Before the filters of the protocol: a client that no child can serve is told so, without asking
  // one.
  bridge_->add_filter(chain_, Bridge::Place::above_children);
  inner_filters_ = dialect_->add_filters(of_protocol, pool::FilterLayer::inner);
  // Behind all filters that may refuse a call: it counts the wishes of sessions.
  chain_.add("sessions", memos_);
  // Below the filters that learn from answers: a refused greeting is made again elsewhere.
  bridge_->add_filter(chain_, Bridge::Place::below_answers);
  chain_.add("trace", traces_);
  // Next to the children: questions and their answers are no end of a call.
  bridge_->add_filter(chain_, Bridge::Place::at_pool);
  chain_.add("pool", bottom_);
}

void Backend::set_limits(const config::LimitsConfig& limits,
                         const config::TimeoutsConfig& timeouts) {
  options_.limits = limits;
  options_.input_timeout = timeouts.input;
  set_envelope_limits(limits);
  services_.traces = core_.log.enabled(LogLevel::debug);
}

Admission Backend::accept(const rpc::ParsedMessage& message, const call::CallContext& context) {
  if (const auto admission = redirect(message, context)) return *admission;
  if (!message.ok()) {
    call::CallPtr call = refused_call(message.envelope.id, context);
    call->bytes_in = message.envelope.text.size();
    chain_.on_fault(std::move(call),
                    rpc::faults::because(rpc::Fault::invalid_request, message.rejection));
    return Admission::answered_by_reply;
  }
  core_.observer.on_message(id(), Direction::to_child, {&message.envelope.text, 1});
  switch (message.envelope.kind) {
    case rpc::MessageKind::request:
      return accept_request(message.envelope, context);
    case rpc::MessageKind::notification:
      return accept_notification(message.envelope, context);
    case rpc::MessageKind::result:
    case rpc::MessageKind::error:
      if (sessions_.pass_answer(context.session, message.envelope)) return Admission::delivered;
      break;
  }
  return drop(DropReason::stray_response);
}

Admission Backend::accept_request(const rpc::Envelope& request, const call::CallContext& context) {
  const std::string_view method = request.decoded_method(method_);
  const auto intent = intent_of(request, method, context);
  call::CallPtr call = begin_call(
      request.id, {context, &request, method, intent ? intent->tool : std::string_view(), !intent});
  call->bytes_in = request.text.size();
  if (!context.is_own) core_.observer.on_call_started(id());
  if (services_.traces) pool::trace_arrived(services_, *call, method);
  if (intent) {
    chain_.pass(std::move(call), {request, method, *intent, context});
  } else {
    chain_.on_fault(std::move(call),
                    rpc::faults::because(rpc::Fault::invalid_request, intent.error()));
  }
  return Admission::answered_by_reply;
}

void Backend::take(call::CallPtr& call, const call::Request& request) {
  const auto& [message, method, intent, context] = request;
  const bool is_shared = isolation_of(context) == config::Isolation::shared;
  if (call->listens) {
    call->request = message.text;
  } else if (!intent.progress_token.empty()) {
    call->progress_token = intent.progress_token;
  }
  call->greets = intent.greets;
  call->introduces = intent.introduces;
  send(std::move(call), request, is_shared);
}

void Backend::send(call::CallPtr call, const call::Request& request, bool is_shared) {
  const auto& [text, method, intent, context] = request;
  call::Outgoing message;
  message.text = text.text;
  message.id = place_of(text.id, text.text);
  message.account = context.account;
  // Tokens can only clash at a child of several clients.
  if (is_shared) message.progress_token = place_of(intent.progress_token, text.text);
  message.replaced = place_of(intent.replaced, text.text);
  message.replacement = intent.replacement;
  message.answered_by_handshake = intent.kind == call::ClientIntent::Kind::handshake;
  message.only_of_stateful = intent.only_of_stateful;
  if (!has_peer_kinds_) return submit(std::move(call), text, message);
  const call::PeerChanges changes = bridge_->changes_of(text, context);
  message.inserted = changes.view();
  if (!call->route.written_for) call->route.written_for = changes.peer_kind;
  submit(std::move(call), text, message);
}

void Backend::submit(call::CallPtr call, const rpc::Envelope& request, call::Outgoing& message) {
  traces_.tell_child(request, *call, message);
  calls_.index().add(*call);
  call->charge(services_.payer_for(message.account));
  if (call->alone && bridge_->take(call, message)) return;
  const auto taken = pool_.submit(call, message);
  if (taken) return;
  // The kind is not known yet; with this error, clients of both kinds go on as stateful ones.
  if (call->needs_stateless && !pool_.peer_kind()) {
    bridge_->on_wrong_peer_kind(std::move(call));
  } else {
    on_fault(std::move(call), taken.error());
  }
}

Admission Backend::accept_notification(const rpc::Envelope& notification,
                                       const call::CallContext& context) {
  const std::string_view method = notification.decoded_method(method_);
  const session::Session* const session = sessions_.find(context.session);
  const call::Passage passage = chain_.pass(call::Notification{
      notification, method, context, session == nullptr ? SessionName() : session->name});
  if (passage == call::Passage::refused) return refuse_notification();
  if (passage == call::Passage::denied) return drop(DropReason::denied);
  const auto intent = dialect_->read_client(notification, method, {isolation_of(context)});
  if (!intent) return drop(DropReason::unknown_cancel);
  using Kind = call::ClientIntent::Kind;
  if (intent->kind != Kind::cancel && intent->kind != Kind::forward) return Admission::delivered;
  if (intent->kind == Kind::cancel) {
    if (!accept_cancel(intent->cancelled_id, context)) return drop(DropReason::unknown_cancel);
  } else if (!bridge_->swallows(method, context)) {
    if (capacity_.find_lack(context.account)) return refuse_notification();
    call::Outgoing message;
    message.text = notification.text;
    message.account = context.account;
    message.completes_greeting = intent->memo == call::SessionMemo::completion;
    if (message.completes_greeting && sleeping_ && sleeping_->complete_greeting(context.session)) {
      return Admission::delivered;
    }
    if (!sessions_.use(context.session) ||
        !pool_.notify(context.session, sessions_.asking_child(context.session), message)) {
      return refuse_notification();
    }
  }
  const MethodId known = names_of_calls_.methods().find(method);
  core_.observer.on_notification(id(), known, Direction::to_child);
  return Admission::delivered;
}

bool Backend::take_cancel(const rpc::ParsedMessage& message, const call::CallContext& context) {
  const rpc::Envelope& envelope = message.envelope;
  if (!message.ok() || envelope.kind != rpc::MessageKind::notification) return false;
  const std::string_view method = envelope.decoded_method(method_);
  const auto intent = dialect_->read_client(envelope, method, {isolation_of(context)});
  if (!intent || intent->kind != call::ClientIntent::Kind::cancel ||
      calls_.index().find(context.caller, intent->cancelled_id) == nullptr) {
    return false;
  }
  accept(message, context);
  return true;
}

bool Backend::accept_cancel(std::string_view id, const call::CallContext& context) {
  call::CallPtr ended = bridge_->take_asking(context.caller, id);
  if (!ended) ended = chain_.take_held(context.caller, id);
  if (!ended && !pool_.request_cancel(context.caller, id, &ended)) return false;
  if (ended) {
    // The client is told before other consequences of the end.
    if (session::ReplySink* sink = callers_.find(ended->caller); sink != nullptr) {
      sink->on_cancelled(ended->tag);
    }
    finish_cancelled(*ended, pool::CancelReason::client_cancelled);
  }
  return true;
}

call::CallPtr Backend::begin_call(std::string_view id, const call::Arrival& arrival) {
  call::CallPtr call = chain_.begin(id, arrival);
  sessions_.name_in(*call);
  return call;
}

void Backend::close_session(session::SessionId id, std::string_view why) {
  if (sessions_.find(id) == nullptr) return;
  EndedSession ended = sessions_.end(id);
  std::vector<call::CallPtr> calls = std::move(ended.calls);
  // Also the calls elsewhere: at shared children, or nowhere because their client is being asked.
  for (call::CallPtr& call : withdraw(ended.caller)) calls.push_back(std::move(call));
  const session::Caller listens =
      ended.bridged == nullptr ? session::Caller() : ended.bridged->caller();
  if (!listens.is_none()) cancel(withdraw(listens));
  sessions_.wishes().settle();
  if (why.empty()) return cancel(calls);
  const auto report = rpc::faults::child_failed(std::string(why));
  for (const call::CallPtr& call : calls) {
    chain_.answer_fault(*call, report, Outcome::cancelled(),
                        pool::cancel_reason_text(pool::CancelReason::client_left), false);
  }
}

// --- Ends -----------------------------------------------------------------------------------

void Backend::on_misdirected(call::CallPtr call, const call::Outgoing& message) {
  if (call->listens) {
    return bridge_->on_listener_lost(std::move(call), rpc::faults::child_failed("gone"));
  }
  const auto report = rpc::faults::child_failed("the server is another one now");
  chain_.on_lost(call, message.text, report);
  if (call == nullptr) return;
  // A server of the other kind was installed while the call waited.
  if (!call->route.is_bound) return on_fault(std::move(call), report);
  call->route.child = 0;
  call->route.is_bound = false;
  if (const auto taken = pool_.submit(call, message); !taken) {
    on_fault(std::move(call), taken.error());
  }
}

// --- Claims of children ---------------------------------------------------------------------

bool Backend::gave(const rpc::Envelope& request, const call::CallContext& context) const {
  std::string scratch;
  const std::string_view method = request.decoded_method(scratch);
  return context.session.is_none() &&
         chain_.gave({.context = context, .message = &request, .method = method});
}

bool Backend::holds_work() const {
  return std::ranges::any_of(pool_.children(), [this](const auto& child) {
    const call::ChildWork work = chain_.work_of(child->number());
    return work.states > 0 || work.tasks > 0;
  });
}

}  // namespace stdgate::backend

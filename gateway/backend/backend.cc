#include "gateway/backend/backend.h"

#include <utility>

#include "gateway/backend/call_record.h"
#include "gateway/backend/upstream_facts.h"
#include "gateway/call/call_clock.h"
#include "gateway/pool/call_trace.h"
#include "gateway/rpc/known_message.h"

namespace stdgate::backend {

Backend::Backend(BackendId id, BackendOptions options, std::unique_ptr<pool::Dialect> dialect,
                 session::Callers& callers, const pool::CoreServices& core)
    : Upstream(
          upstream_facts(id, options.config, options.limits, *dialect, core.payer_of(id).held)),
      options_(std::move(options)),
      dialect_(std::move(dialect)),
      rules_(options_.config, options_.roles, *dialect_),
      quotas_(options_.quotas != nullptr
                  ? options_.quotas
                  : std::make_shared<policy::ClientQuotas>(options_.config.calls_per_principal,
                                                           options_.config.calls, core.calls)),
      gate_(services_, rules_, *quotas_),
      audit_(core.audit, options_.config.name, *dialect_),
      tracing_(services_),
      callers_(callers),
      core_(core),
      own_names_(options_.names != nullptr
                     ? nullptr
                     : std::make_unique<BackendNames>(Upstream::id(), options_.method_names,
                                                      core_.observer)),
      methods_((own_names_ ? own_names_.get() : options_.names)->methods()),
      tools_((own_names_ ? own_names_.get() : options_.names)->tools()),
      calls_{core.random(), core.random()},
      services_{core_,           Upstream::id(), options_.config, options_.limits,
                options_.launch, *dialect_,      calls_,          options_.hide_secrets},
      modern_(services_, pool_, callers_),
      sessions_(services_, pool_, callers_, methods_, modern_, rounds_, options_.input_timeout),
      notices_(services_, pool_, sessions_, modern_),
      changes_(*dialect_, sessions_, *this),
      returning_(services_, pool_, changes_, *this, *this, modern_, options_.input_timeout),
      pool_(services_, *this, sessions_, returning_.listener()),
      listening_(services_, *this, sessions_, pool_, callers_),
      memos_(sessions_, pool_, listening_, *dialect_),
      round_trips_(services_, pool_, sessions_, *this, *this,
                   {options_.input_timeout, options_.has_principals}),
      rounds_(services_, pool_, sessions_, modern_, *this, *this, options_.input_timeout),
      greetings_(options_.config, services_, pool_, sessions_, *this, *this),
      watches_(services_, modern_, sessions_, callers_) {
  options_.launch.payer = services_.payer;
  core_.observer.on_session_places(Upstream::id(), pool_.session_places());
  for (const std::string& name : options_.known_methods) methods_.admit(name);
  for (const std::string& name : options_.known_tools) tools_.admit(name);
  for (const std::string_view name : dialect_->known_methods()) methods_.admit(name);
  if (dialect_->cache() != nullptr && options_.config.cache) {
    cache_.emplace(*dialect_->cache(), services_.payer);
  }
  if (dialect_->mirrors() != nullptr) {
    mirrors_.emplace(services_, pool_, static_cast<pool::PoolEvents&>(*this),
                     static_cast<MirrorOwner&>(*this));
  }
}

void Backend::set_limits(const config::LimitsConfig& limits,
                         const config::TimeoutsConfig& timeouts) {
  options_.limits = limits;
  options_.input_timeout = timeouts.input;
  set_envelope_limits(client_envelope_limits(limits));
  services_.traces = core_.log.enabled(LogLevel::debug);
}

Admission Backend::accept(const rpc::ParsedMessage& message, const call::CallContext& context) {
  if (const auto admission = redirect(message, context)) return *admission;
  if (!message.ok()) {
    core_.observer.on_call_started(id());
    call::CallPtr call = make_call(message.envelope.id, {}, context);
    call->bytes_in = message.envelope.text.size();
    on_fault(std::move(call), rpc::faults::because(rpc::Fault::invalid_request, message.rejection));
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
  const std::string_view method = rpc::decode_string(request.method, method_);
  const auto intent = intent_of(request, method, context, context.params);
  call::CallPtr call = make_call(request.id, method, context, request.params);
  call->bytes_in = request.text.size();
  if (!context.is_own) core_.observer.on_call_started(id());
  if (!intent) {
    audit_.begin(request, method, context, *call);
    on_fault(std::move(call), rpc::faults::because(rpc::Fault::invalid_request, intent.error()));
    return Admission::answered_by_reply;
  }
  note_tool(*call, intent->tool);
  if (const auto obstacle = find_obstacle(request, method, intent->listens, context, *call)) {
    on_fault(std::move(call), *obstacle);
    return Admission::answered_by_reply;
  }
  if (!context.is_own) {
    if (const auto refusal = gate_.judge(request, method, context, *call)) {
      refuse(std::move(call), *refusal);
      return Admission::answered_by_reply;
    }
  }
  if (isolation_of(context) == config::Isolation::shared) {
    if (auto ruling = returning_.judge(request, method, context, *call)) {
      send_as(*ruling, method, context, std::move(call));
      return Admission::answered_by_reply;
    }
  }
  send(request, method, *intent, context, std::move(call), nullptr);
  return Admission::answered_by_reply;
}

void Backend::refuse(call::CallPtr call, const GateRefusal& refusal) {
  if (refusal.fault) return on_fault(std::move(call), *refusal.fault);
  answer_error(*call, refusal.absence, Outcome::of(rpc::Fault::denied), "no rule allows it");
}

void Backend::send_as(pool::CallFilter::Ruling& ruling, std::string_view method,
                      const call::CallContext& context, call::CallPtr call) {
  if (ruling.error) return answer_error(*call, *ruling.error, Outcome::error(), ruling.detail);
  const rpc::KnownMessage known(ruling.text);
  const rpc::Envelope& request = known.envelope();
  const auto intent = intent_of(request, method, context, nullptr);
  STDGATE_CHECK(intent.has_value());  // it has been read before
  send(request, method, *intent, context, std::move(call), &ruling);
}

void Backend::send(const rpc::Envelope& request, std::string_view method,
                   const call::ClientIntent& intent, const call::CallContext& context,
                   call::CallPtr call, const pool::CallFilter::Ruling* ruling) {
  const bool is_modern = context.era == Era::modern;
  if (is_modern && cache_ && answer_from_cache(request, method, context, *call)) return;
  call::Outgoing message;
  message.text = request.text;
  message.id = place_of(request.id, request.text);
  message.account = context.account;
  const bool is_shared = isolation_of(context) == config::Isolation::shared;
  // Tokens can clash only at a child of several clients.
  if (is_shared) message.progress_token = place_of(intent.progress_token, request.text);
  message.replaced = place_of(intent.replaced, request.text);
  message.replacement = intent.replacement;
  message.answered_by_handshake = intent.kind == call::ClientIntent::Kind::handshake;
  message.only_of_legacy = intent.only_of_legacy;
  const call::EraChanges changes =
      modern_.changes_of(request, context.era, is_shared, sessions_.stamp_of(context.session));
  message.take(changes);
  if (ruling != nullptr) {
    message.child = ruling->child;
    message.is_bound = ruling->is_bound;
    if (ruling->written_for) message.written_for = ruling->written_for;
  }
  if (tracing_.is_on()) tracing_.tell_child(request, *call, message);
  call->progress_token = intent.progress_token;
  call->greets = intent.greets;
  call->introduces = intent.introduces;
  call::start_clock(*call, context.timeout.value_or(timeout()), options_.config);
  if (is_modern) {
    modern_.note(request, intent, context, *call);
    if (!call->needs_modern) round_trips_.note_request(request);
  }
  sessions_.note_severity(*call);
  if (is_shared) rounds_.note(request, method, *call);
  if (services_.traces) pool::trace_arrived(services_, *call, method);
  if (intent.kind == call::ClientIntent::Kind::set_severity) return accept_severity(intent, *call);
  if (!context.session.is_none()) {
    const auto kept = memos_.keep(intent, *call);
    if (!kept) return on_fault(std::move(call), kept.error());
  }
  const bool is_subscription = intent.kind == call::ClientIntent::Kind::subscribe ||
                               intent.kind == call::ClientIntent::Kind::unsubscribe;
  if (is_subscription && !accept_subscription(intent, call, message)) return;
  const auto own = modern_.own_answer(method, *call);
  if (!own.empty()) return answer(*call, own);
  if (modern_.is_refused(*call)) return on_wrong_era(std::move(call));
  if (mirrors_ && context.mirrored && !intent.tool.empty()) {
    mirrors_->take(std::move(call), message, request, *context.mirrored);
  } else {
    returning_.begin(*call);
    pass_on(std::move(call), message);
  }
}

void Backend::pass_on(call::CallPtr call, const call::Outgoing& message) {
  calls_.index().add(*call);
  call->charge(services_.payer_for(message.account));
  if (call->alone && pool_.era() == Era::legacy) {
    return round_trips_.take(std::move(call), message);
  }
  if (const auto taken = pool_.submit(call, message); !taken) {
    // Nobody knows yet whether it could be served: clients of both eras then go on as legacy ones.
    if (call->needs_modern && !pool_.era()) {
      on_wrong_era(std::move(call));
    } else {
      on_fault(std::move(call), taken.error());
    }
  }
}

// False: a child is to be asked.
bool Backend::answer_from_cache(const rpc::Envelope& request, std::string_view method,
                                const call::CallContext& context, call::Call& call) {
  if (pool_.is_draining()) return false;
  const auto known =
      cache_->find(request, method, identity_of(context.principal), core_.clock.now(), call);
  if (!known) return false;
  core_.observer.on_cache_hit(id());
  rpc::Envelope seen;
  seen.kind = rpc::MessageKind::result;
  seen.payload = known->payload;
  const std::string_view payload = call.list == nullptr ? seen.payload : rules_.seen(call, seen);
  const auto changed = returning_.changed_payload(call, method, payload, known->child);
  if (changed && !*changed) {
    answer_error(call, changed->error(), Outcome::error(), {});
  } else {
    answer(call, changed ? std::string_view(**changed) : payload);
  }
  return true;
}

// Whether a child is to be asked; else the call has been answered. Only subscriptions of sessions
// are counted. A call without a session passes to the child, but must not end what sessions want.
bool Backend::accept_subscription(const call::ClientIntent& intent, call::CallPtr& call,
                                  call::Outgoing& message) {
  // Nobody knows yet whose request it will be, and modern children know none of these.
  if (!pool_.era()) message.written_for = Era::legacy;
  const std::string_view key = rpc::decode_string(intent.key, key_);
  if (intent.kind == call::ClientIntent::Kind::subscribe) {
    if (sessions_.find(call->session) == nullptr) return true;
    const auto is_to_ask = memos_.subscribe(call->session, key);
    if (!is_to_ask) {
      on_fault(std::move(call), is_to_ask.error());
      return false;
    }
    if (*is_to_ask) {
      call->subscription = key;
      return true;
    }
  } else {
    const auto child = memos_.unsubscribe(call->session, key);
    message.child = child.value_or(0);
    if (child) return true;
  }
  answer(*call, intent.result);
  return false;
}

// A shared child has one level for all, so the gateway itself filters for each session.
void Backend::accept_severity(const call::ClientIntent& intent, const call::Call& call) {
  const auto refuse = [&](const char* why) {
    answer_error(call, {rpc::RpcError::invalid_params, why}, Outcome::error(), {});
  };
  if (!intent.severity) return refuse("no such log level");
  if (sessions_.find(call.session) == nullptr) {
    return refuse("a log level belongs to a session, and this call has none");
  }
  sessions_.set_severity(call.session, *intent.severity);
  answer(call, intent.result);
}

Admission Backend::accept_notification(const rpc::Envelope& notification,
                                       const call::CallContext& context) {
  const std::string_view method = rpc::decode_string(notification.method, method_);
  const bool is_denied =
      rules_.any() &&
      rules_.judge(notification, method, context.principal).verdict != policy::Verdict::allowed;
  if (!audit_.pass(notification, method, context, sessions_.find(context.session), is_denied)) {
    return refuse_notification();
  }
  if (is_denied) {
    core_.observer.on_rejected(id(), Rejection::denied);
    return drop(DropReason::denied);
  }
  const auto intent = dialect_->read_client(notification, method, isolation_of(context));
  if (!intent) return drop(DropReason::unknown_cancel);
  using Kind = call::ClientIntent::Kind;
  if (intent->kind != Kind::cancel && intent->kind != Kind::forward) return Admission::delivered;
  if (intent->kind == Kind::cancel) {
    if (!accept_cancel(intent->cancelled_id, context)) return drop(DropReason::unknown_cancel);
  } else if (!modern_.swallows(method, context)) {
    if (find_lack(context.account)) return refuse_notification();
    call::Outgoing message;
    message.text = notification.text;
    message.account = context.account;
    message.completes_greeting = intent->memo == call::SessionMemo::completion;
    if (!sessions_.use(context.session) ||
        !pool_.notify(context.session, sessions_.asking_child(context.session), message)) {
      return refuse_notification();
    }
  }
  core_.observer.on_notification(id(), methods_.find(method), Direction::to_child);
  return Admission::delivered;
}

bool Backend::take_cancel(const rpc::ParsedMessage& message, const call::CallContext& context) {
  const rpc::Envelope& envelope = message.envelope;
  if (!message.ok() || envelope.kind != rpc::MessageKind::notification) return false;
  const std::string_view method = rpc::decode_string(envelope.method, method_);
  const auto intent = dialect_->read_client(envelope, method, isolation_of(context));
  if (!intent || intent->kind != call::ClientIntent::Kind::cancel ||
      calls_.index().find(context.caller, intent->cancelled_id) == nullptr) {
    return false;
  }
  accept(message, context);
  return true;
}

bool Backend::accept_cancel(std::string_view id, const call::CallContext& context) {
  call::CallPtr ended = rounds_.take(context.caller, id);
  if (!ended && !pool_.request_cancel(context.caller, id, &ended)) return false;
  if (ended) {
    // Before what else its end may bring about.
    if (session::ReplySink* sink = callers_.find(ended->caller); sink != nullptr) {
      sink->on_cancelled(ended->tag);
    }
    finish_cancelled(*ended, pool::CancelReason::client_cancelled);
  }
  return true;
}

call::CallPtr Backend::make_call(std::string_view id, std::string_view method,
                                 const call::CallContext& context, std::string_view params) {
  call::CallPtr call = calls_.take();
  call->id = id;
  call->method = methods_.find(method);
  if (call->method == kOtherMethod) call->method_name = method;
  note_context(context, *call);
  sessions_.name_in(*call);
  if (context.era == Era::modern) call->revision = dialect_->modern_revision();
  if (tracing_.is_on()) tracing_.begin(params, *call);
  return call;
}

void Backend::close_session(session::SessionId id, std::string_view why) {
  if (sessions_.find(id) == nullptr) return;
  EndedSession ended = sessions_.end(id);
  std::vector<call::CallPtr> calls = std::move(ended.calls);
  // Those that are elsewhere: at shared children, or nowhere as their client is asked something.
  for (call::CallPtr& call : withdraw(ended.caller)) calls.push_back(std::move(call));
  if (ended.listener != nullptr) cancel(withdraw(ended.listener->slot.caller()));
  sessions_.settle_all();
  if (why.empty()) return cancel(calls);
  const auto report = rpc::faults::child_failed(std::string(why));
  for (const call::CallPtr& call : calls) {
    answer_fault(*call, report, Outcome::cancelled(),
                 pool::cancel_reason_text(pool::CancelReason::client_left), false);
  }
}

// --- Ends -----------------------------------------------------------------------------------

void Backend::on_answer(call::CallPtr call, const rpc::Envelope& answer) {
  if (mirrors_ && mirrors_->take_answer(*call, answer)) return;
  if (call->alone && round_trips_.take_answer(call, answer)) return;
  if (rounds_.take_answer(call, answer)) return;
  if (greetings_.take_answer(call, answer)) return;
  if (const auto lack = modern_.lack_of(*call, answer)) {
    return answer_error(*call, *lack, Outcome::error(), {});
  }
  if (mirrors_) mirrors_->learn(*call, method_name(*call), answer);
  if (cache_) cache_->keep(*call, answer, core_.clock.now());
  if (!returning_.may_change(*call, answer)) return give(std::move(call), answer);
  auto changed = returning_.changed(*call, method_name(*call), answer);
  if (!changed) return give(std::move(call), answer);
  if (!*changed) return answer_error(*call, changed->error(), Outcome::error(), {});
  const rpc::KnownMessage known(**changed);
  give(std::move(call), known.envelope());
}

void Backend::give(call::CallPtr call, const rpc::Envelope& answer) {
  const Outcome outcome = dialect_->outcome(answer, method_name(*call));
  if (call->memo != call::SessionMemo::none && outcome == Outcome::ok())
    memos_.learn(*call, answer);
  // A child that does not know a method must not fill the table with invented names.
  if (call->method == kOtherMethod &&
      (outcome != Outcome::error() ||
       rpc::error_code(answer) != rpc::rpc_error_code(rpc::RpcError::method_not_found))) {
    learn_method(*call);
  }
  if (call->tool == kOtherTool && (outcome == Outcome::ok() || outcome == Outcome::tool_error())) {
    call->tool = tools_.learn(call->tool_name, core_.clock.now());
  }
  const bool is_modern = call->client_era == Era::modern;
  if (call->child_era && is_modern != (call->child_era == Era::modern)) {
    rpc::Envelope seen = answer;
    if (call->list != nullptr) seen.payload = rules_.seen(*call, answer);
    call->bridged = ",";
    if (dialect_->bridge(seen, method_name(*call), is_modern ? Era::modern : Era::legacy,
                         call->memo_text, call->bridged)) {
      call->bridged += '}';
      return answer_tail(*call, outcome, call->bridged, rpc::error_code(answer));
    }
  }
  // Its result names the call by its id once more.
  if (call->listens && outcome == Outcome::ok()) return end_listening(*call);
  auto parts = with_replaced(answer.text, place_of(answer.id, answer.text), call->id);
  if (call->list != nullptr) rules_.cut(*call, answer, parts);
  session::Reply reply;
  reply.head = parts[0];
  reply.id = parts[1];
  reply.tail = parts[2];
  if (is_modern) reply.error_code = rpc::error_code(answer);
  finish(*call, outcome, &reply, {});
}

void Backend::answer_tail(const call::Call& call, Outcome outcome, std::string_view tail,
                          std::optional<int64_t> error_code, std::string_view detail) {
  session::Reply reply;
  reply.head = R"({"jsonrpc":"2.0","id":)";
  reply.id = call.id;
  reply.tail = tail;
  if (call.client_era == Era::modern) reply.error_code = error_code;
  finish(call, outcome, &reply, detail);
}

void Backend::on_fault(call::CallPtr call, const rpc::FaultReport& report) {
  if (mirrors_ && mirrors_->take_fault(*call)) return;
  if (call->alone && round_trips_.take_fault(call, report)) return;
  if (greetings_.take_fault(*call)) return;
  // A child that died of a call, or was still busy with it, probably knows the method.
  const bool was_taken = call->written != TimePoint{} && (report.fault == rpc::Fault::timeout ||
                                                          report.fault == rpc::Fault::child_failed);
  if (was_taken) learn_method(*call);
  answer_fault(*call, report, Outcome::of(report.fault),
               report.detail.empty() ? report.message : report.detail,
               options_.config.expose_fault_details);
}

void Backend::answer_fault(const call::Call& call, const rpc::FaultReport& report, Outcome outcome,
                           std::string_view detail, bool exposes_detail) {
  std::string text;
  rpc::append_fault_response(text, call.id, report, dialect_->codes(), exposes_detail);
  session::Reply reply;
  reply.head = text;
  reply.fault = report.fault;
  reply.retry_after = report.retry_after;
  reply.scope = report.scope;
  finish(call, outcome, &reply, detail);
}

// The one end of every call: its answer, if there is one, and its record.
void Backend::finish(const call::Call& call, Outcome outcome, const session::Reply* reply,
                     std::string_view detail) {
  if (!call.subscription.empty()) sessions_.finish_subscribe(call, outcome);
  if (call.client != nullptr) quotas_->end_call(*call.client);
  if (call.alone) round_trips_.note_end(call, outcome);
  if (call.listens) {
    watches_.close(call);
    returning_.end(call);
  }
  if (!call.listens && !call.request.empty()) rounds_.note_end(call);
  if (!call.is_own) reply = record_end(call, outcome, reply, detail);
  if (reply != nullptr) deliver(call, *reply);
  // Its session may be over by this: that comes after the answer.
  if (!call.refusal.empty()) greetings_.note_end(call);
}

// What is told of a call that has ended. Returns its answer, or what the audit has in its place.
const session::Reply* Backend::record_end(const call::Call& call, Outcome outcome,
                                          const session::Reply* reply, std::string_view detail) {
  CallRecord record = record_of(call, core_.clock.now());
  record.backend = id();
  record.is_mcp = protocol() == config::Protocol::mcp;
  record.method_name = method_name(call);
  record.tool_name = tool_name(call);
  record.outcome = outcome;
  if (core_.wall_clock != nullptr) record.arrived_at = core_.wall_clock->at(call.arrived);
  record.detail = detail;
  reply = audit_.end(call, record, reply);
  record.bytes_out = reply == nullptr ? 0 : reply->size();
  core_.observer.on_call_finished(record);
  return reply;
}

}  // namespace stdgate::backend

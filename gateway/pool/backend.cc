#include "gateway/pool/backend.h"

#include <array>
#include <utility>

namespace stdgate {

namespace {

constexpr int64_t kMethodNotFound = -32601;  // JSON-RPC 2.0 section 5.1

EnvelopeLimits client_envelope_limits(const LimitsConfig& limits) {
  EnvelopeLimits envelope;
  envelope.depth = limits.depth;
  envelope.batch = limits.batch;
  return envelope;
}

// The observer hears of a backend before it hears of its methods.
BackendId announced(BackendId id, std::string_view name, Observer& observer) {
  observer.on_backend(id, name);
  return id;
}

Outgoing::Place place_of(std::string_view part, std::string_view text) {
  if (part.empty()) return {};
  return {static_cast<size_t>(part.data() - text.data()), part.size()};
}

}  // namespace

Backend::Backend(BackendId id, BackendOptions options, std::unique_ptr<Dialect> dialect,
                 Origins& origins, const CoreServices& core)
    : id_(announced(id, options.config.name, core.observer)),
      options_(std::move(options)),
      dialect_(std::move(dialect)),
      origins_(origins),
      core_(core),
      envelope_limits_(client_envelope_limits(options_.limits)),
      methods_(options_.method_names,
               [this](MethodId method, std::string_view name) {
                 core_.observer.on_method(id_, method, name);
               }),
      tools_(
          options_.method_names,
          [this](ToolId tool, std::string_view name) { core_.observer.on_tool(id_, tool, name); }),
      services_{core_, id_, options_.config, options_.limits, options_.launch, *dialect_, calls_},
      pool_(services_, *this),
      sessions_(services_, pool_) {
  for (const std::string_view name : dialect_->known_methods()) methods_.admit(name);
}

Backend::~Backend() = default;

Admission Backend::accept(const ParsedMessage& message, const CallContext& context) {
  if (!message.ok()) {
    core_.observer.on_call_started(id_);
    CallPtr call = make_call(message.envelope.id, {}, context);
    call->bytes_in = message.envelope.text.size();
    on_fault(std::move(call), FaultReport{Fault::invalid_request, {}, message.rejection, {}});
    return Admission::answered_by_reply;
  }
  core_.observer.on_message(id_, Direction::to_child, {&message.envelope.text, 1});
  switch (message.envelope.kind) {
    case MessageKind::request:
      return accept_request(message.envelope, context);
    case MessageKind::notification:
      return accept_notification(message.envelope, context);
    case MessageKind::result:
    case MessageKind::error:
      if (sessions_.pass_answer(context.session, message.envelope)) return Admission::delivered;
      break;
  }
  return drop(DropReason::stray_response);
}

Admission Backend::accept_request(const Envelope& request, const CallContext& context) {
  const std::string_view method = decode_string(request.method, method_);
  const auto intent = dialect_->read_client(request, method, lane_of(context));
  CallPtr call = make_call(request.id, method, context);
  call->bytes_in = request.text.size();
  core_.observer.on_call_started(id_);
  if (!intent) {
    on_fault(std::move(call), FaultReport{Fault::invalid_request, {}, intent.error(), {}});
    return Admission::answered_by_reply;
  }
  Outgoing message;
  message.text = request.text;
  message.id = place_of(request.id, request.text);
  // Only a child of several clients could mix up their tokens.
  if (lane_of(context) == Isolation::shared) {
    message.progress_token = place_of(intent->progress_token, request.text);
  }
  message.replaced = place_of(intent->replaced, request.text);
  message.replacement = intent->replacement;
  message.answered_by_handshake = intent->kind == ClientIntent::Kind::handshake;
  call->progress_token = intent->progress_token;
  note_tool(*call, intent->tool);
  call->deadline = context.arrived + options_.config.timeout;
  if (!intent->key.empty() && !accept_subscription(*intent, call, message)) {
    return Admission::answered_by_reply;
  }
  if (const auto taken = pool_.submit(call, message); !taken) {
    on_fault(std::move(call), taken.error());
  }
  return Admission::answered_by_reply;
}

// Whether a child is to be asked; else the call has been answered. Only sessions are kept account
// of: what stands alone is the child's business, but it must not end what sessions want.
bool Backend::accept_subscription(const ClientIntent& intent, CallPtr& call, Outgoing& message) {
  const std::string_view key = decode_string(intent.key, key_);
  if (intent.kind == ClientIntent::Kind::subscribe) {
    if (sessions_.find(call->session) == nullptr) return true;
    const auto is_to_ask = sessions_.subscribe(call->session, key);
    if (!is_to_ask) {
      on_fault(std::move(call), is_to_ask.error());
      return false;
    }
    if (*is_to_ask) {
      call->subscription = key;
      return true;
    }
  } else {
    const auto child = sessions_.unsubscribe(call->session, key);
    message.child = child.value_or(0);
    if (child) return true;
  }
  answer(*call, intent.result);
  return false;
}

Admission Backend::accept_notification(const Envelope& notification, const CallContext& context) {
  const std::string_view method = decode_string(notification.method, method_);
  const auto intent = dialect_->read_client(notification, method, lane_of(context));
  if (!intent) return drop(DropReason::unknown_cancel);
  switch (intent->kind) {
    case ClientIntent::Kind::cancel:
      if (!accept_cancel(intent->cancelled_id, context)) return drop(DropReason::unknown_cancel);
      break;
    case ClientIntent::Kind::forward: {
      Outgoing message;
      message.text = notification.text;
      if (!pool_.notify(context.session, sessions_.asking_child(context.session), message)) {
        drop(DropReason::overloaded);
        return Admission::refused_overloaded;
      }
      break;
    }
    case ClientIntent::Kind::handshake:
    case ClientIntent::Kind::subscribe:
    case ClientIntent::Kind::unsubscribe:
    case ClientIntent::Kind::swallow:
      return Admission::delivered;
  }
  core_.observer.on_notification(id_, methods_.find(method), Direction::to_child);
  return Admission::delivered;
}

bool Backend::accept_cancel(std::string_view id, const CallContext& context) {
  CallPtr ended;
  if (!pool_.request_cancel(context.origin, context.session, id, &ended)) return false;
  if (ended) {
    finish_cancelled(*ended, CancelReason::client_cancelled);
    if (ReplySink* sink = origins_.find(ended->origin); sink != nullptr) {
      sink->on_cancelled(ended->tag);
    }
  }
  return true;
}

Isolation Backend::lane_of(const CallContext& context) const {
  return context.session.is_none() ? Isolation::shared : options_.config.isolation;
}

CallPtr Backend::make_call(std::string_view id, std::string_view method,
                           const CallContext& context) {
  CallPtr call = calls_.take();
  call->id = id;
  call->method = methods_.find(method);
  if (call->method == kOtherMethod) call->method_name = method;
  call->origin = context.origin;
  call->session = context.session;
  call->tag = context.tag;
  call->transport = context.transport;
  call->wants_events = context.wants_events;
  call->connection = context.connection;
  call->trace_id = context.trace_id;
  call->arrived = context.arrived;
  return call;
}

void Backend::note_tool(Call& call, std::string_view spelled) {
  if (spelled.empty()) return;
  const std::string_view name = decode_string(spelled, tool_);
  call.tool = tools_.find(name);
  // One that is too long for a place stays too long.
  if (call.tool == kOtherTool) call.tool_name = name.substr(0, NameTable::kLongestName + 1);
}

void Backend::refuse(const FaultReport& report, std::string_view id, const CallContext& context) {
  core_.observer.on_call_started(id_);
  on_fault(make_call(id, {}, context), report);
}

void Backend::count_refused(const FaultReport& report, std::string_view id,
                            const CallContext& context) {
  core_.observer.on_call_started(id_);
  const CallPtr call = make_call(id, {}, context);
  finish(*call, Outcome::of(report.fault), nullptr, report.detail);
}

void Backend::cancel_calls_of(Origin origin) {
  for (const CallPtr& call : pool_.withdraw(origin)) {
    finish_cancelled(*call, CancelReason::client_left);
  }
}

void Backend::finish_cancelled(const Call& call, CancelReason reason) {
  finish(call, Outcome::cancelled(), nullptr, cancel_reason_text(reason));
}

tl::expected<SessionId, FaultReport> Backend::open_session(Origin origin, SessionSink& sink) {
  return sessions_.open(origin, sink);
}

void Backend::close_session(SessionId id) {
  const Session* session = sessions_.find(id);
  if (session == nullptr) return;
  const Origin origin = session->origin;
  sessions_.close(id);
  const std::vector<CallPtr> calls =
      owns_children() ? pool_.close_lease(id) : pool_.withdraw(origin);
  for (const CallPtr& call : calls) finish_cancelled(*call, CancelReason::client_left);
}

void Backend::hold_child(SessionId session, bool held) { pool_.hold_child(session, held); }

// --- Ends -----------------------------------------------------------------------------------

void Backend::on_answer(CallPtr call, const Envelope& answer) {
  const Outcome outcome = dialect_->outcome(answer, method_name(*call));
  // A child that does not know a method must not fill the table with invented names.
  if (call->method == kOtherMethod &&
      (outcome != Outcome::error() || error_code(answer) != kMethodNotFound)) {
    call->method = methods_.admit(call->method_name);
  }
  if (call->tool == kOtherTool && (outcome == Outcome::ok() || outcome == Outcome::tool_error())) {
    call->tool = tools_.admit(call->tool_name);
  }
  const Outgoing::Place id = place_of(answer.id, answer.text);
  Reply reply;
  reply.head = answer.text.substr(0, id.offset);
  reply.id = call->id;
  reply.tail = answer.text.substr(id.offset + id.length);
  finish(*call, outcome, &reply, {});
}

// The gateway's own answer, where no child is needed for it.
void Backend::answer(const Call& call, std::string_view result) {
  const std::string tail = R"(,"result":)" + std::string(result) + "}";
  Reply reply;
  reply.head = R"({"jsonrpc":"2.0","id":)";
  reply.id = call.id;
  reply.tail = tail;
  finish(call, Outcome::ok(), &reply, {});
}

void Backend::on_fault(CallPtr call, const FaultReport& report) {
  std::string text;
  append_fault_response(text, call->id, report, dialect_->codes(),
                        options_.config.expose_fault_details);
  Reply reply;
  reply.head = text;
  reply.fault = report.fault;
  reply.retry_after = report.retry_after;
  const std::string_view detail = report.detail.empty() ? report.message : report.detail;
  finish(*call, Outcome::of(report.fault), &reply, detail);
}

// The one end of every call: its answer, if there is one, and its record.
void Backend::finish(const Call& call, Outcome outcome, const Reply* reply,
                     std::string_view detail) {
  if (!call.subscription.empty()) sessions_.finish_subscribe(call, outcome);
  const TimePoint now = core_.clock.now();
  CallRecord record;
  record.backend = id_;
  record.method = call.method;
  record.method_name = method_name(call);
  record.tool = call.tool;
  record.tool_name = tool_name(call);
  record.transport = call.transport;
  record.outcome = outcome;
  record.total = now - call.arrived;
  record.reached_child = call.written != TimePoint{};
  record.queued = (record.reached_child ? call.written : now) - call.arrived;
  record.child = record.reached_child ? now - call.written : Duration{0};
  record.id = call.id;
  record.connection = call.connection;
  record.trace_id = call.trace_id;
  record.bytes_in = call.bytes_in;
  record.bytes_out = reply == nullptr ? 0 : reply->size();
  record.detail = detail;
  core_.observer.on_call_finished(record);
  if (reply == nullptr) return;
  const std::array<std::string_view, 3> parts = {reply->head, reply->id, reply->tail};
  core_.observer.on_message(id_, Direction::to_client, parts);
  if (ReplySink* sink = origins_.find(call.origin); sink != nullptr) {
    sink->on_reply(call.tag, *reply);
  } else {
    drop(DropReason::origin_gone);
  }
}

// --- What children say ----------------------------------------------------------------------

void Backend::on_event(const Call& call, const Envelope& notification,
                       Outgoing::Place progress_token) {
  const std::string_view text = notification.text;
  const std::array<std::string_view, 3> parts = {
      text.substr(0, progress_token.offset), call.progress_token,
      text.substr(progress_token.offset + progress_token.length)};
  const Session* session = sessions_.find(call.session);
  ReplySink* sink = call.wants_events ? origins_.find(call.origin) : nullptr;
  if (session == nullptr && sink == nullptr) {
    drop(DropReason::no_listener);
    return;
  }
  const std::string_view method = decode_string(notification.method, method_);
  core_.observer.on_notification(id_, methods_.admit(method), Direction::to_client);
  core_.observer.on_message(id_, Direction::to_client, parts);
  if (session != nullptr) {
    session->sink->on_message(call.tag, parts);
  } else {
    std::string whole;
    for (const std::string_view part : parts) whole += part;
    sink->on_event(call.tag, whole);
  }
}

void Backend::on_notification(Child& child, const Envelope& notification, std::string_view method) {
  const Audience audience =
      child.lane() == Isolation::shared ? dialect_->audience(notification, method) : Audience();
  bool taken = sessions_.pass_notification(child, notification, method, audience);
  // A stream whose call is the only one on its child gets it too: it can be meant for no other, but
  // for those who have subscribed.
  Correlator<CallPtr>& calls = child.calls();
  const Call* only = calls.size() == 1 ? calls.find(*calls.oldest())->get() : nullptr;
  const bool is_of_subscribers =
      audience.kind == Audience::Kind::subscribers && sessions_.tells_sessions(child.number());
  if (only != nullptr && only->wants_events && !is_of_subscribers) {
    if (ReplySink* sink = origins_.find(only->origin); sink != nullptr) {
      core_.observer.on_message(id_, Direction::to_client, {&notification.text, 1});
      sink->on_event(only->tag, notification.text);
      taken = true;
    }
  }
  if (taken) {
    core_.observer.on_notification(id_, methods_.admit(method), Direction::to_client);
  } else {
    drop(DropReason::no_listener);
  }
}

void Backend::on_request(Child& child, const Envelope& request, std::string_view method) {
  sessions_.pass_request(child, request, method);
}

void Backend::on_spare_room(Child& child) { sessions_.settle(child); }

void Backend::on_child_gone(uint64_t number) { sessions_.lose_child(number); }

bool Backend::is_needed(uint64_t child) const { return sessions_.is_needed(child); }

void Backend::on_reading(SessionId session, bool reading) {
  sessions_.set_reading(session, reading);
}

void Backend::on_session_end(SessionId session, SessionEnd end, std::string_view message) {
  sessions_.end(session, end, message);
}

std::string_view Backend::method_name(const Call& call) const {
  return call.method == kOtherMethod ? std::string_view(call.method_name)
                                     : methods_.name(call.method);
}

std::string_view Backend::tool_name(const Call& call) const {
  return call.tool.value_or(kOtherTool) == kOtherTool ? std::string_view(call.tool_name)
                                                      : tools_.name(*call.tool);
}

Admission Backend::drop(DropReason reason) {
  core_.observer.on_dropped(id_, reason);
  return Admission::dropped;
}

BackendStatus Backend::status() const {
  BackendStatus status;
  status.name = name();
  status.sessions = sessions_.size();
  pool_.describe(status);
  return status;
}

}  // namespace stdgate

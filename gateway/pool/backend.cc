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
      services_{core_, id_, options_.config, options_.limits, options_.launch, *dialect_},
      pool_(services_, *this) {
  for (const std::string_view name : dialect_->known_methods()) methods_.admit(name);
}

Backend::~Backend() = default;

Admission Backend::accept(const ParsedMessage& message, const CallContext& context) {
  if (!message.ok()) {
    core_.observer.on_call_started(id_);
    Call call = make_call(message.envelope.id, {}, context);
    call.bytes_in = message.envelope.text.size();
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
      break;
  }
  return drop(DropReason::stray_response);
}

Admission Backend::accept_request(const Envelope& request, const CallContext& context) {
  const std::string_view method = decode_string(request.method, method_);
  const auto intent = dialect_->read_client(request, method);
  Call call = make_call(request.id, method, context);
  call.bytes_in = request.text.size();
  core_.observer.on_call_started(id_);
  if (!intent) {
    on_fault(std::move(call), FaultReport{Fault::invalid_request, {}, intent.error(), {}});
    return Admission::answered_by_reply;
  }
  Outgoing message;
  message.text = request.text;
  message.id = place_of(request.id, request.text);
  message.progress_token = place_of(intent->progress_token, request.text);
  message.answered_by_handshake = intent->kind == ClientIntent::Kind::handshake;
  call.progress_token = intent->progress_token;
  call.deadline = context.arrived + options_.config.timeout;
  if (const auto taken = pool_.submit(call, message); !taken) {
    on_fault(std::move(call), taken.error());
  }
  return Admission::answered_by_reply;
}

Admission Backend::accept_notification(const Envelope& notification, const CallContext& context) {
  const std::string_view method = decode_string(notification.method, method_);
  const auto intent = dialect_->read_client(notification, method);
  if (!intent) return drop(DropReason::unknown_cancel);
  switch (intent->kind) {
    case ClientIntent::Kind::cancel:
      if (!pool_.request_cancel(context.origin, intent->cancelled_id)) {
        return drop(DropReason::unknown_cancel);
      }
      break;
    case ClientIntent::Kind::forward: {
      Outgoing message;
      message.text = notification.text;
      if (!pool_.notify(message)) {
        drop(DropReason::overloaded);
        return Admission::refused_overloaded;
      }
      break;
    }
    case ClientIntent::Kind::handshake:
    case ClientIntent::Kind::swallow:
      return Admission::delivered;
  }
  core_.observer.on_notification(id_, methods_.find(method), Direction::to_child);
  return Admission::delivered;
}

Call Backend::make_call(std::string_view id, std::string_view method, const CallContext& context) {
  Call call;
  call.id = id;
  call.method = methods_.find(method);
  if (call.method == kOtherMethod) call.method_name = method;
  call.origin = context.origin;
  call.tag = context.tag;
  call.transport = context.transport;
  call.wants_events = context.wants_events;
  call.connection = context.connection;
  call.trace_id = context.trace_id;
  call.arrived = context.arrived;
  return call;
}

void Backend::refuse(const FaultReport& report, std::string_view id, const CallContext& context) {
  core_.observer.on_call_started(id_);
  on_fault(make_call(id, {}, context), report);
}

void Backend::cancel_calls_of(Origin origin) {
  for (const Call& call : pool_.withdraw(origin)) {
    finish(call, Outcome::cancelled(), nullptr, cancel_reason_text(CancelReason::client_left));
  }
}

// --- Ends -----------------------------------------------------------------------------------

void Backend::on_answer(Call call, const Envelope& answer) {
  const Outcome outcome = dialect_->outcome(answer, method_name(call));
  // A child that does not know a method must not fill the table with invented names.
  if (call.method == kOtherMethod &&
      (outcome != Outcome::error() || error_code(answer) != kMethodNotFound)) {
    call.method = methods_.admit(call.method_name);
  }
  const Outgoing::Place id = place_of(answer.id, answer.text);
  Reply reply;
  reply.head = answer.text.substr(0, id.offset);
  reply.id = call.id;
  reply.tail = answer.text.substr(id.offset + id.length);
  finish(call, outcome, &reply, {});
}

void Backend::on_fault(Call call, const FaultReport& report) {
  std::string text;
  append_fault_response(text, call.id, report, dialect_->codes(),
                        options_.config.expose_fault_details);
  Reply reply;
  reply.head = text;
  reply.fault = report.fault;
  reply.retry_after = report.retry_after;
  const std::string_view detail = report.detail.empty() ? report.message : report.detail;
  finish(call, Outcome::of(report.fault), &reply, detail);
}

// The one end of every call: its answer, if there is one, and its record.
void Backend::finish(const Call& call, Outcome outcome, const Reply* reply,
                     std::string_view detail) {
  const TimePoint now = core_.clock.now();
  CallRecord record;
  record.backend = id_;
  record.method = call.method;
  record.method_name = method_name(call);
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

void Backend::on_event(const Call& call, const Envelope& notification,
                       Outgoing::Place progress_token) {
  ReplySink* sink = origins_.find(call.origin);
  if (!call.wants_events || sink == nullptr) {
    drop(DropReason::no_listener);
    return;
  }
  const std::string_view method = decode_string(notification.method, method_);
  core_.observer.on_notification(id_, methods_.admit(method), Direction::to_client);
  core_.observer.on_message(id_, Direction::to_client, {&notification.text, 1});
  if (progress_token.length == 0) {
    sink->on_event(call.tag, notification.text);
    return;
  }
  std::string text(notification.text.substr(0, progress_token.offset));
  text += call.progress_token;
  text += notification.text.substr(progress_token.offset + progress_token.length);
  sink->on_event(call.tag, text);
}

std::string_view Backend::method_name(const Call& call) const {
  return call.method == kOtherMethod ? std::string_view(call.method_name)
                                     : methods_.name(call.method);
}

Admission Backend::drop(DropReason reason) {
  core_.observer.on_dropped(id_, reason);
  return Admission::dropped;
}

BackendStatus Backend::status() const {
  BackendStatus status;
  status.name = name();
  pool_.describe(status);
  return status;
}

}  // namespace stdgate

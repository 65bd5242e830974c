#include "gateway/call/chain.h"

#include <array>
#include <utility>

#include "gateway/call/call_record.h"
#include "gateway/call/message_trace.h"

namespace stdgate::call {

namespace {

constexpr std::string_view kHead = R"({"jsonrpc":"2.0","id":)";
// What a rare answer has grown to is not kept.
constexpr size_t kMaxKeptText = 256 << 10;

std::string& emptied(std::string& text) {
  text.clear();
  if (text.capacity() > kMaxKeptText) std::string().swap(text);
  return text;
}

// Nothing unless its client is one of the modern era, to whom HTTP statuses tell of errors.
std::optional<int64_t> code_for(const Call& call, std::optional<int64_t> error_code) {
  return call.client_era == Era::modern ? error_code : std::nullopt;
}

// Who has made it, and how.
void note_context(const CallContext& context, Call& call) {
  call.caller = context.caller;
  call.session = context.session;
  call.tag = context.tag;
  call.transport = context.transport;
  call.client_era = context.era;
  if (context.client != nullptr) call.origin = *context.client;
  call.wants_events = context.wants_events;
  call.is_own = context.is_own;
  call.connection = context.connection;
  if (context.principal != nullptr) call.principal = context.principal->name;
  call.arrived = context.arrived;
}

}  // namespace

// --- Down -----------------------------------------------------------------------------------

CallPtr Chain::begin(std::string_view id, const Arrival& arrival) {
  CallPtr call = services_.calls.take();
  call->id = id;
  note_context(arrival.context, *call);
  for (const Row& row : begins_) row.filter->on_begin(*call, arrival);
  return call;
}

void Chain::pass(CallPtr&& call, const Request& request) {
  for (const Row& row : requests_) {
    call->at = row.place;
    row.filter->on_request(call, request);
    if (call == nullptr) return;
  }
  STDGATE_CHECK(false);  // the last one takes it
}

Passage Chain::pass(const Notification& notification) {
  Passage passage = Passage::open;
  for (const Row& row : notifications_) {
    passage = row.filter->on_notification(notification);
    if (passage != Passage::open) break;
  }
  for (const Row& row : judged_) row.filter->on_notification_judged(notification, passage);
  return passage;
}

// --- Up -------------------------------------------------------------------------------------

void Chain::on_answer(CallPtr&& call, const rpc::Envelope& message) {
  const Outcome outcome = services_.protocol.outcome(message, call->method_name);
  Answer answer{message, message.payload, {}, outcome};
  rise(call, answer);
}

void Chain::on_result(CallPtr call, std::string_view payload) {
  rpc::Envelope message;
  message.kind = rpc::MessageKind::result;
  message.payload = payload;
  Answer answer{message, payload};
  rise(call, answer);
}

void Chain::rise(CallPtr& call, Answer& answer) {
  for (const Row& row : answers_) {
    if (row.place >= call->at) continue;
    call->at = row.place;
    row.filter->on_answer(call, answer);
    if (call == nullptr) return;
  }
  const CallPtr ended = std::move(call);
  give(*ended, answer);
}

void Chain::give(const Call& call, const Answer& answer) {
  const rpc::Envelope& message = answer.message;
  const auto code = call.client_era == Era::modern ? rpc::error_code(message) : std::nullopt;
  if (!answer.tail.empty()) return answer_tail(call, answer.outcome, answer.tail, code, {});
  if (message.text.empty()) {
    emptied(text_).append(R"(,"result":)").append(answer.payload).append("}");
    return answer_tail(call, answer.outcome, text_, code, {});
  }
  auto parts = with_replaced(message.text, place_of(message.id, message.text), call.id);
  if (answer.payload.data() != message.payload.data()) {
    // The id stands before or behind the payload.
    std::string_view& part = message.payload.data() >= parts[2].data() ? parts[2] : parts[0];
    const auto at = static_cast<size_t>(message.payload.data() - part.data());
    emptied(text_).append(part.substr(0, at)).append(answer.payload);
    text_.append(part.substr(at + message.payload.size()));
    part = text_;
  }
  session::Reply reply;
  reply.head = parts[0];
  reply.id = parts[1];
  reply.tail = parts[2];
  reply.error_code = code;
  finish(call, answer.outcome, &reply, {});
}

void Chain::on_fault(CallPtr call, const rpc::FaultReport& report) {
  for (const Row& row : faults_) {
    if (row.place >= call->at) continue;
    call->at = row.place;
    row.filter->on_fault(call, report);
    if (call == nullptr) return;
  }
  answer_fault(*call, report, Outcome::of(report.fault),
               report.detail.empty() ? report.message : report.detail,
               services_.config.expose_fault_details);
}

// --- Ends -----------------------------------------------------------------------------------

void Chain::answer(const Call& call, Outcome outcome, std::string_view member,
                   std::optional<int64_t> error_code, std::string_view detail) {
  answer_tail(call, outcome, "," + std::string(member) + "}", code_for(call, error_code), detail);
}

void Chain::answer_result(const Call& call, std::string_view result) {
  answer(call, Outcome::ok(), R"("result":)" + std::string(result));
}

void Chain::answer_error(const Call& call, const Absence& error, Outcome outcome,
                         std::string_view detail) {
  const int code = rpc::rpc_error_code(error.error);
  std::string member = R"("error":)";
  rpc::append_error(member, code, error.message, error.data);
  answer(call, outcome, member, code, detail);
}

void Chain::answer_tail(const Call& call, Outcome outcome, std::string_view tail,
                        std::optional<int64_t> error_code, std::string_view detail) {
  session::Reply reply;
  reply.head = kHead;
  reply.id = call.id;
  reply.tail = tail;
  reply.error_code = error_code;
  finish(call, outcome, &reply, detail);
}

void Chain::answer_fault(const Call& call, const rpc::FaultReport& report, Outcome outcome,
                         std::string_view detail, bool exposes_detail) {
  std::string text;
  rpc::append_fault_response(text, call.id, report, services_.protocol.codes(), exposes_detail);
  session::Reply reply;
  reply.head = text;
  reply.fault = report.fault;
  reply.retry_after = report.retry_after;
  reply.scope = report.scope;
  finish(call, outcome, &reply, detail);
}

// The one end of every call: its answer, if there is one, and its record.
void Chain::finish(const Call& call, Outcome outcome, const session::Reply* reply,
                   std::string_view detail) {
  End end{outcome, nullptr, reply};
  if (call.is_own) {
    for (const Row& row : ends_) row.filter->on_end(call, end);
  } else {
    record_end(call, end, detail);
  }
  if (end.reply != nullptr) deliver(call, *end.reply);
  for (const Row& row : ended_) row.filter->on_ended(call);
}

void Chain::record_end(const Call& call, End& end, std::string_view detail) {
  CallRecord record = record_of(call, services_.clock.now());
  record.backend = services_.backend;
  record.is_mcp = services_.config.protocol == config::Protocol::mcp;
  record.outcome = end.outcome;
  if (services_.wall_clock != nullptr) record.arrived_at = services_.wall_clock->at(call.arrived);
  record.detail = detail;
  end.record = &record;
  for (const Row& row : ends_) row.filter->on_end(call, end);
  record.bytes_out = end.reply == nullptr ? 0 : end.reply->size();
  services_.observer.on_call_finished(record);
}

void Chain::deliver(const Call& call, const session::Reply& reply) {
  const std::array<std::string_view, 3> parts = {reply.head, reply.id, reply.tail};
  services_.observer.on_message(services_.backend, Direction::to_client, parts);
  if (session::ReplySink* sink = services_.callers.find(call.caller); sink != nullptr) {
    sink->on_reply(call.tag, reply);
  } else if (!call.is_own) {
    services_.observer.on_dropped(services_.backend, DropReason::caller_gone);
    if (services_.traces) {
      trace_dropped(services_.log, services_.config.name, DropReason::caller_gone);
    }
  }
}

}  // namespace stdgate::call

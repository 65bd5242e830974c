#include "gateway/call/chain.h"

#include <algorithm>
#include <array>
#include <utility>

#include "gateway/base/encodings.h"
#include "gateway/call/call.h"
#include "gateway/rpc/message_text.h"

namespace stdgate::call {

namespace {

// Larger storage, which only a rare answer needs, is freed.
constexpr size_t kMaxKeptText = 256 << 10;

std::string& emptied(std::string& text) {
  text.clear();
  if (text.capacity() > kMaxKeptText) std::string().swap(text);
  return text;
}

// Nothing unless the client is a stateless one, whose responses show errors by their HTTP status.
std::optional<int64_t> code_for(const Call& call, std::optional<int64_t> error_code) {
  return call.client_kind == PeerKind::stateless ? error_code : std::nullopt;
}

// The part of a call's record that the call itself knows at its end. The record views into the
// call.
CallRecord record_of(const Call& call, TimePoint now) {
  CallRecord record;
  record.method = call.method;
  record.method_name = call.method_name;
  record.tool = call.tool;
  record.tool_name = call.tool_name;
  record.transport = call.transport;
  record.client_kind = call.client_kind;
  record.child_kind = call.child_kind;
  record.revision = call.revision;
  record.total = now - call.arrived;
  record.reached_child = call.written != TimePoint{};
  record.queued = (record.reached_child ? call.written : now) - call.arrived;
  record.child = record.reached_child ? now - call.written : Duration{0};
  record.id = call.id;
  record.connection = call.connection;
  record.session = call.session_name;
  record.client = call.origin;
  record.child_number = call.child;
  record.child_pid = call.child_pid;
  record.principal = call.principal;
  record.bytes_in = call.bytes_in;
  return record;
}

// Notes who has made the call, and how.
void note_context(const CallContext& context, Call& call) {
  call.caller = context.caller;
  call.session = context.session;
  call.tag = context.tag;
  call.transport = context.transport;
  call.client_kind = context.peer_kind;
  if (context.client != nullptr) call.origin = *context.client;
  call.wants_events = context.wants_events;
  call.is_own = context.is_own;
  call.connection = context.connection;
  if (context.principal != nullptr) call.principal = context.principal->name;
  call.arrived = context.arrived;
}

}  // namespace

// --- Down -----------------------------------------------------------------------------------

Chain::Chain(const ChainServices& services) : services_(services) {
  if (services.timers == nullptr) return;
  const HeldCalls::Services of_held{services.calls, services.config.pool, services.clock,
                                    *services.timers, services.held};
  held_.emplace(of_held, [this](HeldCalls::Held held) { release(std::move(held)); });
}

CallPtr Chain::begin(std::string_view id, const Arrival& arrival) {
  CallPtr call = services_.calls.take();
  call->id = id;
  note_context(arrival.context, *call);
  start_clock(*call, arrival.context.timeout.value_or(services_.config.timeout), services_.config);
  for (const Row& row : begins_) row.filter->on_begin(*call, arrival);
  return call;
}

void Chain::pass(CallPtr&& call, const Request& request) {
  descend(requests_.begin(), call, request);
}

void Chain::go_on(CallPtr call, const Request& request) {
  descend(std::ranges::upper_bound(requests_, call->at, {}, &Row::place), call, request);
}

void Chain::descend(Rows::const_iterator from, CallPtr& call, const Request& request) {
  for (auto row = from; row != requests_.end(); ++row) {
    call->at = row->place;
    row->filter->on_request(call, request);
    if (call == nullptr) return;
  }
  STDGATE_CHECK(false);  // the last filter takes each call
}

// A call that is held again keeps its copy of the request.
bool Chain::hold(CallPtr& call, const Request& request, TimePoint until) {
  if (!held_ || !held_->has_room(request.message.text.size())) return false;
  if (releasing_ != nullptr && releasing_->request->is(request)) {
    HeldCalls::Held again = std::move(*std::exchange(releasing_, nullptr));
    again.call = std::move(call);
    held_->hold(std::move(again), until);
  } else {
    held_->hold(std::move(call), request, until);
  }
  return true;
}

void Chain::keep(CallPtr call, TimePoint until) {
  STDGATE_CHECK(held_.has_value());
  held_->keep(std::move(call), until);
}

// Releases only the calls that are held now: the end of one can make clients send others.
void Chain::release(const Filter& filter) {
  const auto row = std::ranges::find(holders_, &filter, &Row::filter);
  if (!held_ || row == holders_.end()) return;
  uint64_t released = 0;
  for (const uint64_t last = held_->last();;) {
    const Call* const next = held_->next_at(row->place, released);
    if (next == nullptr || next->ticket > last) return;
    released = next->ticket;
    release(held_->take(*next));
  }
}

void Chain::release(HeldCalls::Held held) {
  if (held.request == nullptr) {
    const auto keeper = std::ranges::find(keepers_, held.call->at, &Row::place);
    STDGATE_CHECK(keeper != keepers_.end());
    return keeper->filter->on_overdue(std::move(held.call));
  }
  if (held.call->deadline <= services_.clock.now()) {
    const rpc::FaultReport report =
        gave_up(*held.call, CallPlace::held, held.call->arrived, services_.config);
    return on_fault(std::move(held.call), report);
  }
  const auto row = std::ranges::find(holders_, held.call->at, &Row::place);
  HeldCalls::Held* const former = std::exchange(releasing_, &held);
  row->filter->on_released(std::move(held.call), held.request->request());
  releasing_ = former;
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
  on_answer(std::move(call), message, outcome);
}

void Chain::on_answer(CallPtr&& call, const rpc::Envelope& message, Outcome outcome) {
  Answer answer{message, message.payload, {}, outcome, call->child};
  rise(call, answer);
}

void Chain::on_result(CallPtr call, std::string_view payload, uint64_t child) {
  rpc::Envelope message;
  message.kind = rpc::MessageKind::result;
  message.payload = payload;
  Answer answer{message, payload, {}, Outcome::ok(), child};
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
  const auto code =
      call.client_kind == PeerKind::stateless ? rpc::error_code(message) : std::nullopt;
  if (!answer.tail.empty()) return answer_tail(call, answer.outcome, answer.tail, code, {});
  if (message.text.empty()) {
    emptied(text_).append(R"(,"result":)").append(answer.payload).append("}");
    return answer_tail(call, answer.outcome, text_, code, {});
  }
  auto parts = with_replaced(message.text, place_of(message.id, message.text), call.id);
  const bool is_whole = answer.payload.data() == message.payload.data();
  if (!is_whole) {
    // The id may stand before or behind the payload.
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
  if (is_whole) reply.whole = &message;
  reply.outcome = answer.outcome;
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

void Chain::on_lost(CallPtr& call, std::string_view text, const rpc::FaultReport& report) {
  for (const Row& row : lost_) {
    if (row.place >= call->at) continue;
    const uint8_t from = std::exchange(call->at, row.place);
    row.filter->on_lost(call, text, report);
    if (call == nullptr) return;
    call->at = from;
  }
}

// --- Children -------------------------------------------------------------------------------

bool Chain::passes_gates(const Call& call, uint64_t child) const {
  return std::ranges::all_of(gates_,
                             [&](const Row& row) { return row.filter->admits(call, child); });
}

bool Chain::pass(ChildMessage& message, const Filter* from) {
  auto row = child_messages_.begin();
  if (from != nullptr) {
    row = std::next(std::ranges::find(child_messages_, from, &Row::filter));
  }
  return std::all_of(row, child_messages_.end(), [&message](const Row& above) {
    return above.filter->on_child_message(message);
  });
}

void Chain::on_child_gone(const ChildRef& child) {
  for (const Row& row : child_ends_) row.filter->on_child_gone(child);
}

TimePoint Chain::needed_until(uint64_t child) const {
  TimePoint until = TimePoint::min();
  for (const Row& row : needs_) until = std::max(until, row.filter->needed_until(child));
  return until;
}

ChildWork Chain::work_of(uint64_t child) const {
  ChildWork all;
  for (const Row& row : works_) {
    const ChildWork work = row.filter->work_of(child);
    all.states += work.states;
    all.tasks += work.tasks;
  }
  return all;
}

bool Chain::gave(const Arrival& request) const {
  return std::ranges::any_of(givers_,
                             [&request](const Row& row) { return row.filter->gave(request); });
}

void Chain::drop_kept() {
  for (const Row& row : caches_) row.filter->drop_kept();
}

// --- Held calls -----------------------------------------------------------------------------

CallPtr Chain::take_held(session::Caller caller, std::string_view id) {
  return held() == 0 ? nullptr : held_->take(caller, id);
}

std::vector<CallPtr> Chain::take_held(const std::function<bool(const Call&)>& matches) {
  return held() == 0 ? std::vector<CallPtr>() : held_->take_all(matches);
}

void Chain::fail_held(const rpc::FaultReport& report) {
  for (CallPtr& call : take_held([](const Call&) { return true; })) {
    on_fault(std::move(call), report);
  }
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
  answer(call, outcome, rpc::error_member(code, error.message, error.data), code, detail);
}

void Chain::answer_tail(const Call& call, Outcome outcome, std::string_view tail,
                        std::optional<int64_t> error_code, std::string_view detail) {
  session::Reply reply;
  reply.head = rpc::kIdHead;
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

// The one end of every call: its answer, if any, and its record.
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
  end.record = nullptr;
  record.bytes_out = end.reply == nullptr ? 0 : end.reply->size();
  services_.observer.on_call_finished(record);
}

void Chain::deliver(const Call& call, const session::Reply& reply) {
  const std::array<std::string_view, 3> parts = {reply.head, reply.id, reply.tail};
  services_.observer.on_message(services_.backend, Direction::to_client, parts);
  if (session::ReplySink* sink = services_.callers.find(call.caller); sink != nullptr) {
    sink->on_reply(call.tag, reply);
  } else if (!call.is_own) {
    drop(DropReason::caller_gone);
  }
}

void Chain::drop(DropReason reason) const {
  services_.observer.on_dropped(services_.backend, reason);
  if (services_.logs_messages) log_dropped(services_.log, services_.config.name, reason);
}

LogValue logged(std::string_view text) { return if_any(cut_utf8(text, kMaxLogged)); }

void log_arrived(Log& log, std::string_view backend, const Call& call, std::string_view method) {
  log.write(LogLevel::debug, "call arrived",
            {{"backend", backend},
             {"id", logged(call.id)},
             {"connection", call.connection},
             {"session", if_any(call.session_name.view())},
             {"method", logged(method)},
             {"transport", transport_name(call.transport)},
             {"bytes", uint64_t{call.bytes_in}}});
}

void log_dropped(Log& log, std::string_view backend, DropReason reason) {
  log.write(LogLevel::debug, "message dropped",
            {{"backend", backend}, {"reason", drop_reason_name(reason)}});
}

}  // namespace stdgate::call

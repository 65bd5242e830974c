#include "metrics/observers.h"

namespace stdgate {

void Observers::on_backend(BackendId backend, std::string_view name) {
  for (Observer* observer : of(Event::backend)) observer->on_backend(backend, name);
}

void Observers::on_method(BackendId backend, MethodId method, std::string_view name) {
  for (Observer* observer : of(Event::method)) observer->on_method(backend, method, name);
}

void Observers::on_tool(BackendId backend, ToolId tool, std::string_view name) {
  for (Observer* observer : of(Event::tool)) observer->on_tool(backend, tool, name);
}

void Observers::on_call_started(BackendId backend) {
  for (Observer* observer : of(Event::call_started)) observer->on_call_started(backend);
}

void Observers::on_call_finished(const CallRecord& call) {
  for (Observer* observer : of(Event::call_finished)) observer->on_call_finished(call);
}

void Observers::on_message(BackendId backend, Direction direction,
                           std::span<const std::string_view> parts) {
  for (Observer* observer : of(Event::message)) observer->on_message(backend, direction, parts);
}

void Observers::on_notification(BackendId backend, MethodId method, Direction direction) {
  for (Observer* observer : of(Event::notification))
    observer->on_notification(backend, method, direction);
}

void Observers::on_rejected(BackendId backend, Rejection reason) {
  for (Observer* observer : of(Event::rejected)) observer->on_rejected(backend, reason);
}

void Observers::on_dropped(BackendId backend, DropReason reason) {
  for (Observer* observer : of(Event::dropped)) observer->on_dropped(backend, reason);
}

void Observers::on_child_state(BackendId backend, ChildState from, ChildState to) {
  for (Observer* observer : of(Event::child_state)) observer->on_child_state(backend, from, to);
}

void Observers::on_child_started(BackendId backend, StartReason reason) {
  for (Observer* observer : of(Event::child_started)) observer->on_child_started(backend, reason);
}

void Observers::on_child_ready(BackendId backend, Duration since_start) {
  for (Observer* observer : of(Event::child_ready)) observer->on_child_ready(backend, since_start);
}

void Observers::on_child_exited(BackendId backend, ExitReason reason) {
  for (Observer* observer : of(Event::child_exited)) observer->on_child_exited(backend, reason);
}

void Observers::on_child_replaced(BackendId backend, ReplaceReason reason) {
  for (Observer* observer : of(Event::child_replaced)) observer->on_child_replaced(backend, reason);
}

void Observers::on_replacement_waits(BackendId backend, ReplaceReason reason) {
  for (Observer* observer : of(Event::replacement_waits)) {
    observer->on_replacement_waits(backend, reason);
  }
}

void Observers::on_breaker(BackendId backend, bool open) {
  for (Observer* observer : of(Event::breaker)) observer->on_breaker(backend, open);
}

void Observers::on_session_places(BackendId backend, uint32_t places) {
  for (Observer* observer : of(Event::session_places)) observer->on_session_places(backend, places);
}

void Observers::on_session_opened(BackendId backend) {
  for (Observer* observer : of(Event::session_opened)) observer->on_session_opened(backend);
}

void Observers::on_session_state(BackendId backend, SessionState from, SessionState to) {
  for (Observer* observer : of(Event::session_state)) observer->on_session_state(backend, from, to);
}

void Observers::on_session_parked(BackendId backend, ParkReason reason) {
  for (Observer* observer : of(Event::session_parked)) observer->on_session_parked(backend, reason);
}

void Observers::on_question_asked(BackendId backend) {
  for (Observer* observer : of(Event::question_asked)) observer->on_question_asked(backend);
}

void Observers::on_question_ended(BackendId backend, MethodId method, QuestionEnd end,
                                  Duration since_asked) {
  for (Observer* observer : of(Event::question_ended)) {
    observer->on_question_ended(backend, method, end, since_asked);
  }
}

void Observers::on_call_parked(BackendId backend) {
  for (Observer* observer : of(Event::call_parked)) observer->on_call_parked(backend);
}

void Observers::on_parked_call_ended(BackendId backend, ParkedEnd end) {
  for (Observer* observer : of(Event::parked_call_ended)) {
    observer->on_parked_call_ended(backend, end);
  }
}

void Observers::on_return(BackendId backend, ReturnEnd end) {
  for (Observer* observer : of(Event::call_returned)) observer->on_return(backend, end);
}

void Observers::on_remembered(BackendId backend) {
  for (Observer* observer : of(Event::remembered)) observer->on_remembered(backend);
}

void Observers::on_check_failed(BackendId backend, CheckFailure failure) {
  for (Observer* observer : of(Event::check_failed)) observer->on_check_failed(backend, failure);
}

void Observers::on_pins(BackendId backend, PinState state, int64_t change) {
  for (Observer* observer : of(Event::pins)) observer->on_pins(backend, state, change);
}

void Observers::on_cache_hit(BackendId backend) {
  for (Observer* observer : of(Event::cache_hit)) observer->on_cache_hit(backend);
}

void Observers::on_session_revived(BackendId backend, RevivalOutcome outcome,
                                   Duration since_request) {
  for (Observer* observer : of(Event::session_revived)) {
    observer->on_session_revived(backend, outcome, since_request);
  }
}

void Observers::on_session_closed(BackendId backend, SessionState state) {
  for (Observer* observer : of(Event::session_closed)) observer->on_session_closed(backend, state);
}

void Observers::on_connection_opened(ConnectionKind kind) {
  for (Observer* observer : of(Event::connection_opened)) observer->on_connection_opened(kind);
}

void Observers::on_connection_closed(ConnectionKind kind) {
  for (Observer* observer : of(Event::connection_closed)) observer->on_connection_closed(kind);
}

void Observers::on_bytes(ConnectionKind kind, Flow flow, size_t count) {
  for (Observer* observer : of(Event::bytes)) observer->on_bytes(kind, flow, count);
}

void Observers::on_refused(Refusal refusal) {
  for (Observer* observer : of(Event::refused)) observer->on_refused(refusal);
}

void Observers::on_handshake_failed(HandshakeFailure failure) {
  for (Observer* observer : of(Event::handshake_failed)) observer->on_handshake_failed(failure);
}

void Observers::on_keys_fetched(FetchOutcome outcome) {
  for (Observer* observer : of(Event::keys_fetched)) observer->on_keys_fetched(outcome);
}

}  // namespace stdgate

#include "metrics/observers.h"

namespace stdgate {

void Observers::add(Observer& observer) {
  add_for_calls(observer);
  for_the_rest_.push_back(&observer);
}

void Observers::add_for_calls(Observer& observer) {
  all_.push_back(&observer);
  for_calls_.push_back(&observer);
}

void Observers::add_for_messages(Observer& observer) {
  all_.push_back(&observer);
  for_messages_.push_back(&observer);
}

void Observers::on_backend(BackendId backend, std::string_view name) {
  for (Observer* observer : all_) observer->on_backend(backend, name);
}

void Observers::on_method(BackendId backend, MethodId method, std::string_view name) {
  for (Observer* observer : for_the_rest_) observer->on_method(backend, method, name);
}

void Observers::on_tool(BackendId backend, ToolId tool, std::string_view name) {
  for (Observer* observer : for_the_rest_) observer->on_tool(backend, tool, name);
}

void Observers::on_call_started(BackendId backend) {
  for (Observer* observer : for_the_rest_) observer->on_call_started(backend);
}

void Observers::on_call_finished(const CallRecord& call) {
  for (Observer* observer : for_calls_) observer->on_call_finished(call);
}

void Observers::on_message(BackendId backend, Direction direction,
                           std::span<const std::string_view> parts) {
  for (Observer* observer : for_messages_) observer->on_message(backend, direction, parts);
}

void Observers::on_notification(BackendId backend, MethodId method, Direction direction) {
  for (Observer* observer : for_the_rest_) observer->on_notification(backend, method, direction);
}

void Observers::on_dropped(BackendId backend, DropReason reason) {
  for (Observer* observer : for_the_rest_) observer->on_dropped(backend, reason);
}

void Observers::on_child_state(BackendId backend, ChildState from, ChildState to) {
  for (Observer* observer : for_the_rest_) observer->on_child_state(backend, from, to);
}

void Observers::on_child_started(BackendId backend, StartReason reason) {
  for (Observer* observer : for_the_rest_) observer->on_child_started(backend, reason);
}

void Observers::on_child_ready(BackendId backend, Duration since_start) {
  for (Observer* observer : for_the_rest_) observer->on_child_ready(backend, since_start);
}

void Observers::on_child_exited(BackendId backend, ExitReason reason) {
  for (Observer* observer : for_the_rest_) observer->on_child_exited(backend, reason);
}

void Observers::on_session_opened(BackendId backend) {
  for (Observer* observer : for_the_rest_) observer->on_session_opened(backend);
}

void Observers::on_session_closed(BackendId backend) {
  for (Observer* observer : for_the_rest_) observer->on_session_closed(backend);
}

void Observers::on_connection_opened(Transport transport) {
  for (Observer* observer : for_the_rest_) observer->on_connection_opened(transport);
}

void Observers::on_connection_closed(Transport transport) {
  for (Observer* observer : for_the_rest_) observer->on_connection_closed(transport);
}

void Observers::on_bytes(Transport transport, Flow flow, size_t count) {
  for (Observer* observer : for_the_rest_) observer->on_bytes(transport, flow, count);
}

}  // namespace stdgate

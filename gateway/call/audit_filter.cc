#include "gateway/call/audit_filter.h"

#include <utility>

#include "gateway/rpc/json_text.h"

namespace stdgate::call {

namespace {

std::string_view word_of(policy::ElementKind kind) {
  switch (kind) {
    case policy::ElementKind::tool:
      return "tool";
    case policy::ElementKind::resource:
      return "resource";
    case policy::ElementKind::prompt:
      return "prompt";
    case policy::ElementKind::none:
      break;
  }
  return {};
}

}  // namespace

void AuditFilter::Notes::clear() {
  is_covered = false;
  clear_text(text);
}

void AuditFilter::describe(const rpc::Envelope& message, std::string_view method,
                           const CallContext& context, bool is_covered, std::string& text) {
  AuditedCall about;
  about.client.principal = context.principal;
  if (context.client != nullptr) about.client.address = *context.client;
  // If readers could understand the element differently, the line has no name for it.
  if (const auto element = services_.protocol.used_element(message, method)) {
    about.element = word_of(element->kind);
    about.name = rpc::decode_string(element->name, name_);
  }
  about.params = message.params;
  std::string session;
  about.of_session =
      rpc::decode_string(services_.protocol.particulars(message, method).session, session);
  audit_.describe_call(about, is_covered, text);
}

void AuditFilter::note(Call& call, const rpc::Envelope& message, std::string_view method,
                       const CallContext& context, bool is_covered) {
  Notes& notes = notes_.of(call.slots);
  notes.is_covered = is_covered;
  describe(message, method, context, is_covered, notes.text);
}

void AuditFilter::on_begin(Call& call, const Arrival& arrival) {
  if (!arrival.is_refused) return;
  if (arrival.message == nullptr) return note(call, {}, {}, arrival.context, false);
  note(call, *arrival.message, arrival.method, arrival.context, audit_.covers(arrival.method));
}

void AuditFilter::on_request(CallPtr& call, const Request& request) {
  if (request.context.is_own) return;
  const bool is_covered = audit_.covers(request.method);
  note(*call, request.message, request.method, request.context, is_covered);
  if (is_covered && !audit_.can_record()) {
    chain_.on_fault(std::move(call), rpc::faults::unrecorded());
  }
}

Passage AuditFilter::on_notification(const Notification& notification) {
  // Messages that keep a session alive are not actions of a client.
  const bool is_to_record =
      !services_.protocol.is_lifecycle(notification.method) && audit_.covers(notification.method);
  return is_to_record && !audit_.can_record() ? Passage::refused : Passage::open;
}

void AuditFilter::on_notification_judged(const Notification& notification, Passage passage) {
  const std::string_view method = notification.method;
  if (passage == Passage::refused || services_.protocol.is_lifecycle(method)) return;
  const bool is_covered = audit_.covers(method);
  const bool is_denied = passage == Passage::denied;
  if (!is_covered && !is_denied) return;
  const CallContext& context = notification.context;
  describe(notification.message, method, context, is_covered, text_);
  CallRecord record;
  record.method_name = method;
  record.transport = context.transport;
  record.outcome = is_denied ? Outcome::of(rpc::Fault::denied) : Outcome::ok();
  record.connection = context.connection;
  record.session = notification.session;
  if (context.trace != nullptr && !context.trace->is_none()) record.trace = context.trace;
  audit_.record_notification(services_.config.name, record, is_covered, text_);
}

void AuditFilter::on_end(const Call& call, End& end) {
  if (end.record == nullptr) return;
  const Notes* const notes = notes_.find(call.slots);
  const bool is_covered = notes != nullptr && notes->is_covered;
  const std::string_view text = notes == nullptr ? std::string_view() : notes->text;
  const bool is_recorded = audit_.record_call(services_.config.name, *end.record, is_covered, text);
  if (!is_recorded && end.reply != nullptr) withhold(call, end);
}

// An answer must not go out if its line could not be written.
void AuditFilter::withhold(const Call& call, End& end) {
  const rpc::FaultReport report = rpc::faults::unrecorded();
  fault_.clear();
  rpc::append_fault_response(fault_, call.id, report, services_.protocol.codes(), false);
  withheld_ = {};
  withheld_.head = fault_;
  withheld_.fault = report.fault;
  withheld_.retry_after = report.retry_after;
  end.record->outcome = Outcome::of(report.fault);
  end.reply = &withheld_;
}

}  // namespace stdgate::call

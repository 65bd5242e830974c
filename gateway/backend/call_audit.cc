#include "gateway/backend/call_audit.h"

#include "gateway/rpc/json_string.h"

namespace stdgate::backend {

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

void CallAudit::describe(const rpc::Envelope& message, std::string_view method,
                         const call::CallContext& context, bool is_covered, std::string& notes) {
  AuditedCall about;
  about.client.principal = context.principal;
  if (context.client != nullptr) about.client.address = *context.client;
  // What readers could take for different elements has no name here.
  if (const auto element = dialect_.used_element(message, method)) {
    about.element = word_of(element->kind);
    about.name = rpc::decode_string(element->name, name_);
  }
  about.params = message.params;
  audit_->describe_call(about, is_covered, notes);
}

bool CallAudit::begin(const rpc::Envelope& request, std::string_view method,
                      const call::CallContext& context, call::Call& call) {
  if (audit_ == nullptr) return true;
  call.is_audited = audit_->covers(method);
  describe(request, method, context, call.is_audited, call.audit_notes);
  return !call.is_audited || audit_->can_record();
}

void CallAudit::note_client(const call::CallContext& context, call::Call& call) {
  if (audit_ != nullptr) describe({}, {}, context, false, call.audit_notes);
}

bool CallAudit::pass(const rpc::Envelope& notification, std::string_view method,
                     const call::CallContext& context, const session::Session* session,
                     bool is_denied) {
  // What a session needs to live is nothing that somebody does.
  if (audit_ == nullptr || dialect_.is_lifecycle(method)) return true;
  const bool is_covered = audit_->covers(method);
  if (!is_covered && !is_denied) return true;
  if (is_covered && !audit_->can_record()) return false;
  describe(notification, method, context, is_covered, notes_);
  CallRecord record;
  record.method_name = method;
  record.transport = context.transport;
  record.outcome = is_denied ? Outcome::of(rpc::Fault::denied) : Outcome::ok();
  record.connection = context.connection;
  if (session != nullptr) record.session = session->name;
  if (context.trace != nullptr && !context.trace->is_none()) record.trace = context.trace;
  audit_->record_notification(backend_, record, is_covered, notes_);
  return true;
}

const session::Reply* CallAudit::withhold(const call::Call& call, CallRecord& record) {
  const rpc::FaultReport report = rpc::faults::unrecorded();
  fault_.clear();
  rpc::append_fault_response(fault_, call.id, report, dialect_.codes(), false);
  withheld_ = {};
  withheld_.head = fault_;
  withheld_.fault = report.fault;
  withheld_.retry_after = report.retry_after;
  record.outcome = Outcome::of(report.fault);
  return &withheld_;
}

}  // namespace stdgate::backend

#include "gateway/backend/call_record.h"

namespace stdgate::backend {

void note_context(const call::CallContext& context, call::Call& call) {
  call.caller = context.caller;
  call.session = context.session;
  call.tag = context.tag;
  call.transport = context.transport;
  call.client_era = context.era;
  if (context.client != nullptr) call.origin = *context.client;
  call.wants_events = context.wants_events;
  call.is_own = context.is_own;
  call.connection = context.connection;
  if (context.trace != nullptr) call.trace = *context.trace;
  if (context.principal != nullptr) call.principal = context.principal->name;
  call.arrived = context.arrived;
}

CallRecord record_of(const call::Call& call, TimePoint now) {
  CallRecord record;
  record.method = call.method;
  record.tool = call.tool;
  record.transport = call.transport;
  record.client_era = call.client_era;
  record.child_era = call.child_era;
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
  record.trace = call.trace.is_none() ? nullptr : &call.trace;
  record.span = call.span;
  record.bytes_in = call.bytes_in;
  return record;
}

}  // namespace stdgate::backend

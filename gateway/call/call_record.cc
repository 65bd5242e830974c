#include "gateway/call/call_record.h"

namespace stdgate::call {

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

}  // namespace stdgate::call

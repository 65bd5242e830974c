#include "gateway/backend/call_record.h"

namespace stdgate::backend {

CallRecord record_of(const pool::Call& call, TimePoint now) {
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
  record.principal = call.principal;
  record.trace = call.trace.is_none() ? nullptr : &call.trace;
  record.span = call.span;
  record.bytes_in = call.bytes_in;
  return record;
}

}  // namespace stdgate::backend

#include "transports/http/mcp_answers.h"

#include <string>

#include "transports/http/fault_response.h"

namespace stdgate {

CallContext context_of(const Exchange& exchange, const McpSessions& sessions) {
  CallContext context;
  context.transport = Transport::http;
  context.connection = exchange.client->connection_number();
  context.trace_id = exchange.trace_id;
  context.arrived = sessions.clock().now();
  return context;
}

void refuse_call(Exchange& exchange, McpSessions& sessions, const FaultReport& report,
                 std::string_view id) {
  Backend& backend = sessions.backend();
  backend.count_refused(report, id, context_of(exchange, sessions));
  std::string text;
  append_fault_response(text, id, report, backend.codes(), false);
  const std::string_view body = text;
  Response response = fault_response(report.fault, report.retry_after);
  response.content_type = kJsonType;
  response.body = {&body, 1};
  exchange.client->respond(response);
}

}  // namespace stdgate

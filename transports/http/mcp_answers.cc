#include "transports/http/mcp_answers.h"

#include <string>

#include "transports/http/endpoint.h"
#include "transports/http/fault_response.h"

namespace stdgate::http {

call::CallContext context_of(const Exchange& exchange, const mcp::McpSessions& sessions) {
  call::CallContext context;
  context.transport = exchange.endpoint->transport();
  context.era = Era::legacy;
  context.connection = exchange.client->connection_number();
  context.trace = &exchange.trace;
  context.client = &exchange.client->client_address();
  context.principal = exchange.identity.principal.get();
  context.account = exchange.client->payer().account;
  context.arrived = sessions.clock().now();
  return context;
}

policy::Client client_of(const Exchange& exchange) {
  return {exchange.client->client_address(), exchange.identity.principal,
          AccountRef(exchange.client->payer().account)};
}

void refuse_call(Exchange& exchange, mcp::McpSessions& sessions, const rpc::FaultReport& report,
                 std::string_view id) {
  backend::Upstream& backend = sessions.backend();
  backend.count_refused(report, id, context_of(exchange, sessions));
  const std::string text = fault_body(id, report, backend.codes());
  const std::string_view body = text;
  Response response = fault_response(report.fault, report.retry_after);
  response.content_type = kJsonType;
  response.body = {&body, 1};
  exchange.client->respond(response);
}

}  // namespace stdgate::http

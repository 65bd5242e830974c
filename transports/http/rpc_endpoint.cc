#include "transports/http/rpc_endpoint.h"

#include "gateway/rpc/json_string.h"
#include "transports/http/field_value.h"
#include "transports/http/request_head.h"
#include "transports/http/rpc_exchange.h"

namespace stdgate::http {

namespace {

constexpr HttpError kNoCalledMethod{400, "the query parameter method is missing"};
constexpr HttpError kBadParams{400, "the query parameter params is not one JSON array or object"};

}  // namespace

RpcEndpoint::RpcEndpoint(backend::Upstream& upstream, const config::LimitsConfig& limits)
    : Endpoint(upstream.held()),
      upstream_(upstream),
      limits_(limits),
      parser_(upstream.envelope_limits()) {}

std::optional<HttpError> RpcEndpoint::admit(Exchange& exchange) {
  const RequestHead& head = exchange.head;
  if (const auto error = check_json_body(head)) return error;
  exchange.wants_events = Acceptance::of(head).prefers_event_stream();
  return std::nullopt;
}

void RpcEndpoint::serve(Exchange& exchange, std::span<char> body) {
  exchange.handler<RpcExchange>().start({upstream_, parser_, limits_.message}, body,
                                        exchange.wants_events, exchange);
}

void RpcEndpoint::refuse(Exchange& exchange, const rpc::FaultReport& report) {
  exchange.handler<RpcExchange>().refuse(upstream_, report, exchange);
}

StreamEndpoint::StreamEndpoint(backend::Upstream& upstream, const config::LimitsConfig& limits)
    : Endpoint(upstream.held()),
      upstream_(upstream),
      limits_(limits),
      parser_(upstream.envelope_limits()) {}

std::optional<HttpError> StreamEndpoint::admit(Exchange& exchange) {
  const RequestHead& head = exchange.head;
  if (!Acceptance::of(head).lists_event_stream()) return kNotStream;
  const auto method = query_parameter(head.query(), "method");
  if (!method || method->empty()) return kNoCalledMethod;
  return std::nullopt;
}

void StreamEndpoint::serve(Exchange& exchange, std::span<char> /*body*/) {
  if (exchange.is_head_request()) {  // asks what it would get, not for the call
    exchange.begin_stream({.backend = upstream_.id()});
    return exchange.end_stream(StreamEnd::done_event);
  }
  const std::string_view query = exchange.head.query();
  const auto params = query_parameter(query, "params");
  const std::string id = id_of(query);
  request_ = R"({"jsonrpc":"2.0","id":)";
  request_ += id;
  request_ += R"(,"method":)";
  rpc::append_json_string(request_, *query_parameter(query, "method"));
  if (params) {
    // Checked alone first: params that close the object early could add members to the request.
    const std::string alone = R"({"jsonrpc":"2.0","id":1,"method":"m","params":)" + *params + '}';
    if (!fits(alone, *params, &rpc::Envelope::params)) return exchange.fail(kBadParams);
    request_ += R"(,"params":)";
    request_ += *params;
  }
  request_ += '}';
  exchange.handler<RpcExchange>().start({upstream_, parser_, limits_.message},
                                        {request_.data(), request_.size()}, true, exchange);
}

bool StreamEndpoint::fits(std::string_view request, std::string_view text,
                          std::string_view rpc::Envelope::*member) {
  std::string copy(request);
  const auto document = parser_.parse({copy.data(), copy.size()});
  if (!document || document->batch || !document->messages[0].ok()) return false;
  const rpc::Envelope& envelope = document->messages[0].envelope;
  // White space around a value is not part of it, nor is it of another one.
  const size_t first = text.find_first_not_of(" \t\r\n");
  const size_t last = text.find_last_not_of(" \t\r\n");
  return envelope.kind == rpc::MessageKind::request && first != std::string_view::npos &&
         (envelope.*member).size() == last - first + 1;
}

std::string StreamEndpoint::id_of(std::string_view query) {
  const auto id = query_parameter(query, "id");
  if (!id) return "1";
  if (fits(R"({"jsonrpc":"2.0","id":)" + *id + R"(,"method":"m"})", *id, &rpc::Envelope::id))
    return *id;
  std::string quoted;
  rpc::append_json_string(quoted, *id);
  return quoted;
}

void add_rpc_routes(Router& router, const backend::Upstreams& backends,
                    const config::LimitsConfig& limits) {
  for_each_backend_path(backends, [&](const std::string& prefix, backend::Upstream& upstream) {
    if (config::row_of(upstream.protocol()).serves_sessions_alone)
      return;  // its children serve one client each
    const std::string about = "JSON-RPC 2.0 to " + upstream.name();
    router.add(prefix + "/rpc", about, std::make_unique<RpcEndpoint>(upstream, limits),
               Guards{.deliberate_get = false});  // there is no GET
    router.add(prefix + "/rpc/stream", about + ", answered as an event stream",
               std::make_unique<StreamEndpoint>(upstream, limits), Guards{.takes_tickets = true});
  });
}

}  // namespace stdgate::http

#include "transports/http/request_routing.h"

#include <string>

#include "transports/http/cors.h"
#include "transports/http/endpoint.h"
#include "transports/http/fault_response.h"
#include "transports/http/field_value.h"
#include "transports/http/json_body.h"
#include "transports/http/url.h"

namespace stdgate::http {

namespace {

void read_trace(const RequestHead& head, TraceContext& trace) {
  const HeaderField* const parent = head.find("traceparent");
  if (parent == nullptr || !trace.read(parent->value)) return;
  for (const HeaderField& field : head.fields()) {
    if (equals_ignoring_case(field.name, "tracestate")) trace.add_state(field.value);
  }
}

}  // namespace

bool RequestRouting::judge(Exchange& exchange, const ConnectionTraits& traits) const {
  exchange.forget_judgement();
  const AdmissionPolicy& policy = router_.policy();
  exchange.key = policy.key(traits);
  const RequestHead& head = exchange.head;
  exchange.http_1_0 = head.http_1_0();
  exchange.head_only = head.method() == Method::head;
  read_trace(head, exchange.trace);
  if (router_.shares_answers()) {
    append_cors_fields(exchange.cors_fields, cors_origin(head, policy.rules(), traits));
  }
  exchange.admitted = route(exchange, traits);
  return exchange.admitted;
}

bool RequestRouting::route(Exchange& exchange, const ConnectionTraits& traits) const {
  Responder& client = *exchange.client;
  const auto fail = [&client](const HttpError& error) {
    client.fail(error);
    return false;
  };
  const RequestHead& head = exchange.head;
  std::string scratch;
  const Route* route = router_.find(percent_decode(head.path(), scratch));
  if (route != nullptr) exchange.endpoint = route->endpoint.get();
  const Guards guards = route != nullptr ? route->guards : Guards::reading();
  if (const auto denial = router_.policy().judge(head, traits, guards)) {
    return fail({.status = 403, .message = denial->message, .refusal = denial->reason});
  }
  if (head.path() == "*") {
    client.respond({.status = 204, .allow = kAllowAll});
    return false;
  }
  if (route == nullptr) {
    refuse(exchange, {.status = 404,
                      .message = "nothing is served at this path",
                      .more_members = router_.paths_member()});
    return false;
  }
  Endpoint* endpoint = exchange.endpoint;
  const AllowedMethods allowed = endpoint->allowed_methods();
  if (head.method() == Method::options) {
    answer_options(exchange, allow_value(allowed));
    return false;
  }
  if (!is_allowed(head.method(), allowed)) {
    refuse(exchange, {405,
                      allowed == AllowedMethods::post ? "this method is not allowed here; use POST"
                                                      : "this method is not allowed here",
                      allow_value(allowed)});
    return false;
  }
  if (head.method() != Method::post && head.body_kind() != BodyKind::none) {
    return fail({400, "a body has no meaning here"});
  }
  const auto error = endpoint->admit(exchange);
  return error ? fail(*error) : true;
}

void RequestRouting::answer_options(const Exchange& exchange, std::string_view methods) {
  std::string fields;
  if (!exchange.cors_fields.empty() && is_preflight(exchange.head)) {
    append_preflight_fields(fields, methods);
  }
  exchange.client->respond({.status = 204, .allow = methods, .more_fields = fields});
}

// A POST to the wrong path is answered with the right paths: as a JSON-RPC error if its body is
// JSON.
void RequestRouting::refuse(const Exchange& exchange, const HttpError& error) const {
  const RequestHead& head = exchange.head;
  Responder& client = *exchange.client;
  if (head.method() != Method::post) return client.fail(error);
  rpc::FaultReport report = rpc::faults::plain(rpc::Fault::invalid_request);
  report.message.append(error.message).append(router_.post_hint());
  HttpError hint = error;
  hint.message = report.message;
  if (check_json_body(head)) return client.fail(hint);
  const std::string text = fault_body({}, report, rpc::CodeSet::plain);
  const std::string_view body = text;
  client.respond({.status = error.status,
                  .content_type = kJsonType,
                  .allow = error.allow,
                  .body = {&body, 1},
                  .refusal = RefusalNote{refusal_of(error), error.message}});
}

}  // namespace stdgate::http

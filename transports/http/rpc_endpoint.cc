#include "transports/http/rpc_endpoint.h"

#include <array>
#include <utility>

#include "gateway/backend/upstream.h"
#include "gateway/mcp/modern_request.h"
#include "gateway/rpc/json_text.h"
#include "gateway/rpc/message_text.h"
#include "transports/http/field_value.h"
#include "transports/http/request_head.h"
#include "transports/http/response.h"
#include "transports/http/router.h"
#include "transports/http/server.h"

namespace stdgate::http {
namespace {

constexpr HttpError kTooManyClients{503, "too many clients", {}, rpc::kRetryHint};

constexpr HttpError kNoCalledMethod{400,
                                    "the query parameter method is missing; write ?method=NAME"};
constexpr HttpError kQuotedMethod{400,
                                  "the query parameter method is no JSON; write it without quotes"};
constexpr HttpError kBadParams{
    400,
    "the query parameter params is not one JSON array or object; write params=[1] or "
    "params={\"name\":1}, URL-encoded, or leave it out"};
constexpr HttpError kBadId{400,
                           "the query parameter id is neither a number nor a text; write id=1 or "
                           "id=NAME, or leave it out"};
constexpr HttpError kTwiceInQuery{
    400, "method, params or id is there twice in the query; write it once"};

}  // namespace

void RpcExchange::start(const Route& route, std::span<char> text, bool wants_events,
                        Exchange& exchange) {
  const auto document = route.parser.parse(text);
  if (!document) {
    return refuse(route.upstream, rpc::report_of(document.error()), text.size(), exchange);
  }
  start(route, *document, wants_events, exchange);
}

void RpcExchange::start(const Route& route, const rpc::Document& document, bool wants_events,
                        Exchange& exchange) {
  auto context = begin(exchange);
  if (!context) return;
  backend_ = route.upstream.id();
  events_ = context->wants_events = wants_events;
  modern_ = route.is_modern;
  omits_version_ = document.omits_version;
  if (modern_) {
    context->peer_kind = PeerKind::stateless;
    context->mirrored = route.mirrored;
    context->params = route.params;
    exchange.may_stream({.backend = backend_});
  }
  answers_.begin_messages(route.upstream.codes(), route.answer_limit);
  hand_over(route.upstream, document, *context);
}

void RpcExchange::refuse(backend::Upstream& upstream, const rpc::FaultReport& report, size_t bytes,
                         Exchange& exchange) {
  const auto context = begin(exchange);
  if (!context) return;
  answers_.expect();
  upstream.refuse(report, {.bytes = bytes}, *context);
}

std::optional<call::CallContext> RpcExchange::begin(Exchange& exchange) {
  if (caller_.is_none() && !caller_.take(exchange.server().services().callers, *this)) {
    exchange.fail(kTooManyClients);
    return std::nullopt;
  }
  exchange_ = &exchange;
  ++number_;
  call::CallContext context = exchange.call_context();
  context.caller = caller_.caller();
  context.tag = session::Tag{number_} << 32;
  return context;
}

void RpcExchange::hand_over(backend::Upstream& upstream, const rpc::Document& document,
                            const call::CallContext& context) {
  batch_ = document.batch;
  if (batch_) answers_.set_payer(exchange_->payer());
  const auto expect = [this](const rpc::ParsedMessage&, const call::CallContext&) {
    answers_.expect();
  };
  const auto leave_out = [this] { answers_.leave_out(); };
  refused_ =
      !backend::dispatch(upstream, document, context, backend::Tags::one_each, expect, leave_out);
  answers_.end_messages();
  finish_dispatch();
}

void RpcExchange::finish_dispatch() {
  if (exchange_ == nullptr) return;  // a single request that has been answered
  if (answers_.complete()) return finish();
  if (events_ && !modern_) begin_stream();
}

void RpcExchange::on_reply(session::Tag tag, const session::Reply& reply) {
  if (!is_of(tag)) return;
  // Until the stream has begun a refusal can still have its own HTTP status.
  const bool refused_at_once = answers_.handing_over() && reply.fault.has_value();
  const bool is_single = modern_ ? !exchange_->is_streaming() : !events_ || refused_at_once;
  if (!batch_ && is_single) {
    answers_.leave_out();
    return respond_single(reply);
  }
  if (events_) {
    answers_.leave_out();
    const std::array parts{reply.head, reply.id, reply.tail};
    write_event(parts);
  } else {
    answers_.add(reply);
  }
  if (answers_.complete()) finish();
}

void RpcExchange::on_event(session::Tag tag, std::string_view notification) {
  if (!events_ || !is_of(tag)) return;
  write_event({&notification, 1});
}

// Only another message of the same batch can cancel a call here.
void RpcExchange::on_cancelled(session::Tag tag) {
  if (!is_of(tag)) return;
  answers_.leave_out();
  if (answers_.complete()) finish();
}

void RpcExchange::begin_stream() {
  if (!exchange_->is_streaming()) exchange_->begin_stream({.backend = backend_});
}

void RpcExchange::write_event(std::span<const std::string_view> parts) {
  begin_stream();
  if (!omits_version_) return exchange_->write_event({.data = parts});
  const std::string text = rpc::without_version(parts);
  const std::string_view data = text;
  exchange_->write_event({.data = {&data, 1}});
}

void RpcExchange::respond_single(const session::Reply& reply) {
  // The answer of a child stays as it is; our own words end like any text for a terminal.
  const std::string_view line_end = reply.fault ? "\n" : "";
  std::array body{reply.head, reply.id, reply.tail, line_end};
  std::string text;
  if (omits_version_) {
    text = rpc::without_version(body);
    body = {text, {}, {}, {}};
  }
  Response response;
  std::string challenge;
  if (!reply.scope.empty()) {
    response.status = rpc::fault_http_status(rpc::Fault::insufficient_scope);
    challenge = exchange_->scope_challenge(reply.scope);
    response.more_fields = challenge;
  } else if (modern_) {
    // Other faults have status 200, as at /mcp in general.
    response.status = reply.error_code ? mcp::modern_status(*reply.error_code) : 200;
  } else if (reply.fault) {
    response = fault_response(*reply.fault, reply.retry_after);
  }
  response.content_type = kJsonType;
  response.body = body;
  std::exchange(exchange_, nullptr)->respond(response);
}

// All messages have been handed over and all requests answered.
void RpcExchange::finish() {
  Exchange& exchange = *std::exchange(exchange_, nullptr);
  if (exchange.is_streaming())
    return exchange.end_stream(modern_ ? StreamEnd::bare : StreamEnd::done_event);
  Response response;
  if (answers_.empty()) {
    response.status = modern_ ? 202 : 204;
    if (refused_) response = fault_response(rpc::Fault::overloaded, Duration::zero());
    return exchange.respond(response);
  }
  std::string_view body = answers_.close();
  std::string text;
  if (omits_version_) body = text = rpc::without_version({&body, 1});
  response.content_type = kJsonType;
  response.body = {&body, 1};
  exchange.respond(response);
}

void RpcExchange::on_gone() {
  if (answers_.due() > 0) {
    exchange_->server().services().backends.cancel_calls_of(caller_.caller());
  }
  rest();
}

void RpcExchange::rest() {
  exchange_ = nullptr;
  answers_.clear();
  batch_ = events_ = modern_ = refused_ = omits_version_ = false;
}

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
  exchange.handler<RpcExchange>().refuse(upstream_, report, 0, exchange);
}

StreamEndpoint::StreamEndpoint(backend::Upstream& upstream, const config::LimitsConfig& limits)
    : Endpoint(upstream.held()),
      upstream_(upstream),
      limits_(limits),
      parser_(upstream.envelope_limits()) {}

std::optional<HttpError> StreamEndpoint::admit(Exchange& exchange) {
  const RequestHead& head = exchange.head;
  if (!Acceptance::of(head).lists_event_stream()) return kNotStream;
  const std::string_view query = head.query();
  const auto method = query_parameter(query, "method");
  if (!method || method->empty()) return kNoCalledMethod;
  if (method->size() > 1 && method->front() == '"' && method->back() == '"') return kQuotedMethod;
  for (const std::string_view name : {"method", "params", "id"}) {
    if (count_parameters(query, name) > 1) return kTwiceInQuery;
  }
  return std::nullopt;
}

void StreamEndpoint::serve(Exchange& exchange, std::span<char> /*body*/) {
  if (exchange.is_head_request()) {  // asks what it would get, not for the call
    exchange.begin_stream({.backend = upstream_.id()});
    return exchange.end_stream(StreamEnd::done_event);
  }
  const std::string_view query = exchange.head.query();
  const auto params = query_parameter(query, "params");
  // Checked alone first: params that close the object early could add members to the request.
  if (params && !fits(rpc::request_text(1, "m", *params), *params, &rpc::Envelope::params)) {
    return exchange.fail(kBadParams);
  }
  const auto id = id_of(query);
  if (!id) return exchange.fail(kBadId);
  request_ = rpc::request_text(*id, *query_parameter(query, "method"), params.value_or(""));
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

std::optional<std::string> StreamEndpoint::id_of(std::string_view query) {
  auto id = query_parameter(query, "id");
  if (!id) return "1";
  if (fits(rpc::request_text(*id, "m"), *id, &rpc::Envelope::id)) return id;
  if (id->find_first_of("\"{[") == 0) return std::nullopt;
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

#include "transports/http/request_routing.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "gateway/rpc/json_text.h"
#include "transports/http/admission.h"
#include "transports/http/auth_endpoints.h"
#include "transports/http/authentication.h"
#include "transports/http/field_value.h"
#include "transports/http/request_head.h"
#include "transports/http/response.h"
#include "transports/http/router.h"

namespace stdgate::http {

namespace {

// Browsers and crawlers ask for them by themselves, so asking is no mistake.
constexpr std::array<std::string_view, 2> kAskedUnasked = {"/favicon.ico", "/robots.txt"};
// Its script can send no header field with a WebSocket (docs/authentication.md).
constexpr std::string_view kPageHint =
    "; a page in a browser offers the subprotocol stdgate.bearer. with the credential in base64url "
    "behind it, or connects with ?ticket= from POST /ticket";

// `resource` is what a ticket is asked for.
Sender sender_of(const Exchange& exchange, std::string_view resource = {}) {
  Sender sender{exchange.head, exchange.traits, exchange.certificate_identity(), resource};
  const bool takes_ticket = exchange.guards.takes_tickets && exchange.head.method() == Method::get;
  if (takes_ticket) sender.ticket = shown_ticket(exchange.head.query());
  return sender;
}

bool is_handshake(const RequestHead& head) {
  const HeaderField* const upgrade = head.find("upgrade");
  return upgrade != nullptr && equals_ignoring_case(upgrade->value, "websocket");
}

Baggage read_baggage(const RequestHead& head) {
  constexpr std::string_view kName = "baggage";
  if (head.find(kName) == nullptr) return {};
  std::string text;
  for (const HeaderField& field : head.fields()) {
    if (!equals_ignoring_case(field.name, kName)) continue;
    text.append(text.empty() ? "" : ",").append(field.value);
  }
  return Baggage(std::move(text));
}

// `trace` has been cleared.
void read_trace(const RequestHead& head, TraceContext& trace) {
  const HeaderField* const parent = head.find("traceparent");
  if (parent != nullptr && trace.read(parent->value)) {
    for (const HeaderField& field : head.fields()) {
      if (equals_ignoring_case(field.name, "tracestate")) trace.add_state(field.value);
    }
  }
  trace.baggage = read_baggage(head);
}

// Both give false: the request has been answered.
bool answer(Exchange& exchange, const Response& response) {
  exchange.respond(response);
  return false;
}
bool fail(Exchange& exchange, const HttpError& error) {
  exchange.fail(error);
  return false;
}

// By the path alone, whether it is served or not: who calls is not known.
rpc::CodeSet codes_at(std::string_view path) {
  const std::string_view last = path.substr(path.rfind('/') + 1);
  const bool is_mcp = last == "mcp" || last == "sse" || last == "messages";
  return is_mcp ? rpc::CodeSet::mcp : rpc::CodeSet::plain;
}

}  // namespace

bool RequestRouting::judge(Exchange& exchange) const {
  exchange.forget_judgement();
  const AdmissionPolicy& policy = router_.policy();
  exchange.epoch = policy.epoch();
  const RequestHead& head = exchange.head;
  read_trace(head, exchange.trace);
  if (router_.shares_answers()) {
    append_cors_fields(exchange.cors_fields, cors_origin(head, policy.rules(), exchange.traits));
  }
  exchange.admitted = route(exchange);
  return exchange.admitted;
}

// Null: nothing is served there, or not to this client.
const Route* RequestRouting::find_route(Exchange& exchange) const {
  std::string scratch;
  const RequestHead& head = exchange.head;
  const std::string_view path = percent_decode(head.path(), scratch);
  const Route* const route = router_.find(path);
  if (route == nullptr) {
    // A preflight does not say what it is for.
    const Route* const leaving = router_.leaving(path);
    const bool is_meant =
        leaving != nullptr && (is_preflight(head) || leaving->endpoint->continues(head));
    return is_meant ? leaving : nullptr;
  }
  const bool is_hidden =
      route->guards.audience == RouteAudience::operators && !is_operator(exchange);
  return is_hidden ? nullptr : route;
}

// Everybody on this machine is, and of others only who has a role for it.
bool RequestRouting::is_operator(Exchange& exchange) const {
  if (exchange.traits.reach != ConnectionTraits::Reach::network) return true;
  const Authentication& authentication = router_.policy().authentication();
  if (exchange.identity.principal != nullptr) {
    return authentication.is_operator(exchange.identity.principal.get());
  }
  if (!exchange.found) exchange.found = authentication.identify(sender_of(exchange));
  const auto& sender = *exchange.found;
  return sender && authentication.is_operator(sender->principal.get());
}

// The head is known, its sender is not: that may be another one, or his credential may have
// expired.
bool RequestRouting::identify_again(Exchange& exchange) const {
  switch (exchange.guards.audience) {
    case RouteAudience::everyone:
      return true;
    case RouteAudience::clients:
      return know_again(exchange) || identify(exchange);
    case RouteAudience::operators:
      break;
  }
  return is_operator(exchange) || judge(exchange);
}

// He has sent this head before, and what it shows is still good.
bool RequestRouting::know_again(Exchange& exchange) const {
  const Authentication& authentication = router_.policy().authentication();
  const bool holds = exchange.identity_revision != 0 &&
                     exchange.identity_revision == authentication.revision() &&
                     authentication.now() < exchange.identity.expires;
  if (holds) return true;
  exchange.identity = {};
  exchange.identity_revision = 0;
  return false;
}

// The metadata of the requested path, if it has its own, else the common one.
std::string RequestRouting::metadata_url(std::string_view path) const {
  std::string place(kResourceMetadata);
  if (router_.find(place) == nullptr) return {};
  place += path;
  return router_.policy().authentication().public_url() +
         (router_.find(place) != nullptr ? place : std::string(kResourceMetadata));
}

std::string RequestRouting::scope_challenge(const RequestHead& head, std::string_view scope) const {
  constexpr std::string_view kMore = "this needs a token with more scopes";
  return challenge_field({403, kMore, "insufficient_scope"}, scope, metadata_url(head.path()));
}

bool RequestRouting::identify(Exchange& exchange) const {
  const std::string resource =
      exchange.guards.gives_tickets ? ticket_path(exchange.head) : std::string();
  const Authentication& authentication = router_.policy().authentication();
  auto identity = exchange.found ? *std::exchange(exchange.found, std::nullopt)
                                 : authentication.identify(sender_of(exchange, resource));
  if (identity) {
    exchange.identity = *std::move(identity);
    exchange.identity_revision = router_.policy().authentication().revision_of(exchange.identity);
    return true;
  }
  refuse_identity(exchange, identity.error());
  return false;
}

void RequestRouting::serve(Exchange& exchange, std::span<char> body) const {
  const auto checked = Authentication::check_body(exchange.head, exchange.identity, body);
  if (!checked) return refuse_identity(exchange, checked.error());
  exchange.endpoint->serve(exchange, body);
}

// As a JSON-RPC error if a message was sent.
void RequestRouting::refuse_identity(Exchange& exchange, const IdentityError& why) const {
  const bool is_undecided = why.status == 503;
  const std::string& scope = router_.policy().authentication().scope();
  const std::string challenge =
      is_undecided ? "" : challenge_field(why, scope, metadata_url(exchange.head.path()));
  std::string message(why.message);
  if (why.status == 401 && why.code.empty() && is_handshake(exchange.head)) message += kPageHint;
  // Forged tokens are no overload, though keys that they name are looked for.
  const HttpError error{.status = why.status,
                        .message = message,
                        .retry_after = is_undecided ? rpc::kRetryHint : Duration::zero(),
                        .more_fields = challenge,
                        .refusal = is_undecided ? Refusal::unauthorized : Refusal::other,
                        .detail = why.detail};
  const RequestHead& head = exchange.head;
  const bool is_message = head.method() == Method::post && !check_json_body(head);
  if (!is_message) return exchange.fail(error);
  const rpc::CodeSet codes =
      exchange.endpoint != nullptr ? exchange.endpoint->fault_codes() : codes_at(head.path());
  exchange.respond(refusal_response(error), json_rpc_error_body(error, codes) + '\n');
}

bool RequestRouting::route(Exchange& exchange) const {
  const Route* const route = find_route(exchange);
  exchange.guards = route != nullptr ? route->guards : Guards::reading();
  // Where clients have to say who they are, nothing shows of a path before they have.
  const bool is_open = exchange.guards.audience != RouteAudience::clients ||
                       exchange.traits.anonymous || !router_.policy().authentication().is_used();
  if (is_open && route != nullptr) exchange.endpoint = route->endpoint.get();
  if (!is_welcome(exchange, route != nullptr)) return false;
  if (route == nullptr) {
    refuse_path(exchange);
    return false;
  }
  exchange.endpoint = route->endpoint.get();
  return is_taken(exchange);
}

// Whether the client may ask for this path; else the request has been answered.
bool RequestRouting::is_welcome(Exchange& exchange, bool is_served) const {
  const RequestHead& head = exchange.head;
  const AdmissionPolicy& policy = router_.policy();
  if (const auto denial = policy.judge(head, exchange.traits, exchange.guards)) {
    return fail(exchange, {.status = 403, .message = denial->message, .refusal = denial->reason});
  }
  if (head.path() == "*") return answer(exchange, {.status = 204, .allow = kAllowAll});
  if (!is_served && std::ranges::find(kAskedUnasked, head.path()) != kAskedUnasked.end()) {
    return answer(exchange, {.status = 404, .more_fields = "Cache-Control: max-age=86400\r\n"});
  }
  if (exchange.guards.audience == RouteAudience::clients) {
    if (is_preflight_of_nobody(exchange)) return answer_options(exchange, kAllowAll);
    if (!identify(exchange)) return false;
  }
  const auto denial = policy.judge_reading(head, exchange.traits, exchange.guards);
  // No page has a ticket by chance.
  if (!denial || exchange.identity.is_for_once) return true;
  return fail(exchange, {.status = 403, .message = denial->message, .refusal = denial->reason});
}

// Whether the endpoint takes the request; else it has been answered.
bool RequestRouting::is_taken(Exchange& exchange) const {
  const RequestHead& head = exchange.head;
  Endpoint& endpoint = *exchange.endpoint;
  const AllowedMethods allowed = endpoint.allowed_methods();
  if (head.method() == Method::options) return answer_options(exchange, allow_value(allowed));
  if (!is_allowed(head.method(), allowed)) {
    refuse(exchange, {405,
                      allowed == AllowedMethods::post ? "this method is not allowed here; use POST"
                                                      : "this method is not allowed here",
                      allow_value(allowed)});
    return false;
  }
  if (head.method() != Method::post && head.has_body()) {
    return fail(exchange, {400, "a body has no meaning here"});
  }
  // The endpoint of MCP answers an ambiguous head as MCP wants it.
  if (head.is_ambiguous() && endpoint.transport() != Transport::mcp) {
    return fail(exchange, kAmbiguous);
  }
  const auto error = endpoint.admit(exchange);
  return error ? fail(exchange, *error) : true;
}

// Browsers ask before they send a credential. Where one is wanted, each path has the same answer,
// so that it does not tell which are served.
bool RequestRouting::is_preflight_of_nobody(const Exchange& exchange) const {
  return router_.policy().authentication().is_used() && !exchange.traits.anonymous &&
         is_preflight(exchange.head);
}

bool RequestRouting::answer_options(Exchange& exchange, std::string_view methods) {
  std::string fields;
  if (!exchange.cors_fields.empty() && is_preflight(exchange.head)) {
    append_preflight_fields(fields, methods, exchange.head);
  }
  return answer(exchange, {.status = 204, .allow = methods, .more_fields = fields});
}

void RequestRouting::refuse_path(Exchange& exchange) const {
  const RouteAudience viewer =
      is_operator(exchange) ? RouteAudience::operators : RouteAudience::everyone;
  const PathHints hints = router_.hints(exchange.head.path(), viewer);
  std::string message = "nothing is served at this path";
  std::string why = router_.admin_hint(exchange.head.path(), viewer);
  if (why.empty()) why = hints.why;
  if (!why.empty()) {
    message.append("; ").append(why);
  } else if (!hints.meant.empty()) {
    message.append("; did you mean ").append(hints.meant).append("?");
  }
  rpc::JsonWriter paths(rpc::JsonWriter::Layout::compact);
  paths.begin_array("paths");
  for (const std::string_view path : hints.paths) paths.text({}, path);
  paths.end_array();
  const std::string member = paths.take();
  refuse(exchange, {.status = 404, .message = message, .more_members = member});
}

// A POST to the wrong path is answered with the right paths: as a JSON-RPC error if its body is
// JSON.
void RequestRouting::refuse(Exchange& exchange, const HttpError& error) const {
  const RequestHead& head = exchange.head;
  if (head.method() != Method::post) return exchange.fail(error);
  rpc::FaultReport report = rpc::faults::plain(rpc::Fault::invalid_request);
  const std::string where = router_.post_hint(head.path());
  const bool is_new_sentence = error.message.ends_with('?') && !where.empty();
  report.message.append(error.message).append(where, is_new_sentence ? 1 : 0);
  HttpError hint = error;
  hint.message = report.message;
  if (check_json_body(head)) return exchange.fail(hint);
  exchange.respond(refusal_response(error), fault_body({}, report, rpc::CodeSet::plain));
}

}  // namespace stdgate::http

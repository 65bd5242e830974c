#include "transports/http/mcp_endpoint.h"

#include <algorithm>
#include <array>
#include <utility>

#include "gateway/base/text.h"
#include "gateway/mcp/param_headers.h"
#include "gateway/rpc/json_text.h"
#include "gateway/rpc/message_text.h"
#include "transports/http/field_value.h"
#include "transports/http/request_head.h"
#include "transports/http/response.h"
#include "transports/http/server.h"

namespace stdgate::http {

namespace {

constexpr HttpError kNoSseSession{400, "the query parameter session is missing"};
constexpr HttpError kUnknownSseSession{
    .status = 404,
    .message = "no such session, or it has ended; open /sse again",
    .refusal = Refusal::unknown_session};
constexpr HttpError kBusy{503, "the queue of this session is full", {}, rpc::kRetryHint};

// The context of a message of the legacy era in this exchange.
call::CallContext legacy_context(const Exchange& exchange) {
  call::CallContext context = exchange.call_context();
  context.peer_kind = PeerKind::stateful;
  return context;
}

void refuse_request(Exchange& exchange, mcp::McpSessions& sessions, const rpc::FaultReport& report,
                    std::string_view id) {
  refuse_call(exchange, sessions.backend(), report, id, legacy_context(exchange));
}

SessionExchange::Source source_of(const mcp::McpSession& session, mcp::McpSessions& sessions) {
  return {.sessions = sessions, .id = session.id(), .backend = sessions.backend()};
}

}  // namespace

void McpExchange::on_gone() {
  rpc_.on_gone();
  SessionExchange::on_gone();
}

void McpExchange::rest() {
  rpc_.rest();
  SessionExchange::rest();
}

void McpExchange::leave() {
  rpc_.leave();
  SessionExchange::leave();
  meta.forget();
}

SseEndpoint::SseEndpoint(mcp::McpSessions& sessions, std::string messages_path)
    : Endpoint(sessions.backend().held()),
      sessions_(sessions),
      messages_path_(std::move(messages_path)) {}

std::optional<HttpError> SseEndpoint::admit(Exchange& exchange) {
  const RequestHead& head = exchange.head;
  if (!Acceptance::of(head).takes_event_stream()) return kNotStream;
  return std::nullopt;
}

void SseEndpoint::serve(Exchange& exchange, std::span<char> /*body*/) {
  if (exchange.is_head_request()) {  // asks what it would get, not for a session
    exchange.begin_stream({.backend = sessions_.backend().id()});
    return exchange.end_stream(StreamEnd::bare);
  }
  const auto session = sessions_.open(mcp::McpSession::Kind::sse, exchange.sender());
  if (!session) return refuse_request(exchange, sessions_, session.error(), {});
  auto& handler = exchange.handler<McpExchange>();
  handler.start(source_of(**session, sessions_), exchange);
  (*session)->listen(handler);
  (*session)->announce("endpoint", messages_path_ + "?session=" + (*session)->id());
}

MessagesEndpoint::MessagesEndpoint(mcp::McpSessions& sessions)
    : Endpoint(sessions.backend().held()),
      sessions_(sessions),
      parser_(sessions.backend().envelope_limits()) {}

bool MessagesEndpoint::continues(const RequestHead& head) const {
  const auto session = query_parameter(head.query(), "session");
  return session && sessions_.has(*session);
}

std::optional<HttpError> MessagesEndpoint::admit(Exchange& exchange) {
  const RequestHead& head = exchange.head;
  if (const auto error = check_json_body(head)) return error;
  const auto session = query_parameter(head.query(), "session");
  if (!session) return kNoSseSession;
  exchange.session_id = *session;
  return std::nullopt;
}

void MessagesEndpoint::serve(Exchange& exchange, std::span<char> body) {
  const auto document = parser_.parse(body);
  if (!document) return refuse_request(exchange, sessions_, rpc::report_of(document.error()), {});
  mcp::McpSession* session = sessions_.find(exchange.session_id, mcp::McpSession::Kind::sse,
                                            exchange.identity.principal.get());
  if (session == nullptr) return exchange.fail(kUnknownSseSession);
  const auto posted =
      session->post(*document, legacy_context(exchange), exchange.handler<McpExchange>());
  if (posted == mcp::McpSession::Posted::overloaded) return exchange.fail(kBusy);
  exchange.respond({.status = 202});
}

void MessagesEndpoint::refuse(Exchange& exchange, const rpc::FaultReport& report) {
  refuse_request(exchange, sessions_, report, {});
}

namespace {

constexpr HttpError kNotAcceptable{
    406, "send Accept: application/json, text/event-stream; the answer may be either"};
constexpr HttpError kBadVersion{
    400,
    "this MCP-Protocol-Version is not served; 2026-07-28, 2025-11-25, 2025-06-18, "
    "2025-03-26 and 2024-11-05 are"};
constexpr HttpError kNoSession{
    400, "send initialize first, then the Mcp-Session-Id that it was answered with"};
constexpr HttpError kUnknownSession{.status = 404,
                                    .message = "no such session, or it has ended; initialize again",
                                    .refusal = Refusal::unknown_session};
constexpr HttpError kInitializedTwice{400, "this session has been initialized"};
constexpr HttpError kPostOnly{405, "this revision of MCP has no sessions, and POST only",
                              "POST, OPTIONS"};
constexpr HttpError kNoResponses{400, "this revision of MCP has no responses of clients"};
constexpr HttpError kNullId{400, "the id of a request must not be null"};
constexpr HttpError kNoBatch{400, "this revision of MCP has no batches"};
constexpr HttpError kBatchedInitialize{400, "initialize cannot be part of a batch"};
// 405, as some clients try again and again after any other error.
constexpr HttpError kStreamOver{405, "this stream is over, and nothing followed this event",
                                "GET, POST, DELETE, OPTIONS"};
constexpr HttpError kUnknownEvent{400, "Last-Event-ID names no event of this session"};
constexpr HttpError kLostEvent{410, "what followed this event is no longer kept"};
// GET wants the id of a session, which no page can send unasked.
constexpr Guards kGuards{.deliberate_get = false, .takes_tickets = true};
constexpr HttpError kDraining{503, "the gateway is shutting down", {}, rpc::kRetryHint};

bool is_initialize(const rpc::ParsedMessage& message) {
  return message.ok() && message.envelope.kind == rpc::MessageKind::request &&
         rpc::json_string_equals(message.envelope.method, "initialize");
}

bool has_initialize(const rpc::Document& document) {
  return std::any_of(document.messages.begin(), document.messages.end(), is_initialize);
}

bool has_null_id(const rpc::ParsedMessage& message) {
  return message.ok() && message.envelope.kind == rpc::MessageKind::request &&
         message.envelope.id == "null";
}

// The mistake in the messages, whatever session they are for; nothing: go on. The good messages of
// a batch are taken, and each other one has an error as its answer (JSON-RPC 2.0 section 6). None
// may have the id null: two of them could not be told apart (MCP 2025-11-25, basic, requests).
std::optional<HttpError> problem_of(const rpc::Document& document) {
  const auto& messages = document.messages;
  if (std::ranges::any_of(messages, has_null_id)) return kNullId;
  if (std::ranges::any_of(messages, &rpc::ParsedMessage::ok)) return std::nullopt;
  return HttpError{400, messages[0].rejection};
}

// The id of an answer to the whole document: the id of a single request, else none. The id of a
// response was not chosen by the client.
std::string_view request_id_of(const rpc::Document& document) {
  const rpc::Envelope& envelope = document.messages[0].envelope;
  return !document.batch && envelope.kind == rpc::MessageKind::request ? envelope.id
                                                                       : std::string_view();
}

void fail(Exchange& exchange, HttpError error, std::string_view request_id) {
  error.request_id = request_id;
  exchange.fail(error);
}

// Whether the client names a revision that this endpoint knows, or none.
bool is_known_version(const RequestHead& head) {
  const HeaderField* version = head.find("mcp-protocol-version");
  return version == nullptr || mcp::parse_mcp_revision(version->value).has_value();
}

McpExchange::Head read_mcp_head(const RequestHead& head) {
  constexpr std::string_view kPrefix = mcp::kParamPrefix;
  McpExchange::Head read;
  mcp::ModernHeaders& headers = read.modern;
  const auto note = [](mcp::ModernHeader& header, std::string_view value) {
    header.repeated = header.value.has_value();
    if (!header.repeated) header.value = value;
  };
  for (const auto& [name, value] : head.fields()) {
    if (equals_ignoring_case(name, "mcp-protocol-version")) note(headers.version, value);
    if (equals_ignoring_case(name, "mcp-method")) note(headers.method, value);
    if (equals_ignoring_case(name, "mcp-name")) note(headers.name, value);
    if (!equals_ignoring_case(name.substr(0, kPrefix.size()), kPrefix)) continue;
    // As CallContext wants them.
    read.mirrored.append(name.substr(kPrefix.size())).append(":").append(value).append("\n");
  }
  read.version_known = is_known_version(head);
  read.names_modern = headers.version.value == mcp::kModernRevision;
  if (const HeaderField* event = head.find("last-event-id")) read.last_event_id = event->value;
  return read;
}

// The revision of a session which was opened elsewhere (2025-11-25, transports: protocol version
// header). Nothing: the client does not say, as those before 2025-06-18.
std::optional<mcp::McpRevision> spoken_revision(const RequestHead& head) {
  const HeaderField* version = head.find("mcp-protocol-version");
  return version == nullptr ? std::nullopt : mcp::parse_mcp_revision(version->value);
}

void respond_problem(Exchange& exchange, const mcp::ModernProblem& problem, std::string_view id) {
  const std::string text = rpc::error_text(id, problem.error) + "\n";
  const RefusalNote note{problem.status == 404 ? Refusal::not_found : Refusal::bad_request,
                         problem.reason};
  exchange.respond({.status = problem.status, .content_type = kJsonType, .refusal = note}, text);
}

rpc::EnvelopeLimits noting_params(rpc::EnvelopeLimits limits) {
  limits.notes_params = true;
  return limits;
}

}  // namespace

McpEndpoint::McpEndpoint(mcp::McpSessions& sessions, size_t message_limit)
    : Endpoint(sessions.backend().held()),
      sessions_(sessions),
      message_limit_(message_limit),
      parser_(noting_params(sessions.backend().envelope_limits())) {}

std::optional<rpc::CodeSet> McpEndpoint::refusal_codes() const {
  return sessions_.backend().codes();
}

bool McpEndpoint::continues(const RequestHead& head) const {
  const HeaderField* const session = head.find("mcp-session-id");
  const HeaderField* const version = head.find("mcp-protocol-version");
  const bool is_modern = version != nullptr && version->value == mcp::kModernRevision;
  if (is_modern) return sessions_.backend().holds_work();
  return session != nullptr && sessions_.has(session->value);
}

std::optional<HttpError> McpEndpoint::admit(Exchange& exchange) {
  const RequestHead& head = exchange.head;
  const Acceptance acceptance = Acceptance::of(head);
  if (head.method() == Method::post) {
    if (const auto error = check_json_body(head)) return error;
    if (!acceptance.takes_json() || !acceptance.takes_event_stream()) return kNotAcceptable;
  } else if (head.method() == Method::get && !acceptance.takes_event_stream()) {
    return kNotStream;
  }
  McpExchange::Head& read = exchange.handler<McpExchange>().head = read_mcp_head(head);
  // A POST of the modern era names its version in its body too: post() judges it.
  if (head.method() != Method::post && read.names_modern) return kPostOnly;
  if (head.method() != Method::post && !read.version_known) return kBadVersion;
  if (head.method() != Method::post && head.is_ambiguous()) return kAmbiguous;
  if (const HeaderField* session = head.find("mcp-session-id"))
    exchange.session_id = session->value;
  return std::nullopt;
}

void McpEndpoint::serve(Exchange& exchange, std::span<char> body) {
  switch (exchange.head.method()) {
    case Method::post:
      return post(exchange, body);
    case Method::del:
      return end(exchange);
    default:
      return listen(exchange);
  }
}

void McpEndpoint::refuse(Exchange& exchange, const rpc::FaultReport& report) {
  refuse_request(exchange, sessions_, report, {});
}

// --- POST -----------------------------------------------------------------------------------

void McpEndpoint::post(Exchange& exchange, std::span<char> body) {
  const auto document = parser_.parse(body);
  if (!document) return refuse_request(exchange, sessions_, rpc::report_of(document.error()), {});
  auto& handler = exchange.handler<McpExchange>();
  const McpExchange::Head& head = handler.head;
  const rpc::ParsedMessage& first = document->messages[0];
  const bool is_request =
      !document->batch && first.ok() && first.envelope.kind == rpc::MessageKind::request;
  mcp::MetaMemory* const memory = head.names_modern ? &handler.meta : nullptr;
  const mcp::McpParams read =
      is_request ? mcp::read_params(first.envelope.params, parser_.params(), memory)
                 : mcp::McpParams();
  const mcp::McpParams* const params = is_request ? &read : nullptr;
  const bool is_modern = is_request ? read.names_version() : mcp::has_modern(*document);
  if (head.names_modern || is_modern) return post_modern(exchange, *document, params);
  const std::string_view id = request_id_of(*document);
  if (exchange.head.is_ambiguous()) return fail(exchange, kAmbiguous, id);
  if (!head.version_known) return fail(exchange, kBadVersion, id);
  if (const auto problem = problem_of(*document)) return fail(exchange, *problem, id);
  if (!has_initialize(*document)) return post_in_session(exchange, *document, params);
  if (document->batch) return fail(exchange, kBatchedInitialize, id);
  if (!exchange.session_id.empty()) return fail(exchange, kInitializedTwice, id);
  initialize(exchange, *document, params);
}

// The client of such a request is its HTTP exchange, and the gateway keeps nothing of it.
void McpEndpoint::post_modern(Exchange& exchange, const rpc::Document& document,
                              const mcp::McpParams* params) {
  auto& handler = exchange.handler<McpExchange>();
  const rpc::ParsedMessage& message = document.messages[0];
  const rpc::Envelope& envelope = message.envelope;
  const std::string_view id = request_id_of(document);
  if (document.batch) return fail(exchange, kNoBatch, id);
  if (!message.ok()) return fail(exchange, {400, message.rejection}, id);
  if (params != nullptr) {
    if (has_null_id(message)) return fail(exchange, kNullId, id);
    if (const auto problem = mcp::check_modern(envelope, *params, handler.head.modern)) {
      return respond_problem(exchange, *problem, id);
    }
    if (exchange.head.is_ambiguous()) return fail(exchange, kAmbiguous, id);
  } else if (envelope.kind != rpc::MessageKind::notification) {
    return fail(exchange, kNoResponses, id);
  }
  handler.rpc().start(
      {sessions_.backend(), parser_, message_limit_, true, handler.head.mirrored, params}, document,
      true, exchange);
}

void McpEndpoint::initialize(Exchange& exchange, const rpc::Document& document,
                             const mcp::McpParams* params) {
  const auto session = sessions_.open(mcp::McpSession::Kind::streamable, exchange.sender(),
                                      document.messages[0].envelope.params);
  if (!session) {
    const std::string_view id = document.messages[0].envelope.id;
    return refuse_request(exchange, sessions_, session.error(), id);
  }
  hand_over(exchange, **session, document, params, true);
}

void McpEndpoint::post_in_session(Exchange& exchange, const rpc::Document& document,
                                  const mcp::McpParams* params) {
  const std::string_view id = request_id_of(document);
  mcp::McpSession* session = session_of(exchange, id);
  if (session == nullptr) return;
  if (document.batch && !mcp::has_batches(session->revision())) return fail(exchange, kNoBatch, id);
  hand_over(exchange, *session, document, params, false);
}

void McpEndpoint::hand_over(Exchange& exchange, mcp::McpSession& session,
                            const rpc::Document& document, const mcp::McpParams* params,
                            bool announces) {
  auto& handler = exchange.handler<McpExchange>();
  SessionExchange::Source source = source_of(session, sessions_);
  std::string fields;  // 2025-11-25, transports: session management
  if (announces) fields.append("Mcp-Session-Id: ").append(session.id()).append("\r\n");
  source.fields = fields;
  handler.start(source, exchange);
  call::CallContext context = legacy_context(exchange);
  context.params = params;
  switch (session.post(document, context, handler)) {
    case mcp::McpSession::Posted::under_way:
      return;
    case mcp::McpSession::Posted::taken:
      handler.forget();
      return exchange.respond({.status = 202});
    case mcp::McpSession::Posted::overloaded:
      handler.forget();
      if (announces) sessions_.close(session);  // its client will not know its id
      return fail(exchange, kBusy, request_id_of(document));
  }
}

mcp::McpSession* McpEndpoint::session_of(Exchange& exchange, std::string_view request_id) {
  if (exchange.session_id.empty()) {
    fail(exchange, kNoSession, request_id);
    return nullptr;
  }
  constexpr auto kKind = mcp::McpSession::Kind::streamable;
  const policy::Principal* const principal = exchange.identity.principal.get();
  if (mcp::McpSession* known = sessions_.find(exchange.session_id, kKind, principal)) return known;
  const auto session = sessions_.reach(exchange.session_id, kKind, exchange.sender(),
                                       spoken_revision(exchange.head));
  if (!session) {
    refuse_request(exchange, sessions_, session.error(), request_id);
    return nullptr;
  }
  if (*session == nullptr) fail(exchange, kUnknownSession, request_id);
  return *session;
}

// --- GET and DELETE -------------------------------------------------------------------------

void McpEndpoint::listen(Exchange& exchange) {
  mcp::McpSession* session = session_of(exchange, {});
  if (session == nullptr) return;
  if (exchange.server().draining()) return exchange.fail(kDraining);
  auto& handler = exchange.handler<McpExchange>();
  handler.start(source_of(*session, sessions_), exchange);
  if (handler.head.last_event_id.empty()) return session->listen(handler);
  switch (session->resume(handler, handler.head.last_event_id)) {
    case mcp::McpSession::Resumed::yes:
      return;
    case mcp::McpSession::Resumed::over:
      handler.forget();
      return exchange.fail(kStreamOver);
    case mcp::McpSession::Resumed::unknown_event:
      handler.forget();
      return exchange.fail(kUnknownEvent);
    case mcp::McpSession::Resumed::event_lost:
      handler.forget();
      return exchange.fail(kLostEvent);
  }
}

void McpEndpoint::end(Exchange& exchange) {
  mcp::McpSession* session = session_of(exchange, {});
  if (session == nullptr) return;
  sessions_.close(*session);
  exchange.respond({.status = 204});
}

// --- Routes ---------------------------------------------------------------------------------

void add_mcp_routes(Router& router, const std::string& prefix, mcp::McpSessions& sessions,
                    const config::LimitsConfig& limits) {
  const std::string to = " to " + sessions.backend().name();
  router.add(prefix + "/mcp", "MCP Streamable HTTP" + to,
             std::make_unique<McpEndpoint>(sessions, limits.message), kGuards);
  const std::string messages = prefix + "/messages";
  router.add(prefix + "/sse", "MCP over HTTP and SSE (2024-11-05)" + to,
             std::make_unique<SseEndpoint>(sessions, messages), Guards{.takes_tickets = true});
  router.add(messages, "messages of a session opened at " + prefix + "/sse",
             std::make_unique<MessagesEndpoint>(sessions));
}

}  // namespace stdgate::http

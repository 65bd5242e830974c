#include "transports/http/exchange.h"

#include <algorithm>
#include <array>
#include <utility>

#include "gateway/base/check.h"
#include "transports/http/request_head.h"
#include "transports/http/response.h"
#include "transports/http/router.h"
#include "transports/http/server.h"

namespace stdgate::http {

namespace {

constexpr Response kEventStream{
    .content_type = "text/event-stream",
    .type_fields = "Cache-Control: no-store\r\nX-Accel-Buffering: no\r\n"};

}  // namespace

TimePoint Exchange::now() const { return server_.services().loop.now(); }

// --- The request ---------------------------------------------------------------------------------

void Exchange::forget_judgement() {
  admitted = wants_events = false;
  endpoint = nullptr;
  trace.clear();
  cors_fields.clear();
  session_id.clear();
  identity = {};
  identity_revision = 0;
}

bool Exchange::admit() {
  has_head_ = true;
  const RequestRouting& routing = server_.routing();
  if (!knows_client_ || !routing.knows(*this)) look_at_client();
  server_.request_log().note_request(*this);
  if (!routing.admit(*this)) return false;
  serving_ = endpoint->shared_from_this();
  codec_->charge(*this, endpoint->held());
  return true;
}

// A judgement by the same head holds for another connection whose traits are the same.
void Exchange::look_at_client() {
  const Peer& peer = codec_->peer();
  const Provenance from = provenance(head, peer.client, server_.services().proxies());
  origin = from.client;
  const ConnectionTraits former = std::exchange(traits, peer.traits.as_spoken(from.is_secure));
  if (traits != former) admitted = false;
  knows_client_ = true;
}

void Exchange::serve(std::span<char> body) {
  since_ = now();
  body_bytes_ = body.size();
  server_.routing().serve(*this, body);
}

void Exchange::refuse(const rpc::FaultReport& report) {
  body_bytes_ = 0;
  endpoint->refuse(*this, report);
}

call::CallContext Exchange::call_context() const {
  call::CallContext context;
  context.transport = endpoint->transport();
  context.connection = connection_number();
  context.trace = &trace;
  context.client = &client();
  context.principal = identity.principal.get();
  context.account = payer().account;
  context.arrived = now();
  return context;
}

policy::Client Exchange::sender() const {
  return {client(), identity.principal, AccountRef(payer().account)};
}

std::string Exchange::scope_challenge(std::string_view scope) const {
  return server_.routing().scope_challenge(head, scope);
}

void Exchange::on_writable() {
  if (is_open_ && is_handled_) handler_->on_writable();
}

void Exchange::on_gone() {
  if (std::exchange(is_open_, false) && is_handled_) handler_->on_gone();
}

void Exchange::rest() {
  if (std::exchange(is_handled_, false)) handler_->rest();
  is_open_ = has_head_ = is_streaming_ = is_aborted_ = false;
  may_stream_.reset();
  found.reset();
  release_endpoint();
  if (identity_revision == 0) identity = {};
}

void Exchange::leave() {
  knows_client_ = false;
  identity = {};
  identity_revision = 0;
  if (head.has_credentials()) {
    forget_judgement();
    handler_.reset();
    handler_kind_ = nullptr;
  } else if (handler_ != nullptr) {
    handler_->leave();
  }
}

// The last reference to an endpoint may be released within a call of that endpoint.
void Exchange::release_endpoint() {
  if (serving_.use_count() == 1) {
    server_.services().loop.retire(std::make_unique<std::shared_ptr<Endpoint>>(serving_));
  }
  serving_.reset();
}

// --- The answer ----------------------------------------------------------------------------------

// The one place that every refused request passes.
void Exchange::respond(const Response& response) {
  if (response.refusal) server_.request_log().note_refusal(*this, response);
  is_open_ = false;
  codec_->send(*this, response);
}

void Exchange::respond(Response response, std::string_view body) {
  response.body = {&body, 1};
  respond(response);
}

void Exchange::fail(const HttpError& error) {
  const auto codes = endpoint != nullptr ? endpoint->refusal_codes() : std::nullopt;
  respond(refusal_response(error),
          codes ? json_rpc_error_body(error, *codes) : http_error_body(error, error.more_members));
}

void Exchange::upgrade(std::string_view fields, std::unique_ptr<UpgradedConnection> successor) {
  is_open_ = false;
  codec_->upgrade(*this, fields, std::move(successor));
}

void Exchange::begin_stream(const StreamStart& start) {
  stream_backend_ = start.backend;
  slow_client_ = start.slow_client;
  is_streaming_ = true;
  since_ = now();
  Response response = kEventStream;
  response.more_fields = start.more_fields;
  codec_->send_head(*this, response);
}

void Exchange::write_event(const session::StreamEvent& event) {
  if (is_aborted_) return;
  // Judged before the event is added, so that a single large one can be sent.
  const HttpServices& services = server_.services();
  if (slow_client_ == SlowClient::dropped && codec_->unsent(*this) > services.limits.outbox) {
    services.observer.on_dropped(stream_backend_, DropReason::outbox_full);
    is_aborted_ = true;
    return codec_->abort(*this);
  }
  write_frame(event);
  since_ = now();
}

void Exchange::write_frame(const session::StreamEvent& event) {
  STDGATE_CHECK(event.data.size() <= kMaxParts);
  const EventFrame frame(event);
  std::array<std::string_view, kMaxParts + 2> parts;
  size_t count = 0;
  parts[count++] = frame.head();
  for (const std::string_view part : event.data) parts[count++] = part;
  parts[count++] = kEventEnd;
  codec_->send_piece(*this, {parts.data(), count});
}

void Exchange::end_stream(StreamEnd end) {
  is_open_ = is_streaming_ = false;
  if (is_aborted_) return;
  const bool says_done = end == StreamEnd::done_event && !is_head_request();
  if (says_done) write_frame({.data = {&kDoneEvent, 1}});
  codec_->end(*this, false);
}

// A session may go on without its stream.
void Exchange::cut() {
  if (is_handled_) handler_->on_gone();
  is_open_ = is_streaming_ = false;
  if (!is_aborted_) codec_->end(*this, true);
}

TimePoint Exchange::due() const {
  if (!is_open_ || (!is_streaming_ && !may_stream_)) return TimePoint::max();
  const TimePoint word = since_ + server_.services().timeouts.keep_alive;
  return is_streaming_ ? std::min(word, identity.expires) : word;
}

void Exchange::on_due() {
  const TimePoint time = now();
  if (time < due()) return;
  if (is_streaming_ && time >= identity.expires) return cut();
  if (!is_streaming_) begin_stream(*may_stream_);
  codec_->send_piece(*this, {&kKeepAlive, 1});
  since_ = time;
}

}  // namespace stdgate::http

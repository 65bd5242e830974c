// Reading requests, the client's end, and time. The answers are in connection_answers.cc.
#include "transports/http/connection.h"

#include <algorithm>
#include <utility>

#include "transports/http/cors.h"
#include "transports/http/endpoint.h"
#include "transports/http/server.h"
#include "transports/http/trace_context.h"
#include "transports/http/url.h"

namespace stdgate {

namespace {

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr Duration kRetry = std::chrono::seconds(1);

}  // namespace

Connection::Connection(Server& server, uint64_t number, bool loopback_listener)
    : server_(server),
      number_(number),
      timer_(server.services().loop.timers(), [this] { on_timer(); }),
      loopback_listener_(loopback_listener) {}

void Connection::open(std::unique_ptr<ByteStream> stream) {
  stream_ = std::move(stream);
  stream_->set_watermark(kAnswerBacklog);
  since_ = server_.services().loop.now();
  stream_->resume_read(ByteStream::kNotStarted);
  schedule();
}

// --- Reading -------------------------------------------------------------------------------------

void Connection::on_bytes(std::span<char> bytes) {
  server_.services().observer.on_bytes(Transport::http, Flow::in, bytes.size());
  report_written();
  if (state_ == State::closed || doomed_) return;
  if (state_ == State::lingering) {
    discarded_ += bytes.size();
    if (discarded_ > kLingerBytes) close();
    return;
  }
  if (pending_.empty() && may_read()) {
    const size_t taken = process(bytes);
    keep(bytes.subspan(taken));
  } else {
    keep(bytes);
    process_pending();
  }
  settle();
  // Waiting requests count like bodies, but cannot be refused before their turn.
  if (state_ == State::busy && !pending_.empty() && server_.holds_too_much()) close();
}

void Connection::keep(std::span<const char> bytes) {
  if (bytes.empty()) return;
  if (pending_.capacity() == 0) pending_ = server_.services().loop.storages().borrow(bytes.size());
  pending_.append({bytes.data(), bytes.size()});
}

void Connection::process_pending() {
  if (!pending_.empty() && may_read()) pending_.consume(process(pending_.bytes()));
}

bool Connection::may_read() const {
  return (state_ == State::idle || state_ == State::head || state_ == State::body) &&
         !resume_asked_ && !is_blocked();
}

bool Connection::is_blocked() const { return stream_->unsent_bytes() > kAnswerBacklog; }

size_t Connection::process(std::span<char> bytes) {
  processing_ = true;
  size_t taken = 0;
  while (taken < bytes.size() && may_read()) {
    const auto rest = bytes.subspan(taken);
    const size_t step = state_ == State::body ? read_body(rest) : read_head(rest);
    taken += step;
    if (state_ == State::idle) release_exchange();
    if (step == 0) break;
  }
  processing_ = false;
  return taken;
}

size_t Connection::read_head(std::span<char> bytes) {
  if (exchange_ == nullptr) {
    take_exchange();
    exchange_->scanner.start(HeadScanner::Kind::request, server_.services().limits.headers);
    since_ = server_.services().loop.now();
    state_ = State::head;
  }
  const std::string_view text(bytes.data(), bytes.size());
  if (exchange_->head.is_repeated_by(text)) {
    const size_t size = exchange_->head.block().size();
    begin_request(size < bytes.size());
    return size;
  }
  exchange_->forget_judgement();
  HeadScanner& scanner = exchange_->scanner;
  const HeadScanner::Result result = scanner.scan(text);
  if (result == HeadScanner::Result::incomplete) return 0;
  if (result == HeadScanner::Result::failed) {
    fail_and_close({scanner.error().status, scanner.error().reason});
    return 0;
  }
  const size_t end = scanner.block_end();
  const auto parsed =
      exchange_->head.parse(text.substr(scanner.block_begin(), end - scanner.block_begin()));
  if (parsed) {
    begin_request(end < bytes.size());
  } else {
    fail_and_close({parsed.error().status, parsed.error().reason});
  }
  return end;
}

void Connection::take_exchange() {
  exchange_ = server_.spare_exchanges().take(last_exchange_);
  exchange_->client = this;
  last_exchange_ = exchange_->number;
}

void Connection::begin_request(bool body_has_begun) {
  Exchange& exchange = *exchange_;
  const RequestHead& head = exchange.head;
  // An answer before the body has been read has to close: what follows is no request.
  exchange.keep_alive = head.keep_alive() && head.body_kind() == BodyKind::none;
  state_ = State::busy;
  ++sequence_;
  const bool is_known = exchange.admitted && exchange.loopback_listener == loopback_listener_;
  if (!is_known && !admit()) return;
  if (head.body_kind() == BodyKind::none) return exchange.endpoint->serve(exchange, {});
  begin_body(body_has_begun);
}

// Whether an endpoint takes the request; else it has been answered. Nothing but the head and the
// listener counts here, so this holds for the same head again.
bool Connection::admit() {
  Exchange& exchange = *exchange_;
  exchange.forget_judgement();
  exchange.loopback_listener = loopback_listener_;
  const RequestHead& head = exchange.head;
  exchange.http_1_0 = head.http_1_0();
  exchange.head_only = head.method() == Method::head;
  if (const auto* trace = head.find("traceparent")) exchange.trace_id = trace_id_of(trace->value);
  if (const OriginRules* rules = server_.router().shared_with()) {
    append_cors_fields(exchange.cors_fields, cors_origin(head, *rules, loopback_listener_));
  }
  exchange.admitted = route();
  return exchange.admitted;
}

bool Connection::route() {
  const auto refuse = [this](const HttpError& error) {
    fail(error);
    return false;
  };
  const RequestHead& head = exchange_->head;
  if (head.path() == "*") {
    respond({.status = 204, .allow = kAllowAll});
    return false;
  }
  std::string scratch;
  Endpoint* endpoint = server_.router().find(percent_decode(head.path(), scratch));
  if (endpoint == nullptr) {
    fail_with({404, "nothing is served at this path"}, server_.router().paths_member());
    return false;
  }
  exchange_->endpoint = endpoint;
  const Access access = endpoint->access();
  if (head.method() == Method::options) {
    answer_options(allow_value(access));
    return false;
  }
  if (!is_allowed(head.method(), access)) {
    return refuse({405, "this method is not allowed here", allow_value(access)});
  }
  if (head.method() != Method::post && head.body_kind() != BodyKind::none) {
    return refuse({400, "a body has no meaning here"});
  }
  const auto error = endpoint->admit(*exchange_);
  return error ? refuse(*error) : true;
}

void Connection::answer_options(std::string_view methods) {
  const RequestHead& head = exchange_->head;
  const OriginRules* rules = server_.router().shared_with();
  std::string fields;
  if (rules != nullptr && is_preflight(head)) {
    if (!rules->allows_origin(head, loopback_listener_)) return fail(kBadOrigin);
    if (!exchange_->cors_fields.empty()) append_preflight_fields(fields, methods);
  }
  respond({.status = 204, .allow = methods, .more_fields = fields});
}

void Connection::begin_body(bool body_has_begun) {
  const RequestHead& head = exchange_->head;
  const size_t limit = server_.services().limits.message;
  if (head.body_kind() == BodyKind::chunked) {
    exchange_->body.start_chunked(limit);
  } else if (head.content_length() > limit) {
    return exchange_->endpoint->refuse(*exchange_, Fault::too_large);
  } else {
    exchange_->body.start_length(head.content_length());
  }
  state_ = State::body;
  since_ = server_.services().loop.now();
  if (head.expects_continue() && !body_has_begun) write({&kContinue, 1});
}

size_t Connection::read_body(std::span<char> bytes) {
  Exchange& exchange = *exchange_;
  const size_t taken = exchange.body.feed(bytes);
  switch (exchange.body.state()) {
    case BodyReader::State::reading:
      since_ = server_.services().loop.now();
      account();
      if (!server_.holds_too_much()) return taken;
      state_ = State::busy;
      exchange.endpoint->refuse(exchange, Fault::overloaded);
      break;
    case BodyReader::State::complete: {
      state_ = State::busy;
      exchange.keep_alive = exchange.head.keep_alive();
      const StorageOffer offer(server_.services().loop.storages(), exchange.body.storage());
      exchange.endpoint->serve(exchange, exchange.body.body());
      break;
    }
    case BodyReader::State::failed:
      fail_and_close({400, exchange.body.problem()});
      break;
    case BodyReader::State::too_large:
      state_ = State::busy;
      exchange.endpoint->refuse(exchange, Fault::too_large);
      break;
  }
  exchange.body.clear();  // what serves it has taken what it needs
  return taken;
}

// --- The client's end ----------------------------------------------------------------------------

void Connection::on_end() {
  peer_ended_ = true;
  switch (state_) {
    case State::head:
    case State::body:
    case State::busy:
      return close();
    case State::idle:
      return settle();
    case State::lingering:
      if (stream_->unsent_bytes() == 0) close();
      return;
    case State::closed:
      return;
  }
}

void Connection::on_error(int /*error*/) { close(); }

void Connection::on_writable() {
  if (state_ == State::closed || doomed_) return;
  if (exchange_ != nullptr && exchange_->owner != nullptr) exchange_->owner->on_writable();
  process_pending();
  settle();
}

void Connection::on_flushed() {
  if (state_ != State::idle && state_ != State::lingering) return;
  since_ = server_.services().loop.now();
  if (state_ == State::lingering && peer_ended_) return close();
  schedule();
}

// --- After each step -----------------------------------------------------------------------------

void Connection::settle() {
  if (state_ == State::closed) return;
  if (exchange_ != nullptr && exchange_->successor != nullptr) return hand_over();
  if (state_ == State::idle && peer_ended_ && pending_.empty()) begin_close();
  if (state_ == State::lingering) {
    pending_.clear();
    if (exchange_ != nullptr) release_exchange();
    if (peer_ended_ && stream_->unsent_bytes() == 0) return close();
  }
  if (pending_.empty() && pending_.capacity() > 0) {
    server_.services().loop.storages().give_back(std::exchange(pending_, {}));
  }
  if (state_ == State::busy && pending_.size() > kPendingLimit) {
    stream_->pause_read(ByteStream::kBusy);
  } else {
    stream_->resume_read(ByteStream::kBusy);
  }
  if (state_ != State::lingering && is_blocked()) {
    stream_->pause_read(ByteStream::kBackPressure);
  } else {
    stream_->resume_read(ByteStream::kBackPressure);
  }
  account();
  schedule();
}

void Connection::account() {
  const size_t held = pending_.size() + (exchange_ == nullptr ? 0 : exchange_->body.held());
  if (held != held_) server_.change_held(std::exchange(held_, held), held);
}

void Connection::release_exchange() {
  if (exchange_ != nullptr) server_.spare_exchanges().give_back(std::move(exchange_));
}

void Connection::report_written() {
  const uint64_t written = stream_->bytes_written();
  if (written == written_reported_) return;
  server_.services().observer.on_bytes(Transport::http, Flow::out,
                                       written - std::exchange(written_reported_, written));
}

void Connection::resume() {
  resume_asked_ = false;
  if (doomed_) return close();
  process_pending();
  settle();
}

void Connection::turn_away() {
  take_exchange();
  exchange_->forget_judgement();
  fail_and_close({503, "too many connections", {}, kRetry});
}

void Connection::drain() {
  if (state_ != State::idle || !pending_.empty()) return;
  if (stream_->unsent_bytes() == 0) return close();
  begin_close();
  settle();
}

void Connection::close() {
  if (state_ == State::closed) return;
  state_ = State::closed;
  timer_.disarm();
  stream_->pause_read(ByteStream::kBusy);
  if (exchange_ != nullptr && exchange_->owner != nullptr) {
    std::exchange(exchange_->owner, nullptr)->on_gone();
  }
  leave_core();
  release_exchange();
  pending_.clear();
  account();
  report_written();
  server_.remove(*this);
}

void Connection::leave_core() {
  if (origin_.is_none()) return;
  HttpServices& services = server_.services();
  if (exchange_ != nullptr && exchange_->rpc.calls_under_way()) {
    services.backends.cancel_calls_of(origin_);
  }
  services.origins.remove(std::exchange(origin_, Origin()));
}

// --- Time ----------------------------------------------------------------------------------------

TimePoint Connection::due() const {
  const TimeoutsConfig& timeouts = server_.services().timeouts;
  const bool all_taken = stream_->unsent_bytes() == 0;
  TimePoint due = stall_.due(*stream_, timeouts.body);
  switch (state_) {
    case State::idle:
      if (all_taken) due = since_ + timeouts.idle;
      break;
    case State::head:
      due = std::min(due, since_ + timeouts.header);
      break;
    case State::body:
      due = std::min(due, since_ + timeouts.body);
      break;
    case State::busy:
      if (streaming_) due = std::min(due, since_ + timeouts.keep_alive);
      break;
    case State::lingering:
      if (all_taken) due = since_ + kLingerTime;
      break;
    case State::closed:
      break;
  }
  return due;
}

// The timer is moved only towards the present: it may fire early, then on_timer() sets it anew. So
// a busy connection touches the timer queue about once in a timeout, not with each request.
void Connection::schedule() {
  if (state_ == State::closed) return;
  const TimePoint when = due();
  if (when != TimePoint::max() && (!timer_.armed() || when < timer_.due())) timer_.arm(when);
}

void Connection::on_timer() {
  const TimePoint now = server_.services().loop.now();
  report_written();
  if (stall_.has_stalled(*stream_, now, server_.services().timeouts.body)) return close();
  if (now >= due()) expire();
  schedule();
}

void Connection::expire() {
  switch (state_) {
    case State::idle:
    case State::lingering:
      return close();
    case State::head:
      // An empty line that some clients send after a body is no request.
      if (pending_.size() <= 2) return close();
      return fail_and_close({408, "the request's header block took too long"});
    case State::body:
      return fail_and_close({408, "the request's body took too long"});
    case State::busy:
      return write_keep_alive();
    case State::closed:
      return;
  }
}

}  // namespace stdgate

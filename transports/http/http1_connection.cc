#include "transports/http/http1_connection.h"

#include <algorithm>
#include <array>
#include <utility>

#include "gateway/base/check.h"
#include "transports/http/http1_response.h"
#include "transports/http/server.h"

namespace stdgate::http {

Http1Connection::Http1Connection(Server& server)
    : server_(server),
      meter_(server, ConnectionKind::http, [this] { on_timer(); }),
      spares_(server.spare_exchanges()),
      pending_(server.services().loop.storages()) {}

Http1Connection::~Http1Connection() { spares_->give(std::move(kept_)); }

void Http1Connection::open(std::unique_ptr<net::Stream> stream) {
  stream_ = std::move(stream);
  stream_->set_events(*this);
  stream_->set_watermark(kMaxBacklog);
  policy::Accounts& accounts = server_.services().accounts;
  meter_.set_payer({accounts.of({nullptr, client()}).get(), &accounts.unrouted()});
  meter_.open(*stream_);
  enter(State::idle);
  stream_->resume_read(net::Stream::kNotStarted);
  schedule();
}

// --- Requests ------------------------------------------------------------------------------------

void Http1Connection::on_bytes(std::span<char> bytes) {
  meter_.note_read(bytes.size());
  if (state_ == State::closed || doomed_) return;
  if (state_ == State::lingering) {
    discarded_ += bytes.size();
    if (discarded_ > kLingerBytes) close();
    return;
  }
  if (pending_.empty() && may_read()) {
    keep(bytes.subspan(process(bytes)));
  } else {
    keep(bytes);
    process_pending();
  }
  settle();
  if (!pending_.empty() && meter_.lack_after_relief() != MemoryLack::none) refuse_pending();
}

// A part of a header block can be refused. Requests that wait cannot, before their turn.
void Http1Connection::refuse_pending() {
  if (state_ == State::busy) return close();
  if (state_ != State::head) return;
  fail_and_close(holds_too_much(meter_.lack()));
  settle();
}

void Http1Connection::process_pending() {
  if (pending_.empty() || !may_read() || !meter_.has_turn()) return;
  const size_t taken = process(pending_.bytes());
  if (!pending_.empty()) pending_.consume(taken);  // it is cleared by close()
}

bool Http1Connection::may_read() const {
  return state_ != State::busy && state_ != State::lingering && state_ != State::closed &&
         !resume_asked_ && !is_blocked();
}

size_t Http1Connection::process(std::span<char> bytes) {
  processing_ = true;
  size_t taken = 0;
  while (taken < bytes.size() && may_read()) {
    const size_t count = step(bytes.subspan(taken));
    taken += count;
    if (state_ == State::idle || state_ == State::discarding) rest();
    if (count == 0 || (state_ == State::idle && !meter_.has_turn())) break;
  }
  processing_ = false;
  return taken;
}

size_t Http1Connection::step_head(std::span<char> bytes) {
  if (state_ == State::idle) {
    begin_exchange();
    kept_->request.start_head();
    enter(State::head);
  }
  const Http1Request::Step step = kept_->request.read_head(bytes);
  if (step.is_new) kept_->exchange.forget_judgement();
  if (step.outcome == Http1Request::Outcome::failed) {
    fail_and_close(to_http_error(step.error));
  } else if (step.outcome == Http1Request::Outcome::complete) {
    begin_request(step.taken < bytes.size());
  }
  return step.taken;
}

void Http1Connection::begin_exchange() {
  if (kept_ == nullptr) kept_ = spares_->take(server_, *this);
  kept_->exchange.begin();
}

void Http1Connection::begin_request(bool body_has_begun) {
  kept_->request.take_head(body_has_begun);
  meter_.use_turn(0);
  state_ = State::busy;
  if (!kept_->exchange.admit()) return;
  if (!kept_->exchange.head.has_body()) return kept_->exchange.serve({});
  begin_body(body_has_begun);
}

void Http1Connection::begin_body(bool body_has_begun) {
  const auto outcome = kept_->request.start_body(meter_.now(), stream_->bytes_read());
  if (outcome == Http1Request::Outcome::too_large) {
    return kept_->exchange.refuse(rpc::faults::message_too_large());
  }
  enter(State::body);
  constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  if (kept_->request.head().expects_continue() && !body_has_begun) write({&kContinue, 1});
}

size_t Http1Connection::step_body(std::span<char> bytes) {
  Http1Body& body = kept_->request.body();
  const Http1Request::Step step = kept_->request.read_body(bytes);
  switch (step.outcome) {
    case Http1Request::Outcome::incomplete:
      since_ = meter_.now();
      meter_.hold(pending_.capacity() + kept_->request.held());
      if (meter_.lack_after_relief() == MemoryLack::none) return step.taken;
      refuse_body(rpc::faults::holds_too_much(meter_.lack()));
      break;
    case Http1Request::Outcome::complete: {
      state_ = State::busy;
      const size_t size = body.body().size();
      if (size >= ConnectionMeter::kBytesOfShare) meter_.use_turn(size);
      const StorageOffer offer = body.offer();  // while it is served, to streams
      kept_->exchange.serve(body.body());
      break;
    }
    case Http1Request::Outcome::failed:
      fail_and_close(to_http_error(step.error));
      break;
    case Http1Request::Outcome::too_large:
      refuse_body(rpc::faults::message_too_large());
      break;
  }
  body.clear();  // what serves it has taken what it needs
  return step.taken;
}

void Http1Connection::refuse_body(const rpc::FaultReport& report) {
  state_ = State::busy;
  kept_->exchange.refuse(report);
}

size_t Http1Connection::step_discard(std::span<char> bytes) {
  const Http1Request::Step step = kept_->request.discard(bytes);
  if (step.outcome == Http1Request::Outcome::incomplete) return step.taken;
  enter(State::idle);
  if (server_.stopping() || leaves_) begin_close();
  return step.taken;
}

// --- Answers -------------------------------------------------------------------------------------

void Http1Connection::write(std::span<const std::string_view> parts) {
  meter_.note_write();
  stream_->write(parts);
}

void Http1Connection::write_head(const Exchange& exchange, const Response& response, bool close,
                                 bool in_pieces, std::span<const std::string_view> body) {
  const Http1ResponseHead head(response, {.date = server_.date(),
                                          .more_fields = exchange.cors_fields,
                                          .http_1_0 = kept_->request.head().http_1_0(),
                                          .close = close,
                                          .is_in_pieces = in_pieces});
  STDGATE_CHECK(body.size() <= Exchange::kMaxParts);
  std::array<std::string_view, Exchange::kMaxParts + 1> parts;
  size_t count = 0;
  parts[count++] = head.view();
  for (const std::string_view part : body) parts[count++] = part;
  write({parts.data(), count});
}

bool Http1Connection::closes() const {
  return leaves_ || !kept_->request.keeps_alive() || server_.ends_connections();
}

void Http1Connection::send(Exchange& exchange, const Response& response) {
  const bool close = closes();
  const bool is_head = exchange.is_head_request();
  write_head(exchange, response, close, false,
             is_head ? std::span<const std::string_view>() : response.body);
  end_exchange(close);
}

void Http1Connection::send_head(Exchange& exchange, const Response& response) {
  // Nothing else tells HTTP/1.0 where the body ends.
  if (closes() || kept_->request.head().http_1_0()) kept_->request.end_with_answer();
  write_head(exchange, response, closes(), true, {});
  if (!processing_) schedule();
}

void Http1Connection::send_piece(Exchange& /*exchange*/, std::span<const std::string_view> parts) {
  if (kept_->request.head().http_1_0()) return write(parts);
  constexpr size_t kMaxPieces = Exchange::kMaxParts + 2;  // an event's
  STDGATE_CHECK(parts.size() <= kMaxPieces);
  size_t size = 0;
  std::array<std::string_view, kMaxPieces + 2> chunk;
  size_t count = 1;
  for (const std::string_view part : parts) {
    size += part.size();
    chunk[count++] = part;
  }
  const ChunkSize begin(size);
  chunk[0] = begin.view();
  chunk[count++] = kChunkEnd;
  write({chunk.data(), count});
}

void Http1Connection::end(Exchange& exchange, bool is_last) {
  const bool is_chunked = !exchange.is_head_request() && !kept_->request.head().http_1_0();
  if (is_chunked) write({&kLastChunk, 1});
  if (is_last) kept_->request.end_with_answer();
  end_exchange(closes());
}

void Http1Connection::abort(Exchange& /*exchange*/) {
  doomed_ = true;
  ask_resume();
}

void Http1Connection::upgrade(Exchange& /*exchange*/, std::string_view fields,
                              std::unique_ptr<UpgradedConnection> successor) {
  const Http1ResponseHead head({.status = 101, .more_fields = fields}, {.date = server_.date()});
  const std::string_view text = head.view();
  write({&text, 1});
  kept_->successor = std::move(successor);  // settle() comes
}

const auth::Identity& Http1Connection::certificate_identity() {
  return certificate_.identity(*stream_, server_.router().policy());
}

void Http1Connection::fail_and_close(const HttpError& error) {
  state_ = State::busy;
  kept_->request.end_with_answer();
  kept_->exchange.fail(error);
}

void Http1Connection::end_exchange(bool close) {
  enter(kept_->request.has_to_discard() ? State::discarding : State::idle);
  if (close) begin_close();
  if (processing_) return;  // answered while it was read: process() and its caller do the rest
  rest();
  if (!pending_.empty()) ask_resume();
  settle();
}

// --- The client's end ----------------------------------------------------------------------------

void Http1Connection::on_end() {
  peer_ended_ = true;
  switch (state_) {
    case State::head:
    case State::body:
    case State::busy:
      return close();
    case State::discarding:
      begin_close();
      return settle();
    case State::idle:
      return settle();
    case State::lingering:
      if (stream_->unsent_bytes() == 0) close();
      return;
    case State::closed:
      return;
  }
}

void Http1Connection::on_writable() {
  if (state_ == State::closed || doomed_) return;
  if (kept_ != nullptr) kept_->exchange.on_writable();
  process_pending();
  settle();
}

void Http1Connection::on_flushed() {
  if (state_ != State::idle && state_ != State::lingering) return;
  since_ = meter_.now();
  if (state_ == State::lingering && peer_ended_) return close();
  schedule();
}

// --- After each step -----------------------------------------------------------------------------

void Http1Connection::settle() {
  if (state_ == State::closed) return;
  if (kept_ != nullptr && kept_->successor != nullptr) return hand_over();
  const bool awaits_more = state_ == State::idle || state_ == State::discarding;
  if (awaits_more && peer_ended_ && pending_.empty()) begin_close();
  if (state_ == State::lingering) {
    pending_.clear();
    rest();
    if (peer_ended_ && stream_->unsent_bytes() == 0) return close();
  }
  pending_.release_if_empty();
  if (!pending_.empty() || yields_) yield();
  apply_pressure();
  meter_.hold(pending_.capacity() + (kept_ == nullptr ? 0 : kept_->request.held()));
  schedule();
}

// Requests that are there are read in the next turn.
void Http1Connection::yield() {
  const bool yields = !pending_.empty() && state_ == State::idle && !meter_.has_turn();
  if (yields) ask_resume();
  if (yields == std::exchange(yields_, yields)) return;
  yields ? stream_->pause_read(net::Stream::kTurn) : stream_->resume_read(net::Stream::kTurn);
}

void Http1Connection::apply_pressure() {
  if (state_ == State::busy && pending_.size() > kMaxPending) {
    stream_->pause_read(net::Stream::kBusy);
  } else {
    stream_->resume_read(net::Stream::kBusy);
  }
  if (state_ != State::lingering && is_blocked()) {
    stream_->pause_read(net::Stream::kBackPressure);
  } else {
    stream_->resume_read(net::Stream::kBackPressure);
  }
}

void Http1Connection::ask_resume() {
  if (!std::exchange(resume_asked_, true)) server_.resume_later(*this);
}

void Http1Connection::rest() {
  if (kept_ == nullptr) return;
  kept_->exchange.rest();
  kept_->request.rest();
}

void Http1Connection::resume() {
  resume_asked_ = false;
  if (doomed_) return close();
  process_pending();
  settle();
}

// --- Ending --------------------------------------------------------------------------------------

void Http1Connection::turn_away(const HttpError& error) {
  begin_exchange();
  kept_->exchange.forget_judgement();
  fail_and_close(error);
}

void Http1Connection::drain() {
  if (state_ == State::discarding) {
    begin_close();
    return settle();
  }
  // Closing now would reset what is unread; it is answered first.
  if (state_ != State::idle || has_request()) return;
  if (stream_->unsent_bytes() == 0) return close();
  begin_close();
  settle();
}

void Http1Connection::begin_close() {
  enter(State::lingering);
  stream_->shutdown_write();
}

void Http1Connection::close() {
  if (state_ == State::closed) return;
  state_ = State::closed;
  stream_->pause_read(net::Stream::kBusy);
  if (kept_ != nullptr) kept_->exchange.on_gone();
  rest();
  pending_.clear();
  meter_.close();
  server_.remove(*this);
}

void Http1Connection::hand_over() {
  state_ = State::closed;
  UpgradedConnection& successor = *kept_->successor;
  auto owned = std::move(kept_->successor);
  rest();
  ByteQueue already_read = pending_.take();
  meter_.close();
  server_.replace(*this, std::move(owned));
  successor.take_over(std::move(stream_), std::move(already_read));
}

// --- Time ----------------------------------------------------------------------------------------

TimePoint Http1Connection::due() const {
  const config::TimeoutsConfig& timeouts = server_.services().timeouts;
  const TimePoint taking = meter_.taking_due(timeouts.body);
  const bool all_taken = taking == TimePoint::max();
  switch (state_) {
    case State::idle:
      return std::min(all_taken ? since_ + timeouts.idle : taking,
                      kept_ != nullptr ? since_ + kKeptTime : TimePoint::max());
    case State::head:
      return std::min(taking, since_ + timeouts.header);
    case State::body:
      return std::min(taking, kept_->request.body_due(since_));
    case State::discarding:
      return std::min(taking, since_ + timeouts.body);
    case State::busy:
      return std::min(taking, kept_->exchange.due());
    case State::lingering:
      return all_taken ? since_ + kLingerTime : taking;
    case State::closed:
      break;
  }
  return TimePoint::max();
}

void Http1Connection::on_timer() {
  meter_.report_written();
  if (meter_.takes_too_little(server_.services().timeouts.body)) {
    server_.log_slow(*this, stream_->unsent_bytes());
    return close();
  }
  if (meter_.now() >= due()) expire();
  schedule();
}

void Http1Connection::expire() {
  switch (state_) {
    case State::idle:
      spares_->give(std::move(kept_));
      if (meter_.now() >= due()) close();
      return;
    case State::discarding:
    case State::lingering:
      return close();
    case State::head:
      // Some clients send an empty line after a body: that is no request, so it gets no 408.
      if (pending_.size() <= 2) return close();
      return fail_and_close({408, "the request's header block took too long"});
    case State::body:
      if (!kept_->request.is_body_late(since_, meter_.now(), stream_->bytes_read())) return;
      return fail_and_close({408, "the request's body took too long"});
    case State::busy:
      return kept_->exchange.on_due();
    case State::closed:
      return;
  }
}

}  // namespace stdgate::http

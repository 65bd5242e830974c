#include "transports/http/connection.h"

#include <algorithm>
#include <utility>

#include "transports/http/endpoint.h"
#include "transports/http/fault_response.h"
#include "transports/http/forwarded.h"
#include "transports/http/server.h"

namespace stdgate::http {

Connection::Connection(Server& server, uint64_t number, const ConnectionTraits& traits)
    : server_(server),
      number_(number),
      traits_(traits),
      meter_(server, ConnectionKind::http, [this] { on_timer(); }),
      reader_(server.services().limits, server.services().timeouts),
      writer_(server, meter_),
      pending_(server.services().loop.storages()) {}

void Connection::open(std::unique_ptr<net::Stream> stream) {
  stream_ = std::move(stream);
  stream_->set_events(*this);
  stream_->set_watermark(kMaxBacklog);
  policy::Accounts& accounts = server_.services().accounts;
  meter_.set_payer({accounts.of({nullptr, client()}).get(), &accounts.unrouted()});
  meter_.open(*stream_);
  writer_.open(*stream_);
  enter(State::idle);
  stream_->resume_read(net::Stream::kNotStarted);
  schedule();
}

// --- Requests ------------------------------------------------------------------------------------

void Connection::on_bytes(std::span<char> bytes) {
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
  if (!pending_.empty() && meter_.lack() != MemoryLack::none) refuse_pending();
}

// A part of a header block can be refused. Requests that wait cannot, before their turn.
void Connection::refuse_pending() {
  if (state_ == State::busy) return close();
  if (state_ != State::head) return;
  fail_and_close(holds_too_much(meter_.lack()));
  settle();
}

void Connection::process_pending() {
  if (pending_.empty() || !may_read() || !meter_.has_turn()) return;
  const size_t taken = process(pending_.bytes());
  if (!pending_.empty()) pending_.consume(taken);  // it is cleared by close()
}

bool Connection::may_read() const {
  return state_ != State::busy && state_ != State::lingering && state_ != State::closed &&
         !resume_asked_ && !is_blocked();
}

size_t Connection::process(std::span<char> bytes) {
  processing_ = true;
  size_t taken = 0;
  while (taken < bytes.size() && may_read()) {
    const size_t count = step(bytes.subspan(taken));
    taken += count;
    if (state_ == State::idle || state_ == State::discarding) release_exchange();
    if (count == 0 || (state_ == State::idle && !meter_.has_turn())) break;
  }
  processing_ = false;
  return taken;
}

size_t Connection::step_head(std::span<char> bytes) {
  if (exchange_ == nullptr) {
    take_exchange();
    reader_.start_head(*exchange_);
    enter(State::head);
  }
  const RequestReader::Step step = RequestReader::read_head(*exchange_, bytes);
  if (step.outcome == RequestReader::Outcome::failed) {
    fail_and_close(to_http_error(step.error));
  } else if (step.outcome == RequestReader::Outcome::complete) {
    begin_request(step.taken < bytes.size());
  }
  return step.taken;
}

void Connection::take_exchange() {
  exchange_ = own_.take(server_.spare_exchanges());
  exchange_->client = this;
}

void Connection::begin_request(bool body_has_begun) {
  Exchange& exchange = *exchange_;
  reader_.take_head(exchange, body_has_begun);
  meter_.use_turn(0);
  if (leaves_) exchange.keep_alive = false;
  state_ = State::busy;
  ++sequence_;
  const Provenance from = provenance(exchange.head, client(), server_.services().proxies());
  exchange.origin = from.client;
  server_.request_log().note_request(exchange, exchange.origin, number_);
  if (!server_.routing().admit(exchange, traits_.as_spoken(from.is_secure))) return;
  meter_.charge_to(exchange.identity.principal, exchange.origin, exchange.endpoint->held());
  if (exchange.head.body_kind() == BodyKind::none) return server_.routing().serve(exchange, {});
  begin_body(body_has_begun);
}

void Connection::begin_body(bool body_has_begun) {
  Exchange& exchange = *exchange_;
  const auto outcome = reader_.start_body(exchange, meter_.now(), stream_->bytes_read());
  if (outcome == RequestReader::Outcome::too_large) {
    return exchange.endpoint->refuse(exchange, rpc::faults::plain(rpc::Fault::too_large));
  }
  enter(State::body);
  if (exchange.head.expects_continue() && !body_has_begun) writer_.write_continue();
}

size_t Connection::step_body(std::span<char> bytes) {
  Exchange& exchange = *exchange_;
  const RequestReader::Step step = RequestReader::read_body(exchange, bytes);
  switch (step.outcome) {
    case RequestReader::Outcome::incomplete:
      since_ = meter_.now();
      account_held();
      if (meter_.lack() == MemoryLack::none) return step.taken;
      state_ = State::busy;
      exchange.endpoint->refuse(exchange, rpc::faults::holds_too_much(meter_.lack()));
      break;
    case RequestReader::Outcome::complete: {
      state_ = State::busy;
      const size_t size = exchange.body.body().size();
      if (size >= ConnectionMeter::kBytesOfShare) meter_.use_turn(size);
      const StorageOffer offer = exchange.body.offer();
      server_.routing().serve(exchange, exchange.body.body());
      break;
    }
    case RequestReader::Outcome::failed:
      fail_and_close(to_http_error(step.error));
      break;
    case RequestReader::Outcome::too_large:
      state_ = State::busy;
      exchange.endpoint->refuse(exchange, rpc::faults::plain(rpc::Fault::too_large));
      break;
  }
  exchange.body.clear();  // what serves it has taken what it needs
  return step.taken;
}

size_t Connection::step_discard(std::span<char> bytes) {
  const RequestReader::Step step = reader_.discard(bytes);
  if (step.outcome == RequestReader::Outcome::incomplete) return step.taken;
  enter(State::idle);
  if (server_.stopping() || leaves_) begin_close();
  return step.taken;
}

// --- From the core -------------------------------------------------------------------------------

void Connection::doom() {
  doomed_ = true;
  if (!std::exchange(resume_asked_, true)) server_.resume_later(*this);
}

// --- From the endpoint ---------------------------------------------------------------------------

std::optional<call::CallContext> Connection::call_context() {
  const HttpServices& services = server_.services();
  if (caller_.is_none()) {
    const auto caller = services.callers.add(*this);
    if (!caller) return std::nullopt;
    caller_ = *caller;
  }
  call::CallContext context;
  context.caller = caller_;
  context.tag = session::Tag{sequence_} << 32;
  context.transport = Transport::rpc;
  context.connection = number_;
  context.trace = &exchange_->trace;
  context.client = &client_address();
  context.principal = exchange_->identity.principal.get();
  context.account = meter_.payer().account;
  context.arrived = services.loop.now();
  return context;
}

const auth::Identity& Connection::connection_identity() {
  return certificate_.identity(*stream_, server_.router().policy());
}

std::string Connection::scope_challenge(std::string_view scope) {
  return server_.routing().scope_challenge(exchange_->head, scope);
}

// The one place that every refused request passes.
void Connection::respond(const Response& response) {
  if (response.refusal) {
    server_.request_log().note_refusal(*exchange_, response, client_address(), number_);
  }
  end_exchange(writer_.respond(*exchange_, response));
}

void Connection::fail(const HttpError& error) {
  const Endpoint* endpoint = exchange_->endpoint;
  const auto codes = endpoint != nullptr ? endpoint->refusal_codes() : std::nullopt;
  const std::string text =
      codes ? json_rpc_error_body(error, *codes) : http_error_body(error, error.more_members);
  const std::string_view body = text;
  respond(refusal_response(error, body));
}

void Connection::fail_and_close(const HttpError& error) {
  state_ = State::busy;
  exchange_->keep_alive = false;
  fail(error);
}

void Connection::begin_stream(const StreamStart& start) {
  writer_.begin_stream(*exchange_, start);
  since_ = meter_.now();
  if (!processing_) schedule();
}

void Connection::write_event(const session::StreamEvent& event) {
  if (doomed_) return;
  if (!writer_.write_event(*exchange_, event)) return doom();
  since_ = meter_.now();
}

void Connection::end_stream(StreamEnd end) {
  exchange_->owner = nullptr;  // also if the connection is closed instead
  if (!doomed_) end_exchange(writer_.end_stream(*exchange_, end));
}

void Connection::upgrade(std::string_view fields, std::unique_ptr<UpgradedConnection> successor) {
  writer_.write_switch(fields);
  exchange_->successor = std::move(successor);  // settle() comes
}

void Connection::end_exchange(bool close) {
  enter(reader_.has_to_discard() ? State::discarding : State::idle);
  if (close) begin_close();
  if (processing_) return;  // process() and its caller do the rest
  release_exchange();
  if (!pending_.empty() && !std::exchange(resume_asked_, true)) server_.resume_later(*this);
  settle();
}

void Connection::cut_stream() {
  if (exchange_->owner != nullptr) std::exchange(exchange_->owner, nullptr)->on_gone();
  leave_core();
  exchange_->rpc.clear();
  exchange_->keep_alive = false;
  end_exchange(writer_.end_stream(*exchange_, StreamEnd::bare));
}

// --- The client's end ----------------------------------------------------------------------------

void Connection::on_end() {
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

void Connection::on_writable() {
  if (state_ == State::closed || doomed_) return;
  if (exchange_ != nullptr && exchange_->owner != nullptr) exchange_->owner->on_writable();
  process_pending();
  settle();
}

void Connection::on_flushed() {
  if (state_ != State::idle && state_ != State::lingering) return;
  since_ = meter_.now();
  if (state_ == State::lingering && peer_ended_) return close();
  schedule();
}

// --- After each step -----------------------------------------------------------------------------

void Connection::settle() {
  if (state_ == State::closed) return;
  if (exchange_ != nullptr && exchange_->successor != nullptr) return hand_over();
  const bool awaits_more = state_ == State::idle || state_ == State::discarding;
  if (awaits_more && peer_ended_ && pending_.empty()) begin_close();
  if (state_ == State::lingering) {
    pending_.clear();
    if (exchange_ != nullptr) release_exchange();
    if (peer_ended_ && stream_->unsent_bytes() == 0) return close();
  }
  pending_.release_if_empty();
  if (!pending_.empty() || yields_) yield();
  apply_pressure();
  account_held();
  schedule();
}

// Requests that are there are read in the next turn.
void Connection::yield() {
  const bool yields = !pending_.empty() && state_ == State::idle && !meter_.has_turn();
  if (yields && !std::exchange(resume_asked_, true)) server_.resume_later(*this);
  if (yields == std::exchange(yields_, yields)) return;
  yields ? stream_->pause_read(net::Stream::kTurn) : stream_->resume_read(net::Stream::kTurn);
}

void Connection::apply_pressure() {
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

void Connection::account_held() {
  size_t held = pending_.capacity();
  if (exchange_ != nullptr) held += exchange_->body.held() + exchange_->head.long_block();
  meter_.hold(held);
}

void Connection::release_exchange() {
  if (exchange_ == nullptr) return;
  own_.give_back(std::move(exchange_), server_.spare_exchanges(), state_ == State::idle);
}

void Connection::resume() {
  resume_asked_ = false;
  if (doomed_) return close();
  process_pending();
  settle();
}

// --- Ending --------------------------------------------------------------------------------------

void Connection::turn_away(const HttpError& error) {
  take_exchange();
  exchange_->forget_judgement();
  fail_and_close(error);
}

void Connection::drain() {
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

void Connection::begin_close() {
  enter(State::lingering);
  stream_->shutdown_write();
}

void Connection::close() {
  if (state_ == State::closed) return;
  state_ = State::closed;
  stream_->pause_read(net::Stream::kBusy);
  if (exchange_ != nullptr && exchange_->owner != nullptr) {
    std::exchange(exchange_->owner, nullptr)->on_gone();
  }
  leave_core();
  release_exchange();
  own_.drop(server_.spare_exchanges());
  pending_.clear();
  meter_.close();
  server_.remove(*this);
}

void Connection::hand_over() {
  state_ = State::closed;
  leave_core();
  UpgradedConnection& successor = *exchange_->successor;
  auto owned = std::move(exchange_->successor);
  release_exchange();
  ByteQueue already_read = pending_.take();
  meter_.close();
  server_.replace(*this, std::move(owned));
  successor.take_over(std::move(stream_), std::move(already_read));
}

void Connection::leave_core() {
  if (caller_.is_none()) return;
  HttpServices& services = server_.services();
  if (exchange_ != nullptr && exchange_->rpc.calls_under_way()) {
    services.backends.cancel_calls_of(caller_);
  }
  services.callers.remove(std::exchange(caller_, session::Caller()));
}

// --- Time ----------------------------------------------------------------------------------------

TimePoint Connection::due() const {
  const config::TimeoutsConfig& timeouts = server_.services().timeouts;
  const TimePoint taking = meter_.taking_due(timeouts.body);
  const bool all_taken = taking == TimePoint::max();
  switch (state_) {
    case State::idle:
      if (own_.is_kept()) return std::min(taking, since_ + OwnExchange::kTime);
      return all_taken ? since_ + timeouts.idle : taking;
    case State::head:
      return std::min(taking, since_ + timeouts.header);
    case State::body:
      return std::min(taking, reader_.body_due(*exchange_, since_));
    case State::discarding:
      return std::min(taking, since_ + timeouts.body);
    case State::busy:
      if (!writer_.is_streaming() && !exchange_->rpc.is_silent()) return taking;
      return std::min({taking, since_ + timeouts.keep_alive, exchange_->identity.expires});
    case State::lingering:
      return all_taken ? since_ + kLingerTime : taking;
    case State::closed:
      break;
  }
  return TimePoint::max();
}

void Connection::on_timer() {
  meter_.report_written();
  if (meter_.takes_too_little(server_.services().timeouts.body)) {
    server_.log_slow(*this, stream_->unsent_bytes());
    return close();
  }
  if (meter_.now() >= due()) expire();
  schedule();
}

void Connection::expire() {
  switch (state_) {
    case State::idle:
      // What it would otherwise close for comes later.
      if (!own_.is_kept()) return close();
      return own_.drop(server_.spare_exchanges());
    case State::discarding:
    case State::lingering:
      return close();
    case State::head:
      // Some clients send an empty line after a body: that is no request, so it gets no 408.
      if (pending_.size() <= 2) return close();
      return fail_and_close({408, "the request's header block took too long"});
    case State::body:
      if (!reader_.is_body_late(*exchange_, since_, meter_.now(), stream_->bytes_read())) return;
      return fail_and_close({408, "the request's body took too long"});
    case State::busy:
      if (meter_.now() >= exchange_->identity.expires) return cut_stream();
      exchange_->rpc.end_silence();
      writer_.write_keep_alive(*exchange_);
      since_ = meter_.now();
      return;
    case State::closed:
      return;
  }
}

}  // namespace stdgate::http

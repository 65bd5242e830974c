// Reading, ending and time. What the core says is in websocket_answers.cc.
#include "transports/websocket/websocket_connection.h"

#include <algorithm>
#include <array>
#include <utility>

#include "transports/http/server.h"

namespace stdgate {

WebSocketConnection::WebSocketConnection(Server& server, const Route& route, uint64_t number,
                                         std::string trace_id)
    : server_(server),
      backend_(route.backend),
      parser_(route.parser),
      number_(number),
      trace_id_(std::move(trace_id)),
      reader_(server.services().loop.storages(), server.services().limits.message),
      timer_(server.services().loop.timers(), [this] { on_timer(); }) {}

tl::expected<void, FaultReport> WebSocketConnection::open_session() {
  Origins& origins = server_.services().origins;
  const auto origin = origins.add(*this);
  if (!origin) return tl::unexpected(FaultReport{Fault::overloaded, "too many clients", {}, {}});
  const auto session = backend_.open_session(*origin, *this);
  if (!session) {
    origins.remove(*origin);
    return tl::unexpected(session.error());
  }
  origin_ = *origin;
  session_ = *session;
  return {};
}

void WebSocketConnection::take_over(std::unique_ptr<ByteStream> stream, ByteQueue already_read) {
  stream_ = std::move(stream);
  stream_->set_events(*this);
  stream_->set_watermark(kBacklog);
  written_reported_ = stream_->bytes_written();
  heard_ = now();
  stall_.start(*stream_, heard_);
  stream_->resume_read(ByteStream::kBackPressure);
  stream_->resume_read(ByteStream::kBusy);
  pending_ = std::move(already_read);
  resume();
}

// --- Reading -------------------------------------------------------------------------------------

void WebSocketConnection::on_bytes(std::span<char> bytes) {
  server_.services().observer.on_bytes(Transport::websocket, Flow::in, bytes.size());
  report_written();
  if (state_ == State::closed || state_ == State::lingering) return;
  heard_ = now();
  awaiting_pong_ = false;
  if (pending_.empty() && may_read()) {
    const size_t taken = read(bytes);
    pending_.append({bytes.data() + taken, bytes.size() - taken});
  } else {
    pending_.append({bytes.data(), bytes.size()});
  }
  settle();
  if (state_ != State::open || held_ == 0 || !server_.holds_too_much()) return;
  start_close(CloseCode::try_again_later, "too much in memory");
  settle();
}

bool WebSocketConnection::may_read() const {
  return state_ == State::closing || (state_ == State::open && core_reads_ && !choked_ && !ending_);
}

size_t WebSocketConnection::read(std::span<char> bytes) {
  const auto taken = reader_.feed(bytes, *this);
  if (taken) return *taken;
  start_close(taken.error().code, taken.error().reason);
  linger();  // what follows cannot be read
  return bytes.size();
}

bool WebSocketConnection::on_message(std::span<char> text) {
  if (state_ != State::open) return true;  // sent before the client saw our close frame
  const auto document = parser_.parse(text);
  if (!document) {
    refuse(report_of(document.error()), context());
  } else if (document->batch) {
    accept_batch(*document, context());
  } else {
    accept(document->messages[0], context());
  }
  return may_read();
}

bool WebSocketConnection::on_ping(std::string_view payload) {
  if (state_ == State::open) write_frame(Opcode::pong, {&payload, 1});
  return may_read();
}

void WebSocketConnection::on_close(CloseCode code, std::string_view /*reason*/) {
  if (state_ == State::open) start_close(code, {});
  linger();
}

// --- Messages of the client ----------------------------------------------------------------------

CallContext WebSocketConnection::context() const {
  CallContext context;
  context.origin = origin_;
  context.session = session_;
  context.transport = Transport::websocket;
  context.connection = number_;
  context.trace_id = trace_id_;
  context.arrived = now();
  return context;
}

// Whether it is answered, by on_reply() or on_cancelled().
bool WebSocketConnection::accept(const ParsedMessage& message, const CallContext& context) {
  ++calls_;  // beforehand: the answer may come inside of accept()
  if (backend_.accept(message, context) == Admission::answered_by_reply) return true;
  --calls_;
  return false;
}

void WebSocketConnection::refuse(const FaultReport& report, const CallContext& context) {
  ++calls_;
  backend_.refuse(report, {}, context);
}

void WebSocketConnection::accept_batch(const Document& batch, CallContext context) {
  if (batches_ == nullptr) batches_ = std::make_unique<Batches>(kOpenBatches);
  const auto handle = batches_->acquire();
  if (!handle) {
    return refuse({Fault::overloaded, "too many batches at once", {}, {}}, context);
  }
  context.tag = Tag{handle->generation} << 32 | handle->index;
  BatchAnswer& answer = *batches_->find(*handle);
  answer.begin_messages(backend_.codes(), server_.services().limits.message);
  for (const ParsedMessage& message : batch.messages) {
    answer.expect();
    if (!accept(message, context)) answer.leave_out();
  }
  answer.end_messages();
  if (answer.complete()) finish_batch(*handle);
}

// --- Ending --------------------------------------------------------------------------------------

void WebSocketConnection::start_close(CloseCode code, std::string_view reason) {
  const auto number = static_cast<uint16_t>(code);
  const std::array bytes{static_cast<char>(number >> 8), static_cast<char>(number & 0xff)};
  const std::array parts{std::string_view(bytes.data(), bytes.size()), reason};
  const bool has_code = code != CloseCode::no_status;
  if (state_ == State::open) {
    write_frame(Opcode::close, std::span(parts).first(has_code ? parts.size() : 0));
    state_ = State::closing;
    since_ = now();
  }
  leave_core();
}

void WebSocketConnection::linger() {
  state_ = State::lingering;
  since_ = now();
  stream_->shutdown_write();
}

void WebSocketConnection::on_end() {
  peer_ended_ = true;
  if (state_ != State::lingering || stream_->unsent_bytes() == 0) close();
}

void WebSocketConnection::on_error(int /*error*/) { close(); }

void WebSocketConnection::drain() {
  if (state_ == State::open && calls_ == 0) start_close(CloseCode::going_away, "going away");
  settle();
}

void WebSocketConnection::close() {
  if (state_ == State::closed) return;
  state_ = State::closed;
  timer_.disarm();
  stream_->pause_read(ByteStream::kBusy);
  leave_core();
  reader_.release();
  pending_.clear();
  account();
  report_written();
  server_.remove(*this);
}

void WebSocketConnection::leave_core() {
  if (origin_.is_none()) return;
  backend_.close_session(session_);
  server_.services().origins.remove(std::exchange(origin_, Origin()));
  batches_.reset();
  calls_ = answers_held_ = 0;
}

void WebSocketConnection::resume() {
  resume_asked_ = false;
  if (state_ == State::open && ending_) start_close(end_code_, end_reason_);
  if (server_.draining()) return drain();
  settle();
}

// --- After each step -----------------------------------------------------------------------------

void WebSocketConnection::settle() {
  if (state_ == State::closed) return;
  if (!pending_.empty() && may_read()) pending_.consume(read(pending_.bytes()));
  if (state_ == State::lingering) {
    pending_.clear();
    reader_.release();
    if (peer_ended_ && stream_->unsent_bytes() == 0) return close();
  }
  pending_.release_memory();
  apply_pressure();
  account();
  schedule();
}

void WebSocketConnection::apply_pressure() {
  const bool reads = may_read() || state_ == State::lingering;
  if (reads && !std::exchange(reads_, true)) {
    stream_->resume_read(ByteStream::kBusy);
    heard_ = now();  // its silence was ours
    awaiting_pong_ = false;
  } else if (!reads && std::exchange(reads_, false)) {
    stream_->pause_read(ByteStream::kBusy);
  }
  if (state_ != State::open || !backend_.owns_children() || choked_ == child_held_) return;
  child_held_ = choked_;
  backend_.hold_child(session_, choked_);
}

void WebSocketConnection::on_writable() {
  if (state_ == State::closed) return;
  choked_ = false;
  settle();
}

void WebSocketConnection::on_flushed() {
  if (state_ == State::open || state_ == State::closed) return;
  since_ = now();
  settle();
}

void WebSocketConnection::account() {
  const size_t held = pending_.size() + reader_.held() + answers_held_;
  if (held != held_) server_.change_held(std::exchange(held_, held), held);
}

void WebSocketConnection::report_written() {
  const uint64_t written = stream_->bytes_written();
  if (written == written_reported_) return;
  server_.services().observer.on_bytes(Transport::websocket, Flow::out,
                                       written - std::exchange(written_reported_, written));
}

// --- Time ----------------------------------------------------------------------------------------

TimePoint WebSocketConnection::now() const { return server_.services().loop.now(); }

// With a client that takes nothing of what is unsent.
Duration WebSocketConnection::patience() const {
  const TimeoutsConfig& timeouts = server_.services().timeouts;
  return timeouts.ping + timeouts.pong;
}

TimePoint WebSocketConnection::due() const {
  const TimeoutsConfig& timeouts = server_.services().timeouts;
  const bool all_taken = stream_->unsent_bytes() == 0;
  const TimePoint stall = stall_.due(*stream_, patience());
  if (state_ != State::open) return all_taken || hasty_ ? since_ + kCloseTime : stall;
  if (!reads_) return stall;
  return std::min(stall, awaiting_pong_ ? since_ + timeouts.pong : heard_ + timeouts.ping);
}

// As Connection's: the timer is moved only towards the present, and may fire early.
void WebSocketConnection::schedule() {
  if (state_ == State::closed) return;
  const TimePoint when = due();
  if (when != TimePoint::max() && (!timer_.armed() || when < timer_.due())) timer_.arm(when);
}

void WebSocketConnection::on_timer() {
  report_written();
  if (stall_.has_stalled(*stream_, now(), patience())) return close();
  if (now() >= due()) return expire();
  schedule();
}

void WebSocketConnection::expire() {
  if (state_ != State::open) return close();
  if (awaiting_pong_) {
    start_close(CloseCode::going_away, "no pong");
    return settle();
  }
  if (batches_ != nullptr && batches_->size() == 0) batches_.reset();
  write_frame(Opcode::ping, {});
  awaiting_pong_ = true;
  since_ = now();
  schedule();
}

}  // namespace stdgate

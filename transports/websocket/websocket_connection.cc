#include "transports/websocket/websocket_connection.h"

#include <algorithm>
#include <array>
#include <utility>

#include "gateway/base/encodings.h"
#include "gateway/rpc/message_text.h"
#include "transports/http/server.h"

namespace stdgate::websocket {

void FrameWriter::write(Opcode opcode, std::span<const std::string_view> parts) {
  meter_.note_write();
  size_t size = 0;
  for (const std::string_view part : parts) size += part.size();
  const FrameHead head(opcode, size);
  std::array<std::string_view, 8> pieces;
  size_t count = 0;
  pieces[count++] = head.view();
  for (const std::string_view part : parts) {
    if (count == pieces.size()) {
      stream_->write(pieces);
      count = 0;
    }
    pieces[count++] = part;
  }
  stream_->write(std::span(pieces).first(count));
}

void FrameWriter::write_close(CloseCode code, std::string_view reason) {
  const auto number = static_cast<uint16_t>(code);
  const std::array bytes{static_cast<char>(number >> 8), static_cast<char>(number & 0xff)};
  const std::array parts{std::string_view(bytes.data(), bytes.size()), reason};
  const bool has_code = code != CloseCode::no_status;
  write(Opcode::close, std::span(parts).first(has_code ? parts.size() : 0));
}

namespace {

CloseCode close_code_of(session::SessionEnd end) {
  switch (end) {
    case session::SessionEnd::finished:
      return CloseCode::normal;
    case session::SessionEnd::denied:
      return CloseCode::policy_violation;
    case session::SessionEnd::replaced:
      return CloseCode::going_away;
    case session::SessionEnd::failed:
      break;
  }
  return CloseCode::internal_error;
}

}  // namespace

WebSocketConnection::WebSocketConnection(http::Server& server,
                                         std::shared_ptr<const http::Endpoint> endpoint,
                                         const Route& route, Greeting greeting)
    : server_(server),
      endpoint_(std::move(endpoint)),
      backend_(route.backend),
      meter_(server, ConnectionKind::websocket, [this] { on_timer(); }),
      reader_(server.services().loop.storages(), server.services().limits.message),
      writer_(meter_),
      messages_(server, route,
                {greeting.connection, std::move(greeting.trace),
                 std::move(greeting.identity.principal), greeting.payer},
                [this](std::span<const std::string_view> parts) { write_message(parts); }),
      pending_(server.services().loop.storages()),
      expires_(greeting.identity.expires) {
  meter_.set_payer(greeting.payer);
  // Sessions are kept for ACP alone, whose RFD says that binary frames are ignored.
  if (route.keeper != nullptr) reader_.ignore_binary();
}

void WebSocketConnection::take_over(std::unique_ptr<net::Stream> stream, ByteQueue already_read) {
  stream_ = std::move(stream);
  stream_->set_events(*this);
  stream_->set_watermark(kMaxBacklog);
  meter_.open(*stream_);
  writer_.open(*stream_);
  pulse_.note_heard(meter_.now());
  stream_->resume_read(net::Stream::kBackPressure);
  stream_->resume_read(net::Stream::kBusy);
  stream_->resume_read(net::Stream::kTurn);
  pending_.adopt(std::move(already_read));
  resume_asked_ = true;  // it comes below
  messages_.replay();
  resume();
}

void WebSocketConnection::enter(State state) {
  state_ = state;
  since_ = meter_.now();
}

// --- Reading -------------------------------------------------------------------------------------

void WebSocketConnection::on_bytes(std::span<char> bytes) {
  meter_.note_read(bytes.size());
  if (state_ == State::closed || state_ == State::lingering) return;
  pulse_.note_heard(meter_.now());
  if (pending_.empty() && may_go_on()) {
    const size_t taken = read(bytes);
    pending_.append({bytes.data() + taken, bytes.size() - taken});
  } else {
    pending_.append({bytes.data(), bytes.size()});
  }
  settle();
  if (state_ != State::open || meter_.held() == 0 || meter_.lack_after_relief() == MemoryLack::none)
    return;
  // The stream is not read on instead.
  if ((messages_.waits() || yields_) && !reader_.is_in_message()) return;
  start_close(CloseCode::try_again_later, meter_.lack() == MemoryLack::of_holder
                                              ? "limits.buffered_per_client is used up"
                                              : "limits.buffered is used up");
  settle();
}

bool WebSocketConnection::may_hand_over() const {
  return state_ == State::open && messages_.core_reads() && !choked_ && !ending_;
}

bool WebSocketConnection::may_read() const {
  if (state_ != State::open) return state_ == State::closing;
  if (choked_ || ending_) return false;
  return messages_.core_reads() ||
         (messages_.kept() < kMaxKept && meter_.lack() == MemoryLack::none);
}

size_t WebSocketConnection::read(std::span<char> bytes) {
  const auto taken = reader_.feed(bytes, *this);
  if (taken) return *taken;
  start_close(taken.error().code, taken.error().reason);
  linger();  // what follows cannot be read
  return bytes.size();
}

bool WebSocketConnection::on_message(std::span<char> text) {
  pulse_.note_message();
  if (state_ != State::open) return true;  // sent before the client saw our close frame
  meter_.use_turn(text.size());
  messages_.take(text);
  return may_go_on();
}

bool WebSocketConnection::on_ping(std::string_view payload) {
  meter_.use_turn(0);
  if (state_ == State::open) write_frame(Opcode::pong, {&payload, 1});
  return may_go_on();
}

void WebSocketConnection::on_close(CloseCode code, std::string_view /*reason*/) {
  hand_over_rest();
  if (state_ == State::open) start_close(code, {});
  linger();
}

void WebSocketConnection::hand_over_kept() {
  const auto is_overdue = [this] {
    return state_ == State::open && !ending_ && meter_.now() >= messages_.kept_due();
  };
  while ((may_hand_over() || is_overdue()) && messages_.hand_over_next()) {
    meter_.use_turn(0);
    if (!meter_.has_turn()) return ask_resume();
  }
}

// The client has gone: the core queues what it has room for and refuses the rest, as if the client
// had sent it before the pause; then its calls are cancelled.
void WebSocketConnection::hand_over_rest() {
  while (state_ == State::open && !ending_ && messages_.hand_over_next()) {
  }
}

// --- From the core -------------------------------------------------------------------------------

void WebSocketConnection::on_reply(session::Tag tag, const session::Reply& reply) {
  messages_.finish(tag, reply);
  note_call_end();
}

void WebSocketConnection::on_cancelled(session::Tag tag) {
  messages_.finish_cancelled(tag);
  note_call_end();
}

void WebSocketConnection::note_call_end() {
  if (drains() && !messages_.has_calls()) ask_resume();
}

void WebSocketConnection::on_event(session::Tag /*tag*/, std::string_view notification) {
  write_message({&notification, 1});
}

void WebSocketConnection::on_message(std::optional<session::Tag> /*call*/,
                                     std::span<const std::string_view> parts) {
  if (messages_.hears_session()) write_message(parts);
}

void WebSocketConnection::set_reading(bool reading) {
  messages_.set_core_reads(reading);
  pulse_.note_heard(meter_.now());  // it was not pinged meanwhile
  ask_resume();
}

void WebSocketConnection::on_session_end(session::SessionEnd end, std::string_view message) {
  end_later(close_code_of(end), message);
}

void WebSocketConnection::end_later(CloseCode code, std::string_view reason) {
  if (ending_) return;
  ending_ = true;
  end_code_ = code;
  end_reason_ = cut_utf8(reason, kMaxReason);
  ask_resume();
}

void WebSocketConnection::ask_resume() {
  // Before it, take_over() resumes anyway, and the server does not know of us.
  if (stream_ == nullptr) return;
  if (!std::exchange(resume_asked_, true)) server_.resume_later(*this);
}

void WebSocketConnection::resume() {
  resume_asked_ = false;
  if (state_ == State::open && ending_) start_close(end_code_, end_reason_);
  if (drains()) return drain();
  settle();
}

// --- Writing -------------------------------------------------------------------------------------

void WebSocketConnection::write_message(std::span<const std::string_view> parts) {
  if (state_ != State::open || hasty_) return;
  // Judged before the message is added, so that a single large one can be sent.
  if (!backend_.owns_children() && stream_->unsent_bytes() > server_.services().limits.outbox) {
    server_.services().observer.on_dropped(backend_.id(), DropReason::outbox_full);
    hasty_ = true;
    return end_later(CloseCode::try_again_later, "the client reads too slowly");
  }
  if (!messages_.omits_version()) return write_frame(Opcode::text, parts);
  const std::string text = rpc::without_version(parts);
  const std::string_view whole = text;
  write_frame(Opcode::text, {&whole, 1});
}

void WebSocketConnection::write_frame(Opcode opcode, std::span<const std::string_view> parts) {
  writer_.write(opcode, parts);
  if (stream_->unsent_bytes() > kMaxBacklog && !std::exchange(choked_, true)) ask_resume();
}

void WebSocketConnection::on_writable() {
  if (state_ == State::closed) return;
  choked_ = false;
  settle();
}

void WebSocketConnection::on_flushed() {
  if (state_ == State::open || state_ == State::closed) return;
  since_ = meter_.now();
  settle();
}

// --- Ending --------------------------------------------------------------------------------------

void WebSocketConnection::start_close(CloseCode code, std::string_view reason) {
  if (state_ == State::open) {
    writer_.write_close(code, reason);
    enter(State::closing);
    reader_.discard_messages();
  }
  messages_.close_session();
}

void WebSocketConnection::linger() {
  enter(State::lingering);
  stream_->shutdown_write();
}

void WebSocketConnection::on_end() {
  peer_ended_ = true;
  hand_over_rest();
  if (state_ != State::lingering || stream_->unsent_bytes() == 0) close();
}

void WebSocketConnection::on_error(int /*error*/) {
  hand_over_rest();
  close();
}

bool WebSocketConnection::drains() const { return leaves_ || server_.draining(); }

void WebSocketConnection::drain() {
  hand_over_kept();
  if (state_ == State::open && messages_.is_idle() && !yields_) {
    start_close(CloseCode::going_away, "going away");
  }
  settle();
}

void WebSocketConnection::close() {
  if (state_ == State::closed) return;
  state_ = State::closed;
  stream_->pause_read(net::Stream::kBusy);
  messages_.close_session();
  reader_.release();
  pending_.clear();
  meter_.close();
  server_.remove(*this);
}

void WebSocketConnection::cut() {
  stream_->close();
  close();
}

// --- After each step -----------------------------------------------------------------------------

void WebSocketConnection::settle() {
  if (state_ == State::closed) return;
  hand_over_kept();
  if (!pending_.empty() && may_go_on()) {
    const size_t taken = read(pending_.bytes());
    if (!pending_.empty()) pending_.consume(taken);  // it is cleared by close()
  }
  if (state_ == State::lingering) {
    pending_.clear();
    reader_.release();
    if (peer_ended_ && stream_->unsent_bytes() == 0) return close();
  }
  pending_.release_if_empty();
  if (!pending_.empty() || yields_) yield();
  apply_pressure();
  hold_child();
  const bool is_receiving = state_ == State::open && reads_ && reader_.is_in_message();
  if (is_receiving) {
    pulse_.note_part(meter_.now(), stream_->bytes_read());
  } else {
    pulse_.note_message();
  }
  account_held();
  schedule();
}

// The rest is read in the next turn.
void WebSocketConnection::yield() {
  const bool yields = !pending_.empty() && may_read() && !meter_.has_turn();
  // Once all has been read, it may end.
  if (yields || (yields_ && drains())) ask_resume();
  if (yields == std::exchange(yields_, yields)) return;
  yields ? stream_->pause_read(net::Stream::kTurn) : stream_->resume_read(net::Stream::kTurn);
}

void WebSocketConnection::apply_pressure() {
  const bool reads = may_read() || state_ == State::lingering;
  if (reads && !std::exchange(reads_, true)) {
    stream_->resume_read(net::Stream::kBusy);
    pulse_.note_heard(meter_.now());  // nothing was read meanwhile
  } else if (!reads && std::exchange(reads_, false)) {
    stream_->pause_read(net::Stream::kBusy);
    looked_ = meter_.now();
  }
}

void WebSocketConnection::hold_child() {
  if (state_ != State::open || !backend_.owns_children() || choked_ == child_held_) return;
  child_held_ = choked_;
  backend_.hold_child(messages_.session(), choked_);
}

void WebSocketConnection::account_held() {
  meter_.hold(pending_.capacity() + reader_.held() + messages_.held());
}

http::HeldMemory WebSocketConnection::held_memory() const {
  return meter_.held_memory(reads_ ? pulse_.receiving_since() : std::nullopt);
}

// --- Time ----------------------------------------------------------------------------------------

// The client takes none of the unsent bytes.
Duration WebSocketConnection::patience() const {
  const config::TimeoutsConfig& timeouts = server_.services().timeouts;
  return timeouts.ping + timeouts.pong;
}

TimePoint WebSocketConnection::due() const {
  const config::TimeoutsConfig& timeouts = server_.services().timeouts;
  const TimePoint taking = meter_.taking_due(patience());
  const bool all_taken = taking == TimePoint::max();
  if (state_ != State::open) return all_taken || hasty_ ? since_ + kCloseTime : taking;
  const TimePoint kept = std::min({taking, messages_.kept_due(), expires_});
  if (!reads_) return std::min(kept, looked_ + kLookTime);
  const TimePoint message = std::min(kept, pulse_.message_due(timeouts));
  return messages_.core_reads() ? std::min(message, pulse_.silence_due(timeouts)) : message;
}

void WebSocketConnection::schedule() {
  if (state_ != State::closed) meter_.schedule(due());
}

void WebSocketConnection::on_timer() {
  meter_.report_written();
  if (meter_.takes_too_little(patience())) {
    server_.log_slow(*this, stream_->unsent_bytes());
    return close();
  }
  if (meter_.now() >= due()) return expire();
  schedule();
}

void WebSocketConnection::end_credential() {
  if (state_ != State::open) return;
  start_close(CloseCode::policy_violation, "the credential is not good any more");
  settle();
}

void WebSocketConnection::expire() {
  if (state_ != State::open) return close();
  if (meter_.now() >= expires_) {
    start_close(CloseCode::policy_violation, "the credential has expired");
    return settle();
  }
  if (meter_.now() >= messages_.kept_due()) return settle();
  if (!reads_) return look();
  const http::HttpServices& services = server_.services();
  if (pulse_.is_message_late(meter_.now(), services.timeouts, services.limits.min_rate,
                             stream_->bytes_read())) {
    start_close(CloseCode::policy_violation, "a message came too slowly");
    return settle();
  }
  if (messages_.core_reads() && meter_.now() >= pulse_.silence_due(services.timeouts)) {
    judge_silence();
  }
  schedule();
}

void WebSocketConnection::judge_silence() {
  if (pulse_.awaits_pong()) {
    start_close(CloseCode::going_away, "no pong");
    return settle();
  }
  messages_.release_memory();
  write_frame(Opcode::ping, {});
  pulse_.note_ping(meter_.now());
}

// While nothing is read, a read cannot show that the client has gone, so the stream is asked.
void WebSocketConnection::look() {
  if (stream_->has_peer_left()) return on_end();
  looked_ = meter_.now();
  settle();  // there may be memory again
}

}  // namespace stdgate::websocket

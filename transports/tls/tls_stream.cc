#include "transports/tls/tls_stream.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "transports/tls/handshakes.h"

namespace stdgate::tls {

namespace {

constexpr size_t kGather = 16;                // pieces of one batch
constexpr size_t kSealBatch = 128 << 10;      // plaintext that is sealed into one write
constexpr size_t kRecord = 16 << 10;          // the most that one record holds
constexpr size_t kRecordOverhead = 64;        // header, nonce, tag
constexpr size_t kParting = 16 << 10;         // unsent bytes that a close() still lets out
constexpr size_t kAccountedWrite = 64 << 10;  // that is charged before the end of the turn

constexpr std::string_view kPlainHttpAnswer =
    "HTTP/1.1 400 Bad Request\r\n"
    "Content-Type: text/plain; charset=utf-8\r\n"
    "Content-Length: 50\r\n"
    "Connection: close\r\n"
    "\r\n"
    "this port speaks TLS only; use https:// or wss://\n";

}  // namespace

TlsStream::TlsStream(const TlsStreamServices& services, std::shared_ptr<const TlsContext> context,
                     TlsEvents& tls_events, std::unique_ptr<net::Stream> below,
                     const ClientAddress& client)
    : services_(services),
      context_(std::move(context)),
      tls_events_(tls_events),
      below_(std::move(below)),
      client_(client),
      bio_(services_.loop.storages()),
      unsent_(services_.loop.storages()),
      timer_(services_.loop.timers(), [this] { on_timer(); }) {
  below_->set_events(*this);
  below_->set_watermark(kSealAhead);
}

TlsStream::~TlsStream() { close(); }

// --- Handshake -----------------------------------------------------------------------------------

void TlsStream::on_bytes(std::span<char> bytes) {
  if (state_ == State::lingering) {
    lingered_ += bytes.size();
    if (lingered_ > kLingerBytes) fail(-EPROTO);
    return;
  }
  // Bytes after close_notify are ignored (RFC 8446 section 6.1).
  if (end_to_report_ || has_ended_) return;
  bio_.feed({bytes.data(), bytes.size()});
  if (state_ == State::fresh && has_first_record()) take_first_record();
  if (state_ >= State::lingering) return bio_.drop_unread();
  advance();
  bio_.keep_rest();
  account();
}

// OpenSSL judges at once what is not a record of a handshake.
bool TlsStream::has_first_record() const {
  constexpr size_t kHeader = 5;  // RFC 8446 section 5.1
  constexpr uint8_t kHandshake = 22;
  const size_t size = bio_.unread();
  if (bio_.byte(0) != kHandshake) return true;
  if (size < kHeader) return false;
  const size_t length = static_cast<size_t>(bio_.byte(3)) << 8 | bio_.byte(4);
  return length > kRecord || size >= kHeader + length;
}

void TlsStream::take_first_record() {
  // No record of TLS begins like a method.
  if (bio_.byte(0) >= 'A' && bio_.byte(0) <= 'Z') return answer_plain_http();
  if (services_.handshakes.begin(*this, client_)) {
    state_ = State::shaking;
    begin_handshake();
  } else {
    state_ = State::queued;
    pause_below();
  }
}

void TlsStream::answer_plain_http() {
  tls_events_.on_handshake_failed(HandshakeFailure::plain_http, {}, client_);
  below_->write(kPlainHttpAnswer);
  linger();
}

void TlsStream::on_handshake_turn() {
  state_ = State::shaking;
  services_.loop.flush_later(*this);
}

void TlsStream::begin_handshake() {
  ssl_ = context_->make_ssl();
  BIO* bio = ssl_ == nullptr ? nullptr : bio_.make();
  if (bio == nullptr) return fail_handshake(HandshakeFailure::other, "out of memory");
  SSL_set_bio(ssl_.get(), bio, bio);
  SSL_set_accept_state(ssl_.get());
  SSL_set_msg_callback_arg(ssl_.get(), this);
  SSL_set_msg_callback(ssl_.get(), [](int is_own, int, int type, const void* message, size_t size,
                                      SSL*, void* self) {
    const bool is_update = is_own == 0 && type == SSL3_RT_HANDSHAKE && size > 0 &&
                           *static_cast<const uint8_t*>(message) == SSL3_MT_KEY_UPDATE;
    if (is_update) static_cast<TlsStream*>(self)->note_key_update();
  });
}

void TlsStream::advance() {
  if (state_ == State::shaking && !shake()) return;
  if (state_ == State::open) decrypt();
}

bool TlsStream::shake() {
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  const bool wants_more = result != 1 && SSL_get_error(ssl_.get(), result) == SSL_ERROR_WANT_READ;
  send_sealed();
  if (wants_more) return false;
  if (result != 1) {
    const HandshakeError error = take_handshake_error(*ssl_);
    fail_handshake(error.reason, error.detail);
    return false;
  }
  leave_handshakes();
  state_ = State::open;
  timer_.disarm();
  pause_below();
  services_.loop.flush_later(*this);  // what has been written meanwhile
  return true;
}

std::optional<net::PeerCertificate> TlsStream::peer_certificate() const {
  if (ssl_ == nullptr || state_ != State::open) return std::nullopt;
  return client_certificate_of(*ssl_);
}

void TlsStream::fail_handshake(HandshakeFailure reason, std::string_view detail) {
  leave_handshakes();
  tls_events_.on_handshake_failed(reason, detail, client_);
  linger();
}

void TlsStream::linger() {
  state_ = State::lingering;
  unsent_.clear();
  account();
  below_->shutdown_write();
  timer_.arm(services_.loop.now() + kLingerTime);
}

void TlsStream::leave_handshakes() {
  if (state_ == State::queued) services_.handshakes.leave(*this, client_);
  if (state_ == State::shaking) services_.handshakes.end(client_);
  if (is_before_open()) state_ = State::fresh;
}

void TlsStream::on_timer() {
  if (state_ == State::lingering) return fail(-EPROTO);
  const bool has_waited = state_ == State::queued;
  leave_handshakes();
  tls_events_.on_handshake_failed(HandshakeFailure::timeout,
                                  has_waited ? "limits.handshakes were under way" : "", client_);
  fail(-ETIMEDOUT);
}

// --- Reading -------------------------------------------------------------------------------------

void TlsStream::pause_read(PauseReason reason) {
  pause_reasons_ |= reason;
  pause_below();
}

void TlsStream::resume_read(PauseReason reason) {
  pause_reasons_ &= static_cast<uint8_t>(~reason);
  if (reason == kNotStarted && state_ == State::fresh) {
    timer_.arm(services_.loop.now() + services_.handshake_timeout);
    below_->resume_read(kNotStarted);
  }
  pause_below();
  if (pause_reasons_ == 0 && (decrypt_later_ || end_to_report_)) {
    services_.loop.flush_later(*this);
  }
}

// A handshake goes on whatever the owner has paused for.
void TlsStream::pause_below() {
  if (state_ == State::queued || (state_ == State::open && pause_reasons_ != 0)) {
    below_->pause_read(kBusy);
  } else {
    below_->resume_read(kBusy);
  }
}

void TlsStream::decrypt() {
  decrypt_later_ = false;
  while (state_ == State::open && !end_to_report_ && !has_ended_) {
    if (pause_reasons_ != 0) {
      decrypt_later_ = true;
      return;
    }
    size_t size = 0;
    const Read read = fill(size);
    send_sealed();  // answers to updates of keys, alerts
    bytes_read_ += size;
    if (size > 0) events_->on_bytes(services_.plain_buffer.first(size));
    if (state_ != State::open || read == Read::full) continue;
    if (read == Read::failed) return fail(-EPROTO);
    if (read == Read::empty && !below_ended_) return;
    end_to_report_ = true;
    report_end();
  }
}

TlsStream::Read TlsStream::fill(size_t& size) {
  const std::span<char> room = services_.plain_buffer;
  while (size < room.size()) {
    ERR_clear_error();
    size_t count = 0;
    if (SSL_read_ex(ssl_.get(), room.data() + size, room.size() - size, &count) == 1) {
      size += count;
      continue;
    }
    switch (SSL_get_error(ssl_.get(), 0)) {
      case SSL_ERROR_WANT_READ:
        return has_too_many_key_updates() ? Read::failed : Read::empty;
      case SSL_ERROR_ZERO_RETURN:
        return Read::ended;
      default:
        return Read::failed;
    }
  }
  return Read::full;
}

bool TlsStream::has_too_many_key_updates() const {
  return key_updates_ > kMaxKeyUpdates + bytes_read_ / (1 << 20);
}

// OpenSSL reads on until it has data of the application: with nothing left to read it stops.
void TlsStream::note_key_update() {
  ++key_updates_;
  if (has_too_many_key_updates()) bio_.drop_unread();
}

void TlsStream::report_end() {
  if (!end_to_report_ || pause_reasons_ != 0) return;
  end_to_report_ = false;
  has_ended_ = true;
  events_->on_end();
}

// Without close_notify too: HTTP and WebSocket messages say themselves where they end.
void TlsStream::on_end() {
  below_ended_ = true;
  if (state_ == State::open) return advance();
  if (state_ == State::over) return;
  const bool has_begun = is_before_open() && state_ != State::fresh;
  leave_handshakes();
  if (has_begun) tls_events_.on_handshake_failed(HandshakeFailure::left, {}, client_);
  fail(-ECONNRESET);
}

void TlsStream::on_error(int error) {
  if (state_ == State::over) return;
  const bool has_begun = is_before_open() && state_ != State::fresh;
  leave_handshakes();
  if (has_begun) tls_events_.on_handshake_failed(HandshakeFailure::left, {}, client_);
  fail(error);
}

// --- Writing -------------------------------------------------------------------------------------

void TlsStream::write(std::span<const std::string_view> parts) {
  if (state_ >= State::lingering || shutdown_asked_) return;
  size_t size = 0;
  for (const std::string_view part : parts) size += part.size();
  if (size == 0) return;
  if (unsent_bytes() == 0) waiting_since_ = services_.loop.now();
  if (size < StoragePool::kShared) {
    unsent_.append(parts, size);
  } else {
    for (const std::string_view part : parts) keep(part);
  }
  flushed_to_report_ = true;
  if (unsent_bytes() > watermark_) above_watermark_ = true;
  services_.loop.flush_later(*this);
  if (unsent_.size() >= kAccountedWrite) account();
}

void TlsStream::keep(std::string_view part) {
  StoragePool& storages = services_.loop.storages();
  if (part.size() < StoragePool::kShared) return unsent_.append({&part, 1}, part.size());
  if (SharedBytes shared = storages.share(part); !shared.empty()) {
    return unsent_.push(net::OutPiece(std::move(shared)));
  }
  // A close() keeps what has been taken over until this is destroyed: the caller may look at it.
  if (ByteQueue taken = storages.take_over(part); !taken.empty()) {
    return unsent_.push(net::OutPiece(std::move(taken)));
  }
  unsent_.append({&part, 1}, part.size());
}

void TlsStream::flush() {
  if (state_ == State::shaking && ssl_ == nullptr) {
    begin_handshake();
    pause_below();
    advance();
    bio_.keep_rest();
  } else if (decrypt_later_) {
    decrypt();
    bio_.keep_rest();
  }
  report_end();
  seal();
  report_progress();
}

void TlsStream::seal() {
  while (state_ == State::open && !unsent_.empty() && below_->unsent_bytes() < kSealAhead) {
    if (!seal_batch()) return;
  }
  account();
  finish_shutdown();
}

bool TlsStream::seal_batch() {
  std::array<std::string_view, kGather> views;
  size_t count = 0;
  unsent_.visit_first(views.size(), [&](std::string_view view) { views[count++] = view; });
  const size_t most = std::min(unsent_.size(), kSealBatch);
  const size_t room = most + (most / kRecord + count + 1) * kRecordOverhead;
  bio_.sealed().reserve(room, room);
  size_t taken = 0;
  for (size_t i = 0; i < count && taken < kSealBatch; ++i) {
    const std::string_view part = views[i].substr(0, kSealBatch - taken);
    ERR_clear_error();
    size_t written = 0;
    if (SSL_write_ex(ssl_.get(), part.data(), part.size(), &written) != 1) {
      fail(-EPROTO);
      return false;
    }
    taken += written;
  }
  written_ = bytes_written();
  sealed_ += taken;
  unsent_.consume(taken);
  send_sealed();
  return true;
}

void TlsStream::send_sealed() {
  if (bio_.sealed().empty()) return;
  StoragePool& storages = services_.loop.storages();
  ByteQueue sealed = bio_.sealed().take();
  {
    const StorageOffer offer(storages, sealed);
    below_->write(sealed.view());
  }
  if (sealed.capacity() > 0) storages.give_back(std::move(sealed));
}

void TlsStream::on_writable() {
  seal();
  report_progress();
}

void TlsStream::on_flushed() {
  seal();
  report_progress();
}

void TlsStream::report_progress() {
  if (state_ != State::open) return;
  if (above_watermark_ && unsent_bytes() <= watermark_ / 2) {
    above_watermark_ = false;
    events_->on_writable();
  }
  if (state_ != State::open || unsent_bytes() != 0) return;
  if (std::exchange(flushed_to_report_, false)) events_->on_flushed();
}

void TlsStream::set_watermark(size_t bytes) {
  watermark_ = bytes;
  below_->set_watermark(std::min(bytes, kSealAhead));
}

void TlsStream::shutdown_write() {
  if (shutdown_asked_ || state_ >= State::lingering) return;
  shutdown_asked_ = true;
  services_.loop.flush_later(*this);
}

void TlsStream::finish_shutdown() {
  if (!shutdown_asked_ || shutdown_done_ || !unsent_.empty() || state_ != State::open) return;
  shutdown_done_ = true;
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
  send_sealed();
  below_->shutdown_write();
}

uint64_t TlsStream::bytes_written() const {
  const uint64_t waiting = below_->unsent_bytes();
  return std::max(written_, sealed_ - std::min(sealed_, waiting));
}

size_t TlsStream::unsent_bytes() const {
  if (state_ == State::open) return unsent_.size() + below_->unsent_bytes();
  return is_before_open() ? unsent_.size() : 0;
}

TimePoint TlsStream::waiting_since() const {
  return below_->unsent_bytes() > 0 ? below_->waiting_since() : waiting_since_;
}

// --- Memory --------------------------------------------------------------------------------------

size_t TlsStream::unsent_memory() const {
  return state_ == State::over ? 0 : unsent_.held() + below_->unsent_memory();
}

void TlsStream::set_payer(const Payer& payer) {
  held_unsent_.move_to(payer);
  held_received_.move_to(payer);
  below_->set_payer(payer);
}

void TlsStream::account() {
  held_unsent_.set(unsent_.held());
  held_received_.set(bio_.left_memory());
}

// --- The end -------------------------------------------------------------------------------------

// Called on the outermost level only.
void TlsStream::fail(int error) {
  state_ = State::over;
  timer_.disarm();
  unsent_.clear();
  account();
  below_->pause_read(kBusy);
  events_->on_error(error);
}

void TlsStream::close() {
  if (std::exchange(is_closed_, true)) return;
  const bool may_part = unsent_.empty() && below_->unsent_bytes() <= kParting;
  leave_handshakes();
  timer_.disarm();
  if (state_ == State::open && may_part && !shutdown_done_) {
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
    send_sealed();
  }
  state_ = State::over;
  services_.loop.forget(*this);
  held_unsent_.set(0);  // it ends at the end of the turn
  held_received_.set(0);
  if (!may_part) return below_->close();
  // The last words go out at the end of the turn, before the owner's retirement ends this.
  below_->pause_read(kBusy);
  below_->shutdown_write();
}

}  // namespace stdgate::tls

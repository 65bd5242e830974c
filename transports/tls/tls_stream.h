// TlsStream: the server's end of a TLS connection, as a Stream over another one.
//
// States: fresh (no whole record has come), queued (limits.handshakes are under way), shaking,
// open, lingering (the handshake has failed; the reason is sent, and input discarded until the
// client closes, because a reset could destroy the reason), over.
//
// Writes of the owner are kept as plaintext, and sealed at the end of the turn, at most kSealAhead
// ahead of the socket. So a large answer exists once, and a shared answer stays shared. While
// reading is paused, nothing is decrypted: bytes that have been read from the socket already, one
// read at most, are kept sealed and charged to the Payer. Owner: the connection. Owns the stream
// below. OpenSSL is never on the stack when the owner is called. Limits: timeouts.handshake;
// kLingerTime, kLingerBytes.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "gateway/base/addresses.h"
#include "gateway/base/time.h"
#include "gateway/observer.h"
#include "transports/net/loop.h"
#include "transports/net/stream.h"
#include "transports/tls/handshakes.h"
#include "transports/tls/memory_bio.h"
#include "transports/tls/tls_context.h"

namespace stdgate::tls {

// Shared by the streams of a listener; outlives them until their close().
struct TlsStreamServices {
  net::Loop& loop;
  Handshakes& handshakes;
  const Duration& handshake_timeout;  // may change
  std::span<char> plain_buffer;       // where streams decrypt to: each read is handled at once
};

// Told of the handshakes of a listener; must not call back.
class TlsEvents {
 public:
  virtual ~TlsEvents() = default;
  virtual void on_handshake_failed(HandshakeFailure reason, std::string_view detail,
                                   const ClientAddress& client) = 0;
};

class TlsStream final : public net::Stream,
                        private net::StreamEvents,
                        private net::Flushable,
                        private Handshakes::Waiter {
 public:
  // Sealed bytes that wait below before more are made.
  static constexpr size_t kSealAhead = 256 << 10;
  static constexpr Duration kLingerTime = std::chrono::seconds(2);
  static constexpr size_t kLingerBytes = 64 << 10;
  // Key updates that a client may cause, besides one for each MiB that it sends. An update costs
  // far more than its bytes.
  static constexpr uint64_t kMaxKeyUpdates = 32;

  TlsStream(const TlsStreamServices& services, std::shared_ptr<const TlsContext> context,
            TlsEvents& tls_events, std::unique_ptr<net::Stream> below, const ClientAddress& client);
  ~TlsStream() override;
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  void set_payer(const Payer& payer) override;
  void set_events(net::StreamEvents& events) override { events_ = &events; }
  void pause_read(PauseReason reason) override;
  void resume_read(PauseReason reason) override;
  void write(std::span<const std::string_view> parts) override;
  using net::Stream::write;
  // Plaintext that waits to be sealed, plus sealed bytes that wait in the stream below.
  [[nodiscard]] size_t unsent_bytes() const override;
  void set_watermark(size_t bytes) override;
  [[nodiscard]] std::optional<net::PeerCertificate> peer_certificate() const override;
  void shutdown_write() override;  // by close_notify
  void close() override;           // with close_notify, if nothing is unsent
  // Plaintext. Written bytes count as soon as none of them waits in the stream below.
  [[nodiscard]] uint64_t bytes_read() const override { return bytes_read_; }
  [[nodiscard]] uint64_t bytes_written() const override;
  [[nodiscard]] uint64_t bytes_taken() const override { return below_->bytes_taken(); }
  [[nodiscard]] TimePoint waiting_since() const override;
  [[nodiscard]] size_t unsent_memory() const override;
  [[nodiscard]] bool has_peer_left() const override { return below_->has_peer_left(); }
  [[nodiscard]] bool has_unread() const override {
    return decrypt_later_ || end_to_report_ || below_->has_unread();
  }

 private:
  enum class State : uint8_t { fresh, queued, shaking, open, lingering, over };
  enum class Read : uint8_t { full, empty, ended, failed };  // why decrypting has stopped

  // StreamEvents, of the stream below
  void on_bytes(std::span<char> bytes) override;
  void on_end() override;
  void on_error(int error) override;
  void on_writable() override;
  void on_flushed() override;
  void flush() override;              // Flushable
  void on_handshake_turn() override;  // Handshakes::Waiter

  // Handshake
  [[nodiscard]] bool has_first_record() const;
  void take_first_record();
  void begin_handshake();
  void advance();
  bool shake();  // whether it is done
  void fail_handshake(HandshakeFailure reason, std::string_view detail);
  void answer_plain_http();
  void linger();
  void leave_handshakes();
  void on_timer();

  // Reading
  void decrypt();
  Read fill(size_t& size);
  void report_end();
  void pause_below();
  void note_key_update();
  [[nodiscard]] bool has_too_many_key_updates() const;

  // Writing
  void keep(std::string_view part);
  void seal();
  bool seal_batch();
  void send_sealed();
  void finish_shutdown();
  void report_progress();
  void account();

  void fail(int error);
  [[nodiscard]] bool is_before_open() const { return state_ < State::open; }

  const TlsStreamServices services_;
  const std::shared_ptr<const TlsContext> context_;
  TlsEvents& tls_events_;
  std::unique_ptr<net::Stream> below_;
  const ClientAddress client_;
  net::StreamEvents* events_ = nullptr;
  MemoryBio bio_;  // before ssl_, which uses it
  SslPtr ssl_;     // from the handshake on
  net::OutQueue unsent_;
  Timer timer_;                                  // of the handshake, then of lingering
  Share held_unsent_{{}, Holding::unsent};       // of unsent_
  Share held_received_{{}, Holding::receiving};  // of what is left to be decrypted
  TimePoint waiting_since_{};
  size_t watermark_ = SIZE_MAX;
  uint64_t bytes_read_ = 0;
  uint64_t sealed_ = 0;       // plaintext
  uint64_t written_ = 0;      // of it, when the last of it was sealed
  size_t lingered_ = 0;       // bytes
  uint64_t key_updates_ = 0;  // of the client
  State state_ = State::fresh;
  uint8_t pause_reasons_ = kNotStarted;
  bool decrypt_later_ = false;  // something was left when reading was paused
  bool below_ended_ = false;
  bool end_to_report_ = false;
  bool has_ended_ = false;  // reported
  bool above_watermark_ = false;
  bool flushed_to_report_ = false;
  bool shutdown_asked_ = false;
  bool shutdown_done_ = false;
  bool is_closed_ = false;
};

}  // namespace stdgate::tls

// Http1Connection: the codec of HTTP/1.1: one client, one exchange at a time.
//
// States: idle (no byte of a request has come), head, body, busy (being answered), discarding (the
// body of a request that was refused by its head is read and dropped), lingering (the last answer
// is given; input is discarded until the client closes, because a reset could destroy the answer:
// RFC 9112 section 9.6), closed (retired; the loop destroys it at the end of the turn).
//
// Requests that come while one is being answered are kept, and wait their turn. Reading continues,
// so that the end of input is noticed. While a call is under way, the end of input cancels the
// call, because half-closing cannot be told from closing. If the client's bytes end between
// requests, the answers that are due are sent before the connection closes.
//
// Owner: the server. Owns its Stream. Owns its request and Exchange from the first byte of a
// request until it has been idle for kKeptTime, so the next head is compared with the last one, and
// an idle connection is small. After that, or at its end, the next connection may have them
// (SpareExchanges). The core is never called from within its own callbacks: what would lead there
// waits for resume() at the end of the turn. Limits: config limits and timeouts; kMaxPending bytes
// of waiting requests before reading pauses; kMaxBacklog bytes of answers that the client has not
// taken before the next request is read; the connection's share of a turn, beyond which requests
// are read in the next turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "gateway/base/byte_storage.h"
#include "transports/http/admission.h"
#include "transports/http/client_connection.h"
#include "transports/http/http1_request.h"
#include "transports/net/stream.h"

namespace stdgate::http {

class Server;

class Http1Connection final : public ClientConnection, public net::StreamEvents, private Codec {
 public:
  static constexpr size_t kMaxPending = 16 << 10;
  static constexpr size_t kMaxBacklog = 256 << 10;
  static constexpr size_t kLingerBytes = 1 << 20;
  static constexpr Duration kLingerTime = std::chrono::seconds(2);
  static constexpr Duration kKeptTime = std::chrono::seconds(2);

  explicit Http1Connection(Server& server);
  ~Http1Connection() override;

  // Its events come here from now on.
  void open(std::unique_ptr<net::Stream> stream);
  // Answers without waiting for a request, and closes.
  void turn_away(const HttpError& error);

  // ClientConnection
  [[nodiscard]] ConnectionKind kind() const override { return ConnectionKind::http; }
  [[nodiscard]] bool has_request() const override {
    const bool waits = state_ == State::idle && (!pending_.empty() || stream_->has_unread());
    return waits || state_ == State::head || state_ == State::body;
  }
  void drain() override;  // closes now if nothing is under way, else with the answer
  void close() override;
  void cut() override {
    stream_->close();
    close();
  }
  [[nodiscard]] HeldMemory held_memory() const override {
    return meter_.held_memory(state_ == State::body ? std::optional(since_) : std::nullopt);
  }
  [[nodiscard]] const Account* account() const override { return meter_.payer().account; }
  void report_written() override { meter_.report_written(); }
  void resume() override;
  [[nodiscard]] const policy::Principal* principal() const override {
    return is_under_way() ? kept_->exchange.identity.principal.get() : nullptr;
  }
  void leave() override { leaves_ = true; }
  void end_credential() override {
    if (state_ == State::busy) kept_->exchange.end_credential();
  }

 private:
  enum class State : uint8_t { idle, head, body, busy, discarding, lingering, closed };

  // StreamEvents
  void on_bytes(std::span<char> bytes) override;
  void on_end() override;
  void on_error(int /*error*/) override { close(); }
  void on_writable() override;
  void on_flushed() override;
  // Codec
  void send(Exchange& exchange, const Response& response) override;
  void send_head(Exchange& exchange, const Response& response) override;
  void send_piece(Exchange& exchange, std::span<const std::string_view> parts) override;
  void end(Exchange& exchange, bool is_last) override;
  void abort(Exchange& exchange) override;
  [[nodiscard]] size_t unsent(const Exchange& /*exchange*/) const override {
    return stream_->unsent_bytes();
  }
  [[nodiscard]] bool is_backed_up(const Exchange& /*exchange*/) const override {
    return is_blocked();
  }
  [[nodiscard]] bool can_upgrade(const Exchange& /*exchange*/) const override {
    return !kept_->request.head().http_1_0();
  }
  void upgrade(Exchange& exchange, std::string_view fields,
               std::unique_ptr<UpgradedConnection> successor) override;
  [[nodiscard]] const Peer& peer() const override { return ClientConnection::peer(); }
  [[nodiscard]] const auth::Identity& certificate_identity() override;
  [[nodiscard]] Payer payer(const Exchange& /*exchange*/) const override { return meter_.payer(); }
  void charge(Exchange& exchange, HeldBytes* held) override {
    meter_.charge_to(exchange.identity.principal, exchange.origin, held);
  }

  // Requests: each step returns how many bytes it took.
  size_t process(std::span<char> bytes);
  size_t step(std::span<char> bytes) {
    if (state_ == State::body) return step_body(bytes);
    return state_ == State::discarding ? step_discard(bytes) : step_head(bytes);
  }
  size_t step_head(std::span<char> bytes);
  size_t step_body(std::span<char> bytes);
  size_t step_discard(std::span<char> bytes);
  void keep(std::span<const char> bytes) {
    if (!bytes.empty()) pending_.append({bytes.data(), bytes.size()});
  }
  void process_pending();
  void begin_exchange();
  void begin_request(bool body_has_begun);
  void begin_body(bool body_has_begun);
  void refuse_body(const rpc::FaultReport& report);
  void refuse_pending();
  [[nodiscard]] bool may_read() const;
  [[nodiscard]] bool is_under_way() const { return kept_ != nullptr && kept_->exchange.is_open(); }
  [[nodiscard]] bool is_blocked() const { return stream_->unsent_bytes() > kMaxBacklog; }

  // Answers
  void write(std::span<const std::string_view> parts);
  void write_head(const Exchange& exchange, const Response& response, bool close, bool in_pieces,
                  std::span<const std::string_view> body);
  void fail_and_close(const HttpError& error);
  [[nodiscard]] bool closes() const;  // after this answer
  void end_exchange(bool close);

  // Ending
  void hand_over();
  void begin_close();

  // After each step.
  void settle();
  void yield();
  void apply_pressure();
  void ask_resume();
  void rest();

  // Time
  void enter(State state) {  // now
    state_ = state;
    since_ = meter_.now();
  }
  [[nodiscard]] TimePoint due() const;
  void schedule() {
    if (state_ != State::closed) meter_.schedule(due());
  }
  void on_timer();
  void expire();

  Server& server_;
  std::unique_ptr<net::Stream> stream_;
  ConnectionMeter meter_;
  const std::shared_ptr<SpareExchanges> spares_;
  std::unique_ptr<Http1Exchange> kept_;  // null: still for long
  PooledBuffer pending_;                 // a part of a header block, or requests that wait
  CertificateIdentity certificate_;
  TimePoint since_{};     // the present state, or its last progress
  size_t discarded_ = 0;  // while lingering
  State state_ = State::idle;
  bool processing_ = false;    // process() is on the stack
  bool resume_asked_ = false;  // resume() comes
  bool yields_ = false;        // its share of a turn is used up, as told to the stream
  bool leaves_ = false;        // it ends with the next answer
  bool doomed_ = false;        // resume() closes
  bool peer_ended_ = false;    // the client has finished writing
};

}  // namespace stdgate::http

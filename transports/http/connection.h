// Connection: one HTTP/1.1 client, one exchange at a time.
//
// States: idle (nothing of a request has come), head, body, busy (being answered), discarding (the
// body of a request that was refused by its head comes, and goes nowhere), lingering (last
// answer given; input is discarded until the client closes, else a reset could take the answer from
// it: RFC 9112 section 9.6), closed (retired; the loop destroys it at the end of the turn).
//
// Requests that come while one is being answered are kept and wait their turn. Reading goes on
// meanwhile, so that the client's leaving is noticed: the end of input while a call is under way
// cancels the call, as half-closing cannot be told from closing. End of input between requests
// lets what has been answered go out first. Owner: the server. Owns its Stream; reads requests with
// a RequestReader and answers with a ResponseWriter, and decides itself in which order.
// The core is never called from inside of its own callbacks (on_reply, on_event): what would lead
// there waits for resume() at the end of the turn. Limits: config limits and timeouts; kMaxPending
// bytes of waiting requests before reading pauses; kMaxBacklog bytes of answers not taken before
// the next request is read; the connection's share of a turn, the requests beyond it are read in
// the next one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "gateway/base/pooled_buffer.h"
#include "gateway/session/reply_sink.h"
#include "transports/http/admission.h"
#include "transports/http/client_connection.h"
#include "transports/http/connection_meter.h"
#include "transports/http/connection_traits.h"
#include "transports/http/exchange.h"
#include "transports/http/own_exchange.h"
#include "transports/http/request_reader.h"
#include "transports/http/responder.h"
#include "transports/http/response_writer.h"
#include "transports/net/stream.h"

namespace stdgate::http {

class Server;

class Connection final : public ClientConnection,
                         public net::StreamEvents,
                         private session::ReplySink,
                         private Responder {
 public:
  static constexpr size_t kMaxPending = 16 << 10;
  static constexpr size_t kMaxBacklog = 256 << 10;
  static constexpr size_t kLingerBytes = 1 << 20;
  static constexpr Duration kLingerTime = std::chrono::seconds(2);

  Connection(Server& server, uint64_t number, const ConnectionTraits& traits);

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
    return exchange_ == nullptr ? nullptr : exchange_->identity.principal.get();
  }
  [[nodiscard]] const Endpoint* endpoint() const override {
    return exchange_ != nullptr && exchange_->has_head ? exchange_->endpoint : nullptr;
  }
  void leave() override {
    leaves_ = true;
    if (exchange_ != nullptr) exchange_->keep_alive = false;
  }
  // A call that is answered once is left to its answer.
  void end_credential() override {
    if (state_ == State::busy && writer_.is_streaming()) cut_stream();
  }

 private:
  enum class State : uint8_t { idle, head, body, busy, discarding, lingering, closed };

  // StreamEvents
  void on_bytes(std::span<char> bytes) override;
  void on_end() override;
  void on_error(int /*error*/) override { close(); }
  void on_writable() override;
  void on_flushed() override;
  // ReplySink
  void on_reply(session::Tag tag, const session::Reply& reply) override {
    if (exchange_ != nullptr && !doomed_) exchange_->rpc.on_reply(tag, reply);
  }
  void on_event(session::Tag tag, std::string_view notification) override {
    if (exchange_ != nullptr && !doomed_) exchange_->rpc.on_event(tag, notification);
  }
  void on_cancelled(session::Tag tag) override {
    if (exchange_ != nullptr && !doomed_) exchange_->rpc.on_cancelled(tag);
  }
  // Responder
  std::optional<call::CallContext> call_context() override;
  void respond(const Response& response) override;
  void fail(const HttpError& error) override;
  void begin_stream(const StreamStart& start) override;
  void write_event(const session::StreamEvent& event) override;
  void end_stream(StreamEnd end) override;
  [[nodiscard]] bool is_backed_up() const override { return is_blocked(); }
  void upgrade(std::string_view fields, std::unique_ptr<UpgradedConnection> successor) override;
  [[nodiscard]] std::string scope_challenge(std::string_view scope) override;
  Server& server() override { return server_; }
  [[nodiscard]] uint64_t connection_number() const override { return number_; }
  [[nodiscard]] const ClientAddress& client_address() const override {
    return exchange_ != nullptr && exchange_->has_head ? exchange_->origin : client();
  }
  [[nodiscard]] const auth::Identity& connection_identity() override;
  [[nodiscard]] Payer payer() const override { return meter_.payer(); }

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
  void take_exchange();
  void begin_request(bool body_has_begun);
  void begin_body(bool body_has_begun);
  void refuse_pending();
  [[nodiscard]] bool may_read() const;
  [[nodiscard]] bool is_blocked() const { return stream_->unsent_bytes() > kMaxBacklog; }

  // Answers
  void fail_and_close(const HttpError& error);
  void end_exchange(bool close);
  void cut_stream();  // as the client's credential has expired; a session may go on without it

  // Ending
  void hand_over();
  void leave_core();
  void doom();
  void begin_close();

  // After each step.
  void settle();
  void yield();
  void apply_pressure();
  void account_held();
  void release_exchange();

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
  const uint64_t number_;  // for the log
  const ConnectionTraits traits_;
  std::unique_ptr<net::Stream> stream_;
  ConnectionMeter meter_;
  RequestReader reader_;
  ResponseWriter writer_;
  std::unique_ptr<Exchange> exchange_;  // from the first byte of a request to the end of its answer
  OwnExchange own_;
  PooledBuffer pending_;    // a part of a header block, or requests that wait
  session::Caller caller_;  // none before the first call
  CertificateIdentity certificate_;
  TimePoint since_{};      // the present state, or its last progress
  size_t discarded_ = 0;   // while lingering
  uint32_t sequence_ = 0;  // of the exchange: the upper half of its calls' tags
  State state_ = State::idle;
  bool processing_ = false;    // process() is on the stack
  bool resume_asked_ = false;  // resume() comes
  bool yields_ = false;        // its share of a turn is used up, as told to the stream
  bool leaves_ = false;        // it ends with the next answer
  bool doomed_ = false;        // resume() closes
  bool peer_ended_ = false;    // the client has finished writing
};

}  // namespace stdgate::http

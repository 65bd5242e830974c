// WebSocketConnection: one client of a backend over a WebSocket: a session.
//
// Each text frame is one JSON-RPC message or batch. States: open; closing (our close frame is
// written, and input is read up to the client's); lingering (both are written, or input cannot be
// read any more: it is discarded until the client closes, because a reset could destroy the last
// bytes); closed (retired; the loop destroys it at the end of the turn). If a client's input ends
// without a close frame, the client has left, and its calls are cancelled.
//
// Owner: the server, where it has the place of the HTTP connection that it followed. Owns its
// Stream. Reads with a MessageReader, hands over with ClientMessages, writes with a FrameWriter,
// and decides itself what is read, when and how it ends. The core is never called from within its
// own callbacks: what would lead there waits for resume() at the end of the turn.
//
// While the core takes no messages, reading continues for what needs no room there: answers to
// children, cancels, control frames and the end of input. Other messages are kept, and reading
// pauses when kMaxKept bytes are kept. Reading also pauses while the client takes too little
// (kMaxBacklog unsent bytes); then a child of its own is held too. Bytes beyond the connection's
// share of a turn are read in the next turn. Limits: config limits and timeouts; limits.outbox of
// unsent bytes where children are shared, because these cannot be held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gateway/base/byte_storage.h"
#include "gateway/base/time.h"
#include "gateway/base/trace_context.h"
#include "gateway/config/config.h"
#include "gateway/session/sinks.h"
#include "transports/auth/authenticator.h"
#include "transports/http/client_connection.h"
#include "transports/net/stream.h"
#include "transports/websocket/client_messages.h"
#include "transports/websocket/message_reader.h"

namespace stdgate::http {
class Server;
}  // namespace stdgate::http

namespace stdgate::websocket {

// FrameWriter: what goes to one WebSocket client, in unfragmented frames (RFC 6455 section 5.2).
//
// Owner: a WebSocket connection, which bounds what is unsent.
class FrameWriter {
 public:
  explicit FrameWriter(http::ConnectionMeter& meter) : meter_(meter) {}

  // To be called first; `stream` outlives the use of the writer.
  void open(net::Stream& stream) { stream_ = &stream; }

  // The payload is the concatenation of `parts`.
  void write(Opcode opcode, std::span<const std::string_view> parts);
  // `reason`: kMaxControlPayload - 2 bytes at most. CloseCode::no_status: without either.
  void write_close(CloseCode code, std::string_view reason);

 private:
  http::ConnectionMeter& meter_;
  net::Stream* stream_ = nullptr;
};

class WebSocketConnection final : public http::UpgradedConnection,
                                  private session::SessionSink,
                                  private net::StreamEvents,
                                  private MessageSink {
 public:
  using Route = ClientMessages::Route;
  static constexpr size_t kMaxBacklog = 256 << 10;  // unsent bytes
  static constexpr size_t kMaxKept = 64 << 10;      // and one message
  static constexpr size_t kMaxOpenBatches = ClientMessages::kMaxOpenBatches;
  static constexpr size_t kMaxReason = kMaxControlPayload - 2;
  // Time for the client's close frame, and again for the end of its input.
  static constexpr Duration kCloseTime = std::chrono::seconds(2);
  // While nothing is read: interval of the checks whether the client has gone.
  static constexpr Duration kLookTime = std::chrono::seconds(1);

  // The results of its handshake.
  struct Greeting {
    uint64_t connection = 0;  // its number
    TraceContext trace{};
    auth::Identity identity{};
    Payer payer{};
  };

  // `endpoint` is where it began, whose `route` it uses.
  WebSocketConnection(http::Server& server, std::shared_ptr<const http::Endpoint> endpoint,
                      const Route& route, Greeting greeting);

  // To be called first. If the core refuses, the connection cannot be used; else it sends nothing
  // before take_over().
  tl::expected<void, rpc::FaultReport> open_session(const ClientAddress& client) {
    return messages_.open_session(*this, client);
  }
  // Follows from within the same event.
  void take_over(std::unique_ptr<net::Stream> stream, ByteQueue already_read) override;

  // ClientConnection
  [[nodiscard]] ConnectionKind kind() const override { return ConnectionKind::websocket; }
  [[nodiscard]] bool has_request() const override { return false; }
  void drain() override;
  void close() override;
  void cut() override;
  [[nodiscard]] http::HeldMemory held_memory() const override;
  [[nodiscard]] const Account* account() const override { return meter_.payer().account; }
  void report_written() override { meter_.report_written(); }
  void resume() override;
  [[nodiscard]] const policy::Principal* principal() const override {
    return messages_.principal();
  }
  void leave() override { leaves_ = true; }
  void end_credential() override;

 private:
  enum class State : uint8_t { open, closing, lingering, closed };

  // StreamEvents
  void on_bytes(std::span<char> bytes) override;
  void on_end() override;
  void on_error(int error) override;
  void on_writable() override;
  void on_flushed() override;
  // MessageSink
  bool on_message(std::span<char> text) override;
  bool on_ping(std::string_view payload) override;
  void on_close(CloseCode code, std::string_view reason) override;
  // SessionSink: nothing here calls the core
  void on_reply(session::Tag tag, const session::Reply& reply) override;
  void on_event(session::Tag tag, std::string_view notification) override;
  void on_cancelled(session::Tag tag) override;
  void on_message(std::optional<session::Tag> call,
                  std::span<const std::string_view> parts) override;
  void set_reading(bool reading) override;
  void on_session_end(session::SessionEnd end, std::string_view message) override;
  void write_message(std::span<const std::string_view> parts);

  [[nodiscard]] bool drains() const;

  // Reading
  [[nodiscard]] bool may_hand_over() const;
  [[nodiscard]] bool may_read() const;
  [[nodiscard]] bool may_go_on() { return may_read() && meter_.has_turn(); }
  size_t read(std::span<char> bytes);
  void hand_over_kept();
  void hand_over_rest();

  // Writing
  void write_frame(Opcode opcode, std::span<const std::string_view> parts);

  // Ending
  void end_later(CloseCode code, std::string_view reason);
  void start_close(CloseCode code, std::string_view reason);
  void linger();
  void ask_resume();
  void note_call_end();

  // After each step.
  void settle();
  void yield();
  void apply_pressure();
  void hold_child();
  void account_held();

  // Time
  void enter(State state);  // now
  [[nodiscard]] Duration patience() const;
  [[nodiscard]] TimePoint due() const;
  void schedule();
  void on_timer();
  void expire();
  void judge_silence();
  void look();

  http::Server& server_;
  const std::shared_ptr<const http::Endpoint> endpoint_;  // whose parser it uses
  backend::Upstream& backend_;
  std::unique_ptr<net::Stream> stream_;
  http::ConnectionMeter meter_;
  MessageReader reader_;
  FrameWriter writer_;
  ClientMessages messages_;
  ClientPulse pulse_;
  PooledBuffer pending_;     // read, and waiting until reading may go on
  TimePoint since_{};        // the state, or its last progress
  TimePoint looked_{};       // while !reads_: whether the client has left
  const TimePoint expires_;  // the credential
  std::string end_reason_;
  CloseCode end_code_ = CloseCode::normal;  // with ending_
  State state_ = State::open;
  bool ending_ = false;      // resume() closes
  bool hasty_ = false;       // closing does not wait for what is unsent
  bool choked_ = false;      // the client takes too little
  bool child_held_ = false;  // as told to the core
  bool reads_ = true;        // as told to the stream
  bool leaves_ = false;      // it ends when it is idle
  bool yields_ = false;      // its share of a turn is used up, and resume() goes on
  bool resume_asked_ = false;
  bool peer_ended_ = false;  // the client has finished writing
};

}  // namespace stdgate::websocket

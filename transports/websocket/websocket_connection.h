// WebSocketConnection: one client of a backend over a WebSocket: a session.
//
// Each text frame is one JSON-RPC message or batch. States: open; closing (our close frame is
// written, what comes is read for the client's); lingering (both are written, or what comes cannot
// be read any more: input is discarded until the client closes, else a reset could take the last
// bytes from it); closed (retired; the loop destroys it at the end of the turn). The end of a
// client's input without a close frame is its leaving; its calls are cancelled then.
//
// Owner: the server, in whose place of an HTTP connection it stands. Owns its ByteStream. The core
// is never called from inside of its own callbacks: what would lead there waits for resume() at the
// end of the turn. Reading pauses while the core takes nothing, and while the client takes too
// little: kBacklog unsent bytes; then a child of its own is held too. Limits: config limits and
// timeouts; kOpenBatches; limits.outbox of unsent bytes where children are shared, as these cannot
// be held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "gateway/base/byte_queue.h"
#include "gateway/base/slot_map.h"
#include "gateway/base/timers.h"
#include "gateway/pool/backend.h"
#include "gateway/rpc/envelope.h"
#include "gateway/session/batch_answer.h"
#include "gateway/session/session_sink.h"
#include "transports/http/client_connection.h"
#include "transports/net/byte_stream.h"
#include "transports/net/stall_watch.h"
#include "transports/websocket/close_code.h"
#include "transports/websocket/frame.h"
#include "transports/websocket/message_reader.h"

namespace stdgate {

class Server;

class WebSocketConnection final : public UpgradedConnection,
                                  private SessionSink,
                                  private ByteStreamEvents,
                                  private MessageSink {
 public:
  static constexpr size_t kBacklog = 256 << 10;  // unsent bytes
  static constexpr size_t kOpenBatches = 64;
  static constexpr size_t kReasonLimit = kControlPayloadLimit - 2;
  // For the client's close frame, and for the end of its input, each.
  static constexpr Duration kCloseTime = std::chrono::seconds(2);

  struct Route {
    Backend& backend;
    EnvelopeParser& parser;  // of all connections; used within a call only
  };

  WebSocketConnection(Server& server, const Route& route, uint64_t number, std::string trace_id);

  // To be called first. If the core refuses, the connection cannot be used; if not, it says no
  // message before take_over().
  tl::expected<void, FaultReport> open_session();
  // Follows from within the same event.
  void take_over(std::unique_ptr<ByteStream> stream, ByteQueue already_read) override;

  // ClientConnection
  [[nodiscard]] Transport transport() const override { return Transport::websocket; }
  void drain() override;
  void close() override;
  void resume() override;

 private:
  enum class State : uint8_t { open, closing, lingering, closed };
  using Batches = SlotMap<BatchAnswer>;

  // ByteStreamEvents
  void on_bytes(std::span<char> bytes) override;
  void on_end() override;
  void on_error(int error) override;
  void on_writable() override;
  void on_flushed() override;
  // MessageSink
  bool on_message(std::span<char> text) override;
  bool on_ping(std::string_view payload) override;
  void on_close(CloseCode code, std::string_view reason) override;
  // SessionSink
  void on_reply(Tag tag, const Reply& reply) override;
  void on_event(Tag tag, std::string_view notification) override;
  void on_cancelled(Tag tag) override;
  void on_message(std::optional<Tag> call, std::span<const std::string_view> parts) override;
  void set_reading(bool reading) override;
  void on_session_end(SessionEnd end, std::string_view message) override;

  // Reading
  [[nodiscard]] bool may_read() const;
  size_t read(std::span<char> bytes);

  // Messages of the client
  CallContext context() const;
  bool accept(const ParsedMessage& message, const CallContext& context);
  void accept_batch(const Document& batch, CallContext context);
  void refuse(const FaultReport& report, const CallContext& context);
  void end_call();

  // Messages to the client
  void write_message(std::span<const std::string_view> parts);
  void write_frame(Opcode opcode, std::span<const std::string_view> parts);
  void finish_batch(Handle handle);

  // Ending
  void end_later(CloseCode code, std::string_view reason);
  void start_close(CloseCode code, std::string_view reason);
  void linger();
  void leave_core();
  void ask_resume();

  // After each step.
  void settle();
  void apply_pressure();
  void account();
  void report_written();

  // Time
  [[nodiscard]] TimePoint now() const;
  [[nodiscard]] Duration patience() const;
  [[nodiscard]] TimePoint due() const;
  void schedule();
  void on_timer();
  void expire();

  Server& server_;
  Backend& backend_;
  EnvelopeParser& parser_;
  const uint64_t number_;  // for the log
  const std::string trace_id_;
  std::unique_ptr<ByteStream> stream_;
  MessageReader reader_;
  ByteQueue pending_;  // read, and waiting until reading may go on
  std::unique_ptr<Batches> batches_;
  Origin origin_;  // none when the core is not connected
  SessionId session_;
  Timer timer_;        // not later than due(); moved only when it is
  TimePoint heard_{};  // the last byte of the client, or when reading went on
  TimePoint since_{};  // the ping without a pong; the state, or its last progress
  StallWatch stall_;
  uint64_t written_reported_ = 0;  // to the observer
  size_t calls_ = 0;               // not answered
  size_t answers_held_ = 0;        // bytes of batches that are not complete
  size_t held_ = 0;                // bytes in memory, as told to the server
  std::string end_reason_;
  CloseCode end_code_ = CloseCode::normal;  // with ending_
  State state_ = State::open;
  bool ending_ = false;         // resume() closes
  bool hasty_ = false;          // closing does not wait for what is unsent
  bool core_reads_ = true;      // the core takes messages
  bool choked_ = false;         // the client takes too little
  bool child_held_ = false;     // as told to the core
  bool reads_ = true;           // as told to the stream
  bool awaiting_pong_ = false;  // since since_
  bool resume_asked_ = false;
  bool peer_ended_ = false;  // the client has finished writing
};

}  // namespace stdgate

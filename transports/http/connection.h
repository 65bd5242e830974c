// Connection: one HTTP/1.1 client, one exchange at a time.
//
// States: idle (nothing of a request has come), head, body, busy (being answered), lingering (last
// answer given; input is discarded until the client closes, else a reset could take the answer from
// it: RFC 9112 section 9.6), closed (retired; the loop destroys it at the end of the turn).
//
// Requests that come while one is busy are kept and wait their turn. Reading goes on meanwhile, so
// that the client's leaving is noticed: end of input while a call is under way is a leave, and the
// call is cancelled, as half-closing cannot be told from closing. End of input between requests
// lets what has been answered go out first. Owner: the server. Owns its ByteStream. The core is
// never called from inside of its own callbacks (on_reply, on_event): what would lead there waits
// for resume() at the end of the turn. Limits: config limits and timeouts; kPendingLimit bytes of
// waiting requests before reading pauses; kAnswerBacklog bytes of answers not taken before the next
// request is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "gateway/base/byte_queue.h"
#include "gateway/base/timers.h"
#include "gateway/session/reply_sink.h"
#include "transports/http/client_connection.h"
#include "transports/http/exchange.h"
#include "transports/http/responder.h"
#include "transports/net/byte_stream.h"
#include "transports/net/stall_watch.h"

namespace stdgate {

class Server;

class Connection final : public ClientConnection,
                         public ByteStreamEvents,
                         private ReplySink,
                         private Responder {
 public:
  static constexpr size_t kPendingLimit = 16 << 10;
  static constexpr size_t kAnswerBacklog = 256 << 10;
  static constexpr size_t kMostParts = 8;  // of a body, or of an event's data
  static constexpr size_t kLingerBytes = 1 << 20;
  static constexpr Duration kLingerTime = std::chrono::seconds(2);

  Connection(Server& server, uint64_t number, bool loopback_listener);

  void open(std::unique_ptr<ByteStream> stream);
  // Answers 503 without waiting for a request, and closes.
  void turn_away();

  // ClientConnection
  [[nodiscard]] Transport transport() const override { return Transport::http; }
  void drain() override;  // closes now if nothing is under way, else with the answer
  void close() override;
  void resume() override;

 private:
  enum class State : uint8_t { idle, head, body, busy, lingering, closed };

  // ByteStreamEvents
  void on_bytes(std::span<char> bytes) override;
  void on_end() override;
  void on_error(int error) override;
  void on_writable() override;
  void on_flushed() override;
  // ReplySink
  void on_reply(Tag tag, const Reply& reply) override;
  void on_event(Tag tag, std::string_view notification) override;
  void on_cancelled(Tag tag) override;
  // Responder
  std::optional<CallContext> call_context() override;
  void respond(const Response& response) override;
  void fail(const HttpError& error) override;
  void begin_stream(const StreamStart& start) override;
  void write_event(const StreamEvent& event) override;
  void end_stream(StreamEnd end) override;
  [[nodiscard]] bool is_backed_up() const override { return is_blocked(); }
  void upgrade(std::string_view fields, std::unique_ptr<UpgradedConnection> successor) override;
  Server& server() override { return server_; }
  [[nodiscard]] uint64_t connection_number() const override { return number_; }

  // Reading: each returns how many bytes it took.
  size_t process(std::span<char> bytes);
  size_t read_head(std::span<char> bytes);
  size_t read_body(std::span<char> bytes);
  void keep(std::span<const char> bytes);
  void process_pending();
  void take_exchange();
  void begin_request(bool body_has_begun);
  bool admit();
  bool route();
  void answer_options(std::string_view methods);
  void begin_body(bool body_has_begun);
  void fail_and_close(const HttpError& error);
  void fail_with(const HttpError& error, std::string_view more);
  [[nodiscard]] bool may_read() const;
  [[nodiscard]] bool is_blocked() const;

  // Writing
  void write(std::span<const std::string_view> parts);
  void write_keep_alive();
  void write_frame(const StreamEvent& event);
  [[nodiscard]] ResponseFrame frame();
  void end_exchange(bool close);
  void hand_over();
  void leave_core();
  void begin_close();

  // After each step.
  void settle();
  void account();
  void release_exchange();
  void report_written();

  // Time
  [[nodiscard]] TimePoint due() const;
  void schedule();
  void on_timer();
  void expire();

  Server& server_;
  const uint64_t number_;  // for the log
  std::unique_ptr<ByteStream> stream_;
  std::unique_ptr<Exchange> exchange_;  // from the first byte of a request to the end of its answer
  ByteQueue pending_;                   // a part of a header block, or requests that wait
  Origin origin_;                       // none before the first call
  Timer timer_;                         // not later than due(); moved only when it is
  TimePoint since_{};                   // the present state, or its last progress
  StallWatch stall_;
  uint64_t written_reported_ = 0;  // to the observer
  size_t held_ = 0;                // bytes of requests in memory, as told to the server
  size_t discarded_ = 0;           // while lingering
  uint32_t last_exchange_ = 0;     // its number
  uint32_t sequence_ = 0;          // of the exchange: the upper half of its calls' tags
  BackendId stream_backend_ = 0;
  SlowClient slow_client_ = SlowClient::dropped;  // of the stream
  State state_ = State::idle;
  const bool loopback_listener_;
  bool processing_ = false;    // process() is on the stack
  bool resume_asked_ = false;  // resume() comes
  bool doomed_ = false;        // resume() closes
  bool streaming_ = false;     // the head of an event stream has been written
  bool peer_ended_ = false;    // the client has finished writing
};

}  // namespace stdgate

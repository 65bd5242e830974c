// McpStream: what one HTTP response of an MCP client carries: the answers to one POST, or, for
// stream 0 of a session, what belongs to no POST (2025-11-25, transports: Streamable HTTP).
//
// If a POST gets nothing but its answers, they are one JSON document. As soon as anything else
// precedes them, the response becomes a stream of events. Where the owner keeps events, as a
// session does, a client whose response broke off can continue on another one. Owner: an
// McpStreamOwner, such as an McpSession. The sink may come and go; only the stream calls it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "gateway/base/time.h"
#include "gateway/mcp/mcp_revision.h"
#include "gateway/session/batch_answer.h"
#include "gateway/session/replay_log.h"
#include "gateway/session/sinks.h"

namespace stdgate::mcp {

// The events of all streams of a session, for resuming them.
struct McpEventLog {
  std::string id_prefix;  // first part of event ids: names the session
  session::ReplayLog log;
  StoragePool& storages;
};

// The owner of streams, which outlives them.
class McpStreamOwner {
 public:
  virtual ~McpStreamOwner() = default;
  [[nodiscard]] virtual McpRevision revision() const = 0;
  // The name of events with messages, a constant; empty: omitted.
  [[nodiscard]] virtual std::string_view event_name() const { return {}; }
  // Where events are kept and get their ids; the same for the whole life of a stream. Null: events
  // have no ids, and a response that breaks off cannot be resumed.
  [[nodiscard]] virtual McpEventLog* events() { return nullptr; }
};

class McpStream {
 public:
  McpStream(uint32_t number, McpStreamOwner& owner) : number_(number), owner_(owner) {}

  [[nodiscard]] uint32_t number() const { return number_; }
  [[nodiscard]] bool has_sink() const { return sink_ != nullptr; }
  [[nodiscard]] bool is_sink(const session::EventSink& sink) const { return sink_ == &sink; }
  [[nodiscard]] bool is_backed_up() const { return sink_ != nullptr && sink_->is_backed_up(); }

  // The response to continue on. A former one that is still there is ended.
  void attach(session::EventSink& sink);
  // The response has gone.
  void detach() { sink_ = nullptr; }
  // Writes all events after `number`. Only where events are kept, and if the log reaches back so
  // far.
  void replay_after(uint64_t number);
  // Writes the events that no client has received.
  void write_undelivered();
  // Makes the response a stream of events.
  void begin();
  // Ends the response without waiting for answers.
  void end();
  // Ends the response like end(), and tells the client when to come back for the rest.
  void end_for_now();

  // The messages of a POST are handed over from here to end_messages(); see BatchAnswer.
  void begin_messages(TimePoint now, bool batch, rpc::CodeSet codes, size_t limit,
                      const Payer& payer = {});
  [[nodiscard]] TimePoint posted() const { return posted_; }
  void expect();
  void leave_out();
  void end_messages();
  [[nodiscard]] size_t due() const { return due_; }
  // Whether everything has been answered and written.
  [[nodiscard]] bool finished() const { return finished_; }
  [[nodiscard]] bool is_quiet() const { return !begun_; }
  // Frees the memory of the answers, once the stream has finished.
  void forget_answers() { batch_.reset(); }

  void answer(const session::Reply& reply);
  // Writes a notification or a request, or an event of the transport's own.
  void write(std::span<const std::string_view> message) { write(owner_.event_name(), message); }
  void write(std::string_view event_name, std::span<const std::string_view> data);

 private:
  void write_place(unsigned retry_ms);
  void write_waiting_answers();
  void finish_if_complete();
  [[nodiscard]] std::string event_id(const McpEventLog& events, uint64_t number) const;

  const uint32_t number_;
  McpStreamOwner& owner_;
  session::EventSink* sink_ = nullptr;
  std::unique_ptr<session::BatchAnswer> batch_;  // null: a single message
  TimePoint posted_{};
  size_t due_ = 0;
  uint64_t delivered_ = 0;     // the last event that was written to a sink
  bool handing_over_ = false;  // more messages of the POST may come
  bool begun_ = false;         // the response is a stream of events
  bool finished_ = false;
};

}  // namespace stdgate::mcp

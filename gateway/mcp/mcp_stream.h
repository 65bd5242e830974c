// McpStream: what one HTTP response of an MCP client carries: the answers to one POST, or, for
// stream 0 of a session, what belongs to no POST (2025-11-25, transports: Streamable HTTP).
//
// A POST is answered by one JSON document when nothing but its answers comes, and becomes a stream
// of events as soon as something precedes them. Where its owner keeps events, as a session does, a
// client whose response broke off can go on with another one. Owner: an McpStreamOwner, such as an
// McpSession. The sink may come and go; only the stream calls it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "gateway/base/time.h"
#include "gateway/mcp/mcp_revision.h"
#include "gateway/session/batch_answer.h"
#include "gateway/session/event_sink.h"
#include "gateway/session/replay_log.h"

namespace stdgate::mcp {

// The events of all streams of a session, by which they are resumed.
struct McpEventLog {
  std::string id_prefix;  // of event ids: names the session
  session::ReplayLog log;
  StoragePool& storages;
};

// What streams need of their owner; outlives them.
class McpStreamOwner {
 public:
  virtual ~McpStreamOwner() = default;
  [[nodiscard]] virtual McpRevision revision() const = 0;
  // Of messages, a constant; empty: omitted.
  [[nodiscard]] virtual std::string_view event_name() const { return {}; }
  // Where events are kept, and what gives them ids; the same for a stream's whole life. Null: they
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

  // The response to go on with; the former one, if it is still there, is ended.
  void attach(session::EventSink& sink);
  // The response has gone.
  void detach() { sink_ = nullptr; }
  // Writes all events after `number`. Only where events are kept, and if the log reaches so far.
  void replay_after(uint64_t number);
  // Writes the events that no client has received.
  void write_undelivered();
  // From now on the response is a stream.
  void begin();
  // Ends the response without waiting for answers.
  void end();
  // The same, and tells the client when to come back for the rest.
  void end_for_now();

  // The messages of a POST are handed over from here to end_messages(); see BatchAnswer.
  void begin_messages(TimePoint now, bool batch, rpc::CodeSet codes, size_t limit,
                      const Payer& payer = {});
  [[nodiscard]] TimePoint posted() const { return posted_; }
  void expect();
  void leave_out();
  void end_messages();
  [[nodiscard]] size_t due() const { return due_; }
  // Everything has been answered and handed out: the stream is over.
  [[nodiscard]] bool finished() const { return finished_; }
  [[nodiscard]] bool is_quiet() const { return !begun_; }
  // Once it is over: frees the memory of the answers.
  void forget_answers() { batch_.reset(); }

  void answer(const session::Reply& reply);
  // A notification or a request, or an event of the transport's own.
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
  bool handing_over_ = false;  // messages of the POST still come
  bool begun_ = false;         // the response is a stream of events
  bool finished_ = false;
};

}  // namespace stdgate::mcp

// McpStream: what one HTTP response of an MCP session carries: the answers to one POST, or, for
// stream 0, what belongs to no POST (2025-11-25, transports: Streamable HTTP).
//
// A POST is answered by one JSON document when nothing but its answers comes, and becomes a stream
// of events as soon as something precedes them. Events are kept in the session's log, so that a
// client whose response broke off can go on with another one. Owner: the session. The sink may come
// and go; nobody but the stream calls it.
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

namespace stdgate {

// What the streams of a session have in common; lives as long as they do.
struct McpStreamFacts {
  std::string id_prefix;  // of event ids: names the session
  ReplayLog log;
  McpRevision revision = McpRevision::v2025_03_26;
  bool has_ids = true;          // not in the transport of 2024-11-05, which knows no resumption
  std::string_view event_name;  // of messages, a constant; empty: unsaid
};

class McpStream {
 public:
  McpStream(uint32_t number, McpStreamFacts& facts) : number_(number), facts_(facts) {}

  [[nodiscard]] uint32_t number() const { return number_; }
  [[nodiscard]] bool has_sink() const { return sink_ != nullptr; }
  [[nodiscard]] bool is_sink(const EventSink& sink) const { return sink_ == &sink; }
  [[nodiscard]] bool is_backed_up() const { return sink_ != nullptr && sink_->is_backed_up(); }

  // The response to go on with; the former one, if it is still there, is ended.
  void attach(EventSink& sink);
  // It has gone.
  void detach() { sink_ = nullptr; }
  // What the client has not had: all after event `number`. Only if the log reaches so far.
  void replay_after(uint64_t number);
  // What has never been written to anybody.
  void write_undelivered();
  // From now on the response is a stream.
  void begin();
  // Ends the response, as it is.
  void end();

  // The messages of a POST are handed over from here to end_messages(); see BatchAnswer.
  void begin_messages(TimePoint now, bool batch, CodeSet codes, size_t limit);
  [[nodiscard]] TimePoint posted() const { return posted_; }
  void expect();
  void leave_out();
  void end_messages();
  [[nodiscard]] size_t due() const { return due_; }
  // Everything has been answered and handed out: the stream is over.
  [[nodiscard]] bool finished() const { return finished_; }
  [[nodiscard]] bool is_quiet() const { return !begun_; }
  // Once it is over: gives back what they took.
  void forget_answers() { batch_.reset(); }

  void answer(const Reply& reply);
  // A notification or a request, or an event of the transport's own.
  void write(std::span<const std::string_view> message) { write(facts_.event_name, message); }
  void write(std::string_view event_name, std::span<const std::string_view> data);

 private:
  void write_waiting_answers();
  void finish_if_complete();
  [[nodiscard]] std::string event_id(uint64_t number) const;

  const uint32_t number_;
  McpStreamFacts& facts_;
  EventSink* sink_ = nullptr;
  std::unique_ptr<BatchAnswer> batch_;  // null: a single message
  TimePoint posted_{};
  size_t due_ = 0;
  uint64_t delivered_ = 0;     // the last event that was written to a sink
  bool handing_over_ = false;  // messages of the POST still come
  bool begun_ = false;         // the response is a stream of events
  bool finished_ = false;
};

}  // namespace stdgate

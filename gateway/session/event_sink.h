// EventSink: the response to one HTTP request of a session, as the core sees it: one JSON document,
// or a stream of events. Implemented by transports/http.
//
// The sink of a response that is over is never called again: the side that ends it forgets it
// first.
#pragma once

#include <span>
#include <string_view>

namespace stdgate::session {

// One event of a stream (WHATWG HTML, section 9.2.6).
struct StreamEvent {
  std::string_view name{};                   // of the event; empty: omitted, which means "message"
  std::string_view id{};                     // empty: none
  unsigned retry_ms = 0;                     // zero: omitted
  std::span<const std::string_view> data{};  // the concatenation, on one line; may be nothing
};

class EventSink {
 public:
  virtual ~EventSink() = default;
  // The whole response: a JSON document. Ends it.
  virtual void respond(std::span<const std::string_view> json) = 0;
  // Like respond(), but for a client that needs these scopes, with spaces between them.
  virtual void respond_scope(std::span<const std::string_view> json, std::string_view scope) = 0;
  // Makes the response a stream; may be called again.
  virtual void begin_stream() = 0;
  // These functions make the response a stream if begin_stream() has not done so.
  virtual void write_event(const StreamEvent& event) = 0;
  virtual void end_stream() = 0;
  // Whether so much is unsent that the source should wait, if it can.
  [[nodiscard]] virtual bool is_backed_up() const = 0;
};

}  // namespace stdgate::session

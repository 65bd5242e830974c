#include "transports/http/response_writer.h"

#include <array>

#include "gateway/base/check.h"
#include "transports/http/event_stream.h"
#include "transports/http/server.h"

namespace stdgate::http {

namespace {

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

ResponseFrame ResponseWriter::frame(const Exchange& exchange) const {
  return {.date = server_.date(),
          .more_fields = exchange.cors_fields,
          .http_1_0 = exchange.http_1_0,
          .close = !exchange.keep_alive || server_.ends_connections()};
}

void ResponseWriter::write(std::span<const std::string_view> parts) {
  meter_.note_write();
  stream_->write(parts);
}

void ResponseWriter::write_continue() { write({&kContinue, 1}); }

void ResponseWriter::write_switch(std::string_view fields) {
  const ResponseHead head({.status = 101, .more_fields = fields}, {.date = server_.date()});
  const std::string_view text = head.view();
  write({&text, 1});
}

bool ResponseWriter::respond(const Exchange& exchange, const Response& response) {
  const ResponseFrame frame = this->frame(exchange);
  const ResponseHead head(response, frame);
  STDGATE_CHECK(response.body.size() <= kMaxParts);
  std::array<std::string_view, kMaxParts + 1> parts;
  size_t count = 0;
  parts[count++] = head.view();
  if (!exchange.head_only) {
    for (const std::string_view part : response.body) parts[count++] = part;
  }
  write({parts.data(), count});
  return frame.close;
}

// --- Event streams -------------------------------------------------------------------------------

void ResponseWriter::begin_stream(Exchange& exchange, const StreamStart& start) {
  ResponseFrame frame = this->frame(exchange);
  frame.close = frame.close || frame.http_1_0;  // nothing else tells HTTP/1.0 where it ends
  exchange.keep_alive = !frame.close;
  const ResponseHead head(start.more_fields, frame);
  const std::string_view text = head.view();
  write({&text, 1});
  stream_backend_ = start.backend;
  slow_client_ = start.slow_client;
  streaming_ = true;
}

bool ResponseWriter::write_event(const Exchange& exchange, const session::StreamEvent& event) {
  // Judged before the event is added, so that a single large one can be sent.
  if (slow_client_ == SlowClient::dropped &&
      stream_->unsent_bytes() > server_.services().limits.outbox) {
    server_.services().observer.on_dropped(stream_backend_, DropReason::outbox_full);
    return false;
  }
  write_frame(exchange, event);
  return true;
}

void ResponseWriter::write_frame(const Exchange& exchange, const session::StreamEvent& event) {
  STDGATE_CHECK(event.data.size() <= kMaxParts);
  const EventFrame frame(event, !exchange.http_1_0);
  std::array<std::string_view, kMaxParts + 2> parts;
  size_t count = 0;
  parts[count++] = frame.head();
  for (const std::string_view part : event.data) parts[count++] = part;
  parts[count++] = frame.tail();
  write({parts.data(), count});
}

void ResponseWriter::write_keep_alive(const Exchange& exchange) {
  write({exchange.http_1_0 ? &kKeepAlive : &kKeepAliveChunk, 1});
}

bool ResponseWriter::end_stream(const Exchange& exchange, StreamEnd end) {
  if (!exchange.head_only) {
    if (end == StreamEnd::done_event) write_frame(exchange, {.data = {&kDoneEvent, 1}});
    if (!exchange.http_1_0) write({&kLastChunk, 1});
  }
  streaming_ = false;
  return !exchange.keep_alive || server_.ends_connections();
}

}  // namespace stdgate::http

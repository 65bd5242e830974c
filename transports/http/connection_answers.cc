// How a connection answers: the Responder and ReplySink half of Connection.
#include <array>
#include <cassert>
#include <utility>

#include "transports/http/connection.h"
#include "transports/http/event_stream.h"
#include "transports/http/server.h"

namespace stdgate {

void Connection::on_reply(Tag tag, const Reply& reply) {
  if (exchange_ != nullptr && !doomed_) exchange_->rpc.on_reply(tag, reply);
}

void Connection::on_event(Tag tag, std::string_view notification) {
  if (exchange_ != nullptr && !doomed_) exchange_->rpc.on_event(tag, notification);
}

void Connection::on_cancelled(Tag tag) {
  if (exchange_ != nullptr && !doomed_) exchange_->rpc.on_cancelled(tag);
}

std::optional<CallContext> Connection::call_context() {
  const HttpServices& services = server_.services();
  if (origin_.is_none()) {
    const auto origin = services.origins.add(*this);
    if (!origin) return std::nullopt;
    origin_ = *origin;
  }
  CallContext context;
  context.origin = origin_;
  context.tag = Tag{sequence_} << 32;
  context.transport = Transport::http;
  context.connection = number_;
  context.trace_id = exchange_->trace_id;
  context.arrived = services.loop.now();
  return context;
}

ResponseFrame Connection::frame() {
  return {.date = server_.date(),
          .more_fields = exchange_->cors_fields,
          .http_1_0 = exchange_->http_1_0,
          .close = !exchange_->keep_alive || server_.draining()};
}

void Connection::respond(const Response& response) {
  const ResponseFrame frame = this->frame();
  const ResponseHead head(response, frame);
  assert(response.body.size() <= kMostParts);
  std::array<std::string_view, kMostParts + 1> parts;
  size_t count = 0;
  parts[count++] = head.view();
  if (!exchange_->head_only) {
    for (const std::string_view part : response.body) parts[count++] = part;
  }
  write({parts.data(), count});
  end_exchange(frame.close);
}

void Connection::fail(const HttpError& error) { fail_with(error, {}); }

void Connection::fail_with(const HttpError& error, std::string_view more) {
  const std::string text = http_error_body(error, more);
  const std::string_view body = text;
  respond({.status = error.status,
           .content_type = kJsonType,
           .allow = error.allow,
           .retry_after = error.retry_after,
           .more_fields = error.more_fields,
           .body = {&body, 1}});
}

void Connection::fail_and_close(const HttpError& error) {
  state_ = State::busy;
  exchange_->keep_alive = false;
  fail(error);
}

void Connection::begin_stream(const StreamStart& start) {
  ResponseFrame frame = this->frame();
  frame.close = frame.close || frame.http_1_0;  // nothing else tells HTTP/1.0 where it ends
  exchange_->keep_alive = !frame.close;
  const ResponseHead head(start.more_fields, frame);
  const std::string_view text = head.view();
  write({&text, 1});
  stream_backend_ = start.backend;
  slow_client_ = start.slow_client;
  streaming_ = true;
  since_ = server_.services().loop.now();
  if (!processing_) schedule();
}

void Connection::write_event(const StreamEvent& event) {
  if (doomed_) return;
  // Judged before the event is added, so that a single large one can be sent.
  if (slow_client_ == SlowClient::dropped &&
      stream_->unsent_bytes() > server_.services().limits.outbox) {
    server_.services().observer.on_dropped(stream_backend_, DropReason::outbox_full);
    doomed_ = true;
    if (!std::exchange(resume_asked_, true)) server_.resume_later(*this);
    return;
  }
  write_frame(event);
}

void Connection::end_stream(StreamEnd end) {
  exchange_->owner = nullptr;  // also if the connection is closed instead
  if (doomed_) return;
  if (!exchange_->head_only) {
    if (end == StreamEnd::done_event) write_frame({.data = {&kDoneEvent, 1}});
    if (!exchange_->http_1_0) write({&kLastChunk, 1});
  }
  streaming_ = false;
  end_exchange(!exchange_->keep_alive || server_.draining());
}

void Connection::upgrade(std::string_view fields, std::unique_ptr<UpgradedConnection> successor) {
  const ResponseHead head({.status = 101, .more_fields = fields}, {.date = server_.date()});
  const std::string_view text = head.view();
  write({&text, 1});
  exchange_->successor = std::move(successor);  // settle() comes
}

void Connection::hand_over() {
  state_ = State::closed;
  timer_.disarm();
  leave_core();
  UpgradedConnection& successor = *exchange_->successor;
  auto owned = std::move(exchange_->successor);
  release_exchange();
  ByteQueue already_read = std::move(pending_);
  account();
  report_written();
  server_.replace(*this, std::move(owned));
  successor.take_over(std::move(stream_), std::move(already_read));
}

void Connection::write_keep_alive() {
  write({exchange_->http_1_0 ? &kKeepAlive : &kKeepAliveChunk, 1});
  since_ = server_.services().loop.now();
}

void Connection::write_frame(const StreamEvent& event) {
  assert(event.data.size() <= kMostParts);
  const EventFrame frame(event, !exchange_->http_1_0);
  std::array<std::string_view, kMostParts + 2> parts;
  size_t count = 0;
  parts[count++] = frame.head();
  for (const std::string_view part : event.data) parts[count++] = part;
  parts[count++] = frame.tail();
  write({parts.data(), count});
  since_ = server_.services().loop.now();
}

void Connection::write(std::span<const std::string_view> parts) {
  if (stream_->unsent_bytes() == 0) {
    stall_.start(*stream_, server_.services().loop.now());
  }
  stream_->write(parts);
}

void Connection::end_exchange(bool close) {
  state_ = State::idle;
  since_ = server_.services().loop.now();
  if (close) begin_close();
  if (processing_) return;  // process() and its caller do the rest
  release_exchange();
  if (!pending_.empty() && !std::exchange(resume_asked_, true)) server_.resume_later(*this);
  settle();
}

void Connection::begin_close() {
  state_ = State::lingering;
  since_ = server_.services().loop.now();
  stream_->shutdown_write();
}

}  // namespace stdgate

// How a connection answers: the Responder and ReplySink half of Connection.
#include <array>
#include <utility>

#include "transports/http/connection.h"
#include "transports/http/server.h"

namespace stdgate {

void Connection::on_reply(Tag tag, const Reply& reply) {
  if (exchange_ != nullptr && !doomed_) exchange_->rpc.on_reply(tag, reply);
}

void Connection::on_event(Tag tag, std::string_view notification) {
  if (exchange_ != nullptr && !doomed_) exchange_->rpc.on_event(tag, notification);
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
          .http_1_0 = exchange_->http_1_0,
          .close = !exchange_->keep_alive || server_.draining()};
}

void Connection::respond(const Response& response) {
  const ResponseFrame frame = this->frame();
  const ResponseHead head(response, frame);
  std::array<std::string_view, 5> parts;
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
           .body = {&body, 1}});
}

void Connection::fail_and_close(const HttpError& error) {
  state_ = State::busy;
  exchange_->keep_alive = false;
  fail(error);
}

void Connection::begin_stream(BackendId backend) {
  ResponseFrame frame = this->frame();
  frame.close = frame.close || frame.http_1_0;  // nothing else tells HTTP/1.0 where it ends
  exchange_->keep_alive = !frame.close;
  const ResponseHead head(frame);
  const std::string_view text = head.view();
  write({&text, 1});
  stream_backend_ = backend;
  streaming_ = true;
  since_ = server_.services().loop.now();
  if (!processing_) schedule();
}

void Connection::write_event(std::span<const std::string_view> parts) {
  if (doomed_) return;
  // Judged before the event is added, so that a single large one can be sent.
  if (stream_->unsent_bytes() > server_.services().limits.outbox) {
    server_.services().observer.on_dropped(stream_backend_, DropReason::outbox_full);
    doomed_ = true;
    if (!std::exchange(resume_asked_, true)) server_.resume_later(*this);
    return;
  }
  write_frame(EventFrame::Kind::data, parts);
}

void Connection::end_stream() {
  if (doomed_) return;
  if (!exchange_->head_only) {
    write_frame(EventFrame::Kind::data, {&kDoneEvent, 1});
    if (!exchange_->http_1_0) write({&kLastChunk, 1});
  }
  streaming_ = false;
  end_exchange(!exchange_->keep_alive || server_.draining());
}

void Connection::write_keep_alive() {
  write_frame(EventFrame::Kind::comment, {&kKeepAliveComment, 1});
}

void Connection::write_frame(EventFrame::Kind kind, std::span<const std::string_view> parts) {
  size_t size = 0;
  for (const std::string_view part : parts) size += part.size();
  const EventFrame event(kind, size, !exchange_->http_1_0);
  std::array<std::string_view, 5> all;
  size_t count = 0;
  all[count++] = event.head();
  for (const std::string_view part : parts) all[count++] = part;
  all[count++] = event.tail();
  write({all.data(), count});
  since_ = server_.services().loop.now();
}

void Connection::write(std::span<const std::string_view> parts) {
  if (stream_->unsent_bytes() == 0) {
    stall_since_ = server_.services().loop.now();
    written_mark_ = stream_->bytes_written();
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

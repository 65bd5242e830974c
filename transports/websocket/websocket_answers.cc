// What the core says to a WebSocket client: the SessionSink half of WebSocketConnection. Nothing
// here calls the core.
#include <array>
#include <utility>

#include "transports/http/server.h"
#include "transports/websocket/websocket_connection.h"

namespace stdgate {

namespace {

// At most `limit` bytes of `text`, cut between two characters.
std::string_view cut_utf8(std::string_view text, size_t limit) {
  if (text.size() <= limit) return text;
  while (limit > 0 && (static_cast<uint8_t>(text[limit]) & 0xc0) == 0x80) --limit;
  return text.substr(0, limit);
}

Handle batch_of(Tag tag) {
  return {static_cast<uint32_t>(tag & UINT32_MAX), static_cast<uint32_t>(tag >> 32)};
}

// The tag of a call that is no part of a batch; generations begin with 1.
constexpr Tag kSingle = 0;

}  // namespace

// --- Answers -------------------------------------------------------------------------------------

void WebSocketConnection::on_reply(Tag tag, const Reply& reply) {
  if (tag == kSingle) {
    const std::array parts{reply.head, reply.id, reply.tail};
    write_message(parts);
  } else {
    const Handle handle = batch_of(tag);
    BatchAnswer& answer = *batches_->find(handle);
    answers_held_ -= answer.size();
    answer.add(reply);
    answers_held_ += answer.size();
    if (answer.complete()) finish_batch(handle);
  }
  end_call();
}

void WebSocketConnection::on_cancelled(Tag tag) {
  if (tag != kSingle) {
    const Handle handle = batch_of(tag);
    BatchAnswer& answer = *batches_->find(handle);
    answer.leave_out();
    if (answer.complete()) finish_batch(handle);
  }
  end_call();
}

void WebSocketConnection::end_call() {
  --calls_;
  if (calls_ == 0 && server_.draining()) ask_resume();
}

void WebSocketConnection::finish_batch(Handle handle) {
  BatchAnswer& answer = *batches_->find(handle);
  answers_held_ -= answer.size();
  if (!answer.empty()) {
    const std::string_view text = answer.close();
    write_message({&text, 1});
  }
  answer.clear();
  batches_->release(handle);
}

// --- Other messages ------------------------------------------------------------------------------

void WebSocketConnection::on_event(Tag /*tag*/, std::string_view notification) {
  write_message({&notification, 1});
}

void WebSocketConnection::on_message(std::optional<Tag> /*call*/,
                                     std::span<const std::string_view> parts) {
  write_message(parts);
}

void WebSocketConnection::set_reading(bool reading) {
  core_reads_ = reading;
  ask_resume();
}

void WebSocketConnection::on_session_end(SessionEnd end, std::string_view message) {
  end_later(end == SessionEnd::finished ? CloseCode::normal : CloseCode::internal_error, message);
}

void WebSocketConnection::end_later(CloseCode code, std::string_view reason) {
  if (ending_) return;
  ending_ = true;
  end_code_ = code;
  end_reason_ = cut_utf8(reason, kReasonLimit);
  ask_resume();
}

void WebSocketConnection::ask_resume() {
  // Before it, take_over() resumes anyway, and the server does not know of us.
  if (stream_ == nullptr) return;
  if (!std::exchange(resume_asked_, true)) server_.resume_later(*this);
}

// --- Writing -------------------------------------------------------------------------------------

void WebSocketConnection::write_message(std::span<const std::string_view> parts) {
  if (state_ != State::open || hasty_) return;
  // Judged before the message is added, so that a single large one can be sent.
  if (!backend_.owns_children() && stream_->unsent_bytes() > server_.services().limits.outbox) {
    server_.services().observer.on_dropped(backend_.id(), DropReason::outbox_full);
    hasty_ = true;
    return end_later(CloseCode::try_again_later, "the client reads too slowly");
  }
  write_frame(Opcode::text, parts);
}

void WebSocketConnection::write_frame(Opcode opcode, std::span<const std::string_view> parts) {
  if (stream_->unsent_bytes() == 0) stall_.start(*stream_, now());
  size_t size = 0;
  for (const std::string_view part : parts) size += part.size();
  const FrameHead head(opcode, size);
  std::array<std::string_view, 8> pieces;
  size_t count = 0;
  pieces[count++] = head.view();
  for (const std::string_view part : parts) {
    if (count == pieces.size()) {
      stream_->write(pieces);
      count = 0;
    }
    pieces[count++] = part;
  }
  stream_->write(std::span(pieces).first(count));
  if (stream_->unsent_bytes() > kBacklog && !std::exchange(choked_, true)) ask_resume();
}

}  // namespace stdgate

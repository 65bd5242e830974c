#include "gateway/remote/remote_stream.h"

#include <utility>

namespace stdgate::remote {

void RemoteStream::open(WebRequest request) {
  end_transfer();
  head_ = {};
  body_.clear();
  has_events_ = false;
  events_.restart();
  transfer_ = web_.start(std::move(request), *this);
  if (is_paused_) transfer_->pause();
}

void RemoteStream::pause() {
  is_paused_ = true;
  if (transfer_ != nullptr) transfer_->pause();
}

void RemoteStream::resume() {
  is_paused_ = false;
  if (transfer_ != nullptr) transfer_->resume();
}

void RemoteStream::end_transfer() {
  transfer_.reset();
  refusal_timer_.disarm();
}

void RemoteStream::on_head(const WebHead& head) {
  head_ = head;
  has_events_ = head.is_success() && head.has_type("text/event-stream");
  if (!head.is_success()) refusal_timer_.arm(clock_.now() + kRefusalTime);
  owner_.on_stream_head(head_);
}

void RemoteStream::on_body(std::string_view bytes) {
  const auto fail = [this] {
    const WebFailure failure{WebFailure::Kind::too_large,
                             "more than " + std::to_string(max_message_) + " bytes at once"};
    on_end(&failure);
  };
  if (has_events_) {
    if (!events_.feed(bytes, *this)) fail();
    return;
  }
  const size_t most = head_.is_success() ? max_message_ : kMaxRefusal;
  if (body_.size() + bytes.size() <= most) {
    body_.append(bytes);
    return;
  }
  if (head_.is_success()) return fail();
  body_.append(bytes.substr(0, most - body_.size()));
  on_end(nullptr);  // the beginning of a refusal suffices
}

void RemoteStream::on_end(const WebFailure* failure) {
  end_transfer();
  // It does not matter whether a refusal was cut.
  const bool is_refused = head_.status != 0 && !head_.is_success();
  owner_.on_stream_end(is_refused ? nullptr : failure);
}

void RemoteStream::on_event(std::string_view name, std::span<char> data) {
  if (transfer_ != nullptr) owner_.on_stream_event(name, data);
}

void ListenStream::open() { stream_.open(owner_.listening(stream_.events().last_id())); }

void ListenStream::close() {
  is_closed_ = true;
  stream_.close();
  timer_.disarm();
}

void ListenStream::on_stream_head(const WebHead& head) {
  if (head.is_success() && head.has_type("text/event-stream")) was_open_ = true;
}

void ListenStream::on_stream_event(std::string_view name, std::span<char> data) {
  backoff_.reset();
  if (!is_closed_ && name == "message") owner_.on_listen_text(data);
}

// A server need not have such a stream (405). If it refuses the first one, no other is opened.
void ListenStream::on_stream_end(const WebFailure* /*failure*/) {
  if (is_closed_) return;
  const int status = stream_.head().status;
  const bool is_refused = status != 0 && !stream_.has_events() && status < 500;
  EventReader& events = stream_.events();
  if (is_refused && was_open_ && status == 404) return owner_.on_listen_gone();
  if (status == 401) owner_.on_unauthorized();
  if (is_refused && status != 401 && status != 429) {
    if (events.last_id().empty()) return owner_.on_listen_refused(stream_.head());
    events.forget();  // events that followed the last one are lost
  }
  const auto asked = events.take_retry();
  timer_.arm(services_.clock.now() + (asked ? Duration(*asked) : backoff_.next()));
}

}  // namespace stdgate::remote

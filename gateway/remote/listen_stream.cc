#include "gateway/remote/listen_stream.h"

namespace stdgate::remote {

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

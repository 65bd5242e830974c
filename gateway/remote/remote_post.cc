#include "gateway/remote/remote_post.h"

#include <utility>

namespace stdgate::remote {

void RemotePost::close() {
  is_closed_ = true;
  stream_.close();
  resume_timer_.disarm();
}

void RemotePost::on_stream_head(const WebHead& head) {
  if (!head.is_success()) return;
  backoff_.reset();
  resume_until_ = {};
  note_taken();
}

void RemotePost::note_taken() {
  if (!std::exchange(is_taken_, true)) owner_.on_post_taken(*this);
}

void RemotePost::on_stream_event(std::string_view name, std::span<char> data) {
  if (!is_closed_ && name == "message") owner_.on_post_text(*this, data);
}

void RemotePost::on_stream_end(const WebFailure* failure) {
  if (is_closed_) return;
  if (failure != nullptr) failure_ = *failure;
  const WebHead& head = stream_.head();
  if (is_resuming_ && !stream_.has_events()) return end_resumption(failure);
  if (head.status == 0) {
    if (failure != nullptr && !failure->may_be_sent) return owner_.on_post_end(*this, End::unsent);
    return lose(failure == nullptr ? "no response" : failure->detail);
  }
  if (!head.is_success()) return owner_.on_post_end(*this, End::refused);
  if (!stream_.has_events() && failure == nullptr) return end_document();
  if (unanswered_.empty()) return owner_.on_post_end(*this, End::done);
  if (failure != nullptr && failure->kind == WebFailure::Kind::too_large) {
    return lose(failure->detail);
  }
  go_on(failure == nullptr ? "the stream ended before it" : failure->detail);
}

void RemotePost::end_document() {
  std::string& body = stream_.body();
  const bool is_json = stream_.head().has_type("application/json");
  // Some servers say "null" to a notification.
  if (is_json && !body.empty() && message_.is_request())
    owner_.on_post_text(*this, {body.data(), body.size()});
  if (is_closed_) return;
  if (unanswered_.empty()) return owner_.on_post_end(*this, End::done);
  // The server speaks another protocol.
  if (!is_json && !body.empty()) return owner_.on_post_end(*this, End::refused);
  lose("the response has none");
}

// --- Resumption ---------------------------------------------------------------------------------

void RemotePost::go_on(std::string why) {
  if (stream_.events().last_id().empty() || message_.is_modern()) return lose(std::move(why));
  const TimePoint now = services_.clock.now();
  if (why_.empty()) why_ = std::move(why);
  if (resume_until_ == TimePoint{}) resume_until_ = now + kResumeTime;
  if (now >= resume_until_) return lose(why_);
  is_resuming_ = true;
  const auto asked = stream_.events().take_retry();
  resume_timer_.arm(now + (asked ? Duration(*asked) : backoff_.next()));
}

void RemotePost::resume_now() {
  stream_.open(owner_.resumption(*this, stream_.events().last_id()));
}

void RemotePost::end_resumption(const WebFailure* failure) {
  const WebHead& head = stream_.head();
  if (head.status == 401) owner_.on_unauthorized();
  if (head.status == 0 || head.status == 401 || head.status >= 500) {
    return go_on(failure == nullptr ? "no response" : failure->detail);
  }
  if (head.status == 404) return owner_.on_post_end(*this, End::gone);
  lose((why_.empty() ? "the stream ended before it" : why_) +
       "; going on behind the last event was answered with status " + std::to_string(head.status));
}

void RemotePost::lose(std::string why) {
  why_ = std::move(why);
  owner_.on_post_end(*this, End::lost);
}

}  // namespace stdgate::remote

#include "gateway/remote/remote_stream.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

namespace stdgate::remote {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

bool EventReader::feed(std::string_view bytes, Sink& sink) {
  while (!bytes.empty() && !is_too_long_) {
    if (std::exchange(skips_lf_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    const size_t end = bytes.find_first_of("\r\n");
    if (!append(bytes.substr(0, end))) return false;
    if (end == std::string_view::npos) break;
    skips_lf_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    end_line(sink);
  }
  return !is_too_long_;
}

void EventReader::restart() {
  line_.clear();
  name_.clear();
  data_.clear();
  id_ = last_id_;
  begins_ = true;
  skips_lf_ = false;
}

std::optional<std::chrono::milliseconds> EventReader::take_retry() {
  return std::exchange(retry_, std::nullopt);
}

// An endless comment is as bad as an endless event.
bool EventReader::append(std::string_view part) {
  is_too_long_ = line_.size() + data_.size() + part.size() > max_event_;
  if (!is_too_long_) line_.append(part);
  return !is_too_long_;
}

void EventReader::end_line(Sink& sink) {
  std::string_view line = line_;
  if (std::exchange(begins_, false) && line.starts_with(kByteOrderMark)) {
    line.remove_prefix(kByteOrderMark.size());
  }
  if (line.empty()) {
    dispatch(sink);
  } else if (line.front() != ':') {
    const size_t colon = std::min(line.find(':'), line.size());
    std::string_view value = line.substr(std::min(colon + 1, line.size()));
    if (value.starts_with(' ')) value.remove_prefix(1);
    take_field(line.substr(0, colon), value);
  }
  line_.clear();
}

void EventReader::take_field(std::string_view name, std::string_view value) {
  if (name == "data") {
    data_.append(value) += '\n';
  } else if (name == "event") {
    name_ = value;
  } else if (name == "id") {
    if (value.find('\0') == std::string_view::npos) {
      id_ = value.size() <= kMaxId ? value : std::string_view();
    }
  } else if (name == "retry") {
    uint32_t wait = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), wait);
    if (error == std::errc() && end == value.data() + value.size()) {
      retry_ = std::min(std::chrono::milliseconds(wait), kMaxRetry);
    }
  }
}

void EventReader::dispatch(Sink& sink) {
  last_id_ = id_;
  std::string name = std::exchange(name_, {});
  std::string data = std::exchange(data_, {});
  if (data.size() <= 1) return;
  if (name.empty()) name = "message";
  sink.on_event(name, {data.data(), data.size() - 1});
}

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
  // A refusal that was cut is a refusal all the same.
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

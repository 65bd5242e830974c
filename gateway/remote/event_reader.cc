#include "gateway/remote/event_reader.h"

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

}  // namespace stdgate::remote

#include "gateway/session/replay_log.h"

#include <algorithm>
#include <utility>

namespace stdgate {

namespace {
// Streams of which everything is gone are remembered only so far.
constexpr size_t kMostStreams = 1024;
}  // namespace

uint64_t ReplayLog::add(uint32_t stream, std::span<const std::string_view> parts) {
  size_t size = 0;
  for (const std::string_view part : parts) size += part.size();
  Trace& trace = streams_[stream];
  ++last_;
  if (size > most_bytes_ || most_events_ == 0) {
    trace.lost_through = last_;
  } else {
    keep(stream, size, parts);
    ++trace.kept;
  }
  while (events_.size() > most_events_ || bytes_ > most_bytes_) let_go();
  // At least kMostStreams of so many have no event here.
  if (streams_.size() > most_events_ + kMostStreams) forget_streams(kMostStreams / 2);
  return last_;
}

void ReplayLog::keep(uint32_t stream, size_t size, std::span<const std::string_view> parts) {
  Event& event = events_.emplace_back(Event{stream, last_, {}});
  event.text.reserve(size);
  for (const std::string_view part : parts) event.text += part;
  bytes_ += size;
}

void ReplayLog::let_go() {
  const Event& oldest = events_.front();
  Trace& trace = streams_[oldest.stream];
  trace.lost_through = oldest.number;
  --trace.kept;
  bytes_ -= oldest.text.size();
  events_.pop_front();
}

std::vector<std::string> ReplayLog::take_after(uint32_t stream, uint64_t number) {
  std::vector<std::string> texts;
  for (Event& event : events_) {
    if (event.stream != stream || event.number <= number) continue;
    bytes_ -= event.text.size();
    --streams_[stream].kept;
    texts.push_back(std::move(event.text));
  }
  std::erase_if(events_, [stream, number](const Event& event) {
    return event.stream == stream && event.number > number;
  });
  return texts;
}

void ReplayLog::forget_streams(size_t count) {
  for (auto stream = streams_.upper_bound(0); stream != streams_.end() && count > 0;) {
    const Trace& trace = stream->second;
    if (trace.kept > 0) {
      ++stream;
      continue;
    }
    forgotten_through_ = std::max(forgotten_through_, trace.lost_through);
    stream = streams_.erase(stream);
    --count;
  }
}

bool ReplayLog::has_after(uint32_t stream, uint64_t number) const {
  bool found = false;
  replay(stream, number, [&found](uint64_t, std::string_view) { found = true; });
  return found;
}

bool ReplayLog::reaches(uint32_t stream, uint64_t number) const {
  const auto trace = streams_.find(stream);
  const uint64_t lost = trace == streams_.end() ? forgotten_through_ : trace->second.lost_through;
  return lost <= number;
}

}  // namespace stdgate

#include "gateway/session/replay_log.h"

#include <algorithm>
#include <utility>

#include "gateway/base/check.h"

namespace stdgate::session {

namespace {
// Streams without a kept event that are remembered.
constexpr size_t kMaxStreams = 1024;
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
  // Each kept event is of one stream, so more than kMaxStreams of these have none.
  if (streams_.size() > most_events_ + kMaxStreams) forget_streams(kMaxStreams / 2);
  return last_;
}

void ReplayLog::keep(uint32_t stream, size_t size, std::span<const std::string_view> parts) {
  bytes_ += size;
  SharedBytes shared = parts.size() == 1 ? storages_.share(parts[0]) : SharedBytes();
  if (!shared.empty()) {
    events_.push_back(Event{stream, last_, Text(std::move(shared))});
    return;
  }
  std::string text;
  text.reserve(size);
  for (const std::string_view part : parts) text += part;
  events_.push_back(Event{stream, last_, Text(std::move(text))});
}

void ReplayLog::let_go() {
  STDGATE_CHECK(!events_.empty());
  const Event& oldest = events_.front();
  streams_[oldest.stream].lost_through = oldest.number;
  note_gone(oldest);
  events_.pop_front();
}

void ReplayLog::note_gone(const Event& event) {
  Trace& trace = streams_[event.stream];
  const size_t size = event.text.view().size();
  STDGATE_CHECK(trace.kept > 0 && bytes_ >= size);
  --trace.kept;
  bytes_ -= size;
}

std::vector<ReplayLog::Text> ReplayLog::take_after(uint32_t stream, uint64_t number) {
  std::vector<Text> texts;
  for (Event& event : events_) {
    if (event.stream != stream || event.number <= number) continue;
    note_gone(event);
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
  replay(stream, number, [&found](uint64_t, const Text&) { found = true; });
  return found;
}

bool ReplayLog::reaches(uint32_t stream, uint64_t number) const {
  const auto trace = streams_.find(stream);
  const uint64_t lost = trace == streams_.end() ? forgotten_through_ : trace->second.lost_through;
  return lost <= number;
}

}  // namespace stdgate::session

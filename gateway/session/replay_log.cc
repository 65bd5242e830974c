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
    bytes_ += size;
    const uint64_t previous = trace.kept++ > 0 ? trace.last : 0;
    events_.push_back(Event{stream, false, last_, previous, text_of(size, parts)});
    trace.last = last_;
  }
  while (kept() > most_events_ || bytes_ > most_bytes_) let_go();
  charge();
  while (!events_.empty() && held_.lack() != MemoryLack::none) {
    let_go();
    charge();
  }
  // Each kept event belongs to one stream, so more than kMaxStreams of the streams have none.
  if (streams_.size() > most_events_ + kMaxStreams) forget_streams(kMaxStreams / 2);
  return last_;
}

ReplayLog::Text ReplayLog::text_of(size_t size, std::span<const std::string_view> parts) {
  SharedBytes shared = parts.size() == 1 ? storages_.share(parts[0]) : SharedBytes();
  if (!shared.empty()) return Text(std::move(shared));
  std::string text;
  text.reserve(size);
  for (const std::string_view part : parts) text += part;
  own_ += text.capacity();
  return Text(std::move(text));
}

void ReplayLog::let_go() {
  STDGATE_CHECK(!events_.empty());
  Event& oldest = events_.front();
  streams_[oldest.stream].lost_through = oldest.number;
  note_gone(oldest);
  skip_gone();
}

void ReplayLog::note_gone(Event& event) {
  Trace& trace = streams_[event.stream];
  const size_t size = event.text.view().size();
  STDGATE_CHECK(trace.kept > 0 && bytes_ >= size && own_ >= event.text.held() && !event.is_gone);
  --trace.kept;
  bytes_ -= size;
  own_ -= event.text.held();
  event.is_gone = true;
  ++gone_;
}

void ReplayLog::charge() {
  held_.set(own_ + events_.size() * sizeof(Event) +
            streams_.size() * sizeof(decltype(streams_)::value_type));
}

void ReplayLog::drop() {
  while (!events_.empty()) let_go();
  std::deque<Event>().swap(events_);
  forget_streams(streams_.size());
  charge();
}

void ReplayLog::skip_gone() {
  for (; !events_.empty() && events_.front().is_gone; --gone_) events_.pop_front();
  if (gone_ <= kept()) return;
  std::erase_if(events_, [](const Event& event) { return event.is_gone; });
  gone_ = 0;
}

// Searches from the last event back: the kept events are the last ones of their stream, and the
// wanted events are the last of these.
std::vector<size_t> ReplayLog::places_after(uint32_t stream, uint64_t number) const {
  std::vector<size_t> places;
  const auto trace = streams_.find(stream);
  if (trace == streams_.end()) return places;
  uint64_t next = trace->second.last;
  while (places.size() < trace->second.kept && next > number) {
    const auto event = std::ranges::lower_bound(events_, next, {}, &Event::number);
    STDGATE_CHECK(event != events_.end() && event->number == next && !event->is_gone);
    places.push_back(static_cast<size_t>(event - events_.begin()));
    next = event->previous;
  }
  std::ranges::reverse(places);
  return places;
}

std::vector<ReplayLog::Text> ReplayLog::take_after(uint32_t stream, uint64_t number) {
  std::vector<Text> texts;
  const std::vector<size_t> places = places_after(stream, number);
  if (places.empty()) return texts;
  streams_[stream].last = events_[places.front()].previous;
  for (const size_t place : places) {
    note_gone(events_[place]);
    texts.push_back(std::move(events_[place].text));
  }
  skip_gone();
  charge();
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
  const auto trace = streams_.find(stream);
  return trace != streams_.end() && trace->second.kept > 0 && trace->second.last > number;
}

bool ReplayLog::reaches(uint32_t stream, uint64_t number) const {
  const auto trace = streams_.find(stream);
  const uint64_t lost = trace == streams_.end() ? forgotten_through_ : trace->second.lost_through;
  return lost <= number;
}

}  // namespace stdgate::session

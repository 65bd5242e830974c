// ReplayLog: the last events of a session's streams, for a client that comes back.
//
// Events are numbered through the session, from 1 on, so a number names one event and its place in
// its stream. Owner: the session. Limits: `events` and `bytes` over all streams, and the memory of
// the client; beyond them the oldest event goes, of whichever stream. Streams without events here
// are remembered up to a limit too, stream 0 for ever. A query about one stream costs as much as
// its own answer, however many events other streams have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/base/byte_storage.h"

namespace stdgate::session {

class ReplayLog {
 public:
  // The text of an event: owned by the log, or shared.
  class Text {
   public:
    explicit Text(std::string own) : own_(std::move(own)) {}
    explicit Text(SharedBytes shared) : shared_(std::move(shared)) {}
    [[nodiscard]] std::string_view view() const {
      return shared_.empty() ? std::string_view(own_) : shared_.view();
    }
    [[nodiscard]] const SharedBytes& shared() const { return shared_; }
    // Bytes of memory that the log alone holds.
    [[nodiscard]] size_t held() const { return shared_.empty() ? own_.capacity() : 0; }

   private:
    std::string own_;
    SharedBytes shared_;
  };

  // A text that is offered to all sessions of a backend is shared with their logs (SharedOffer).
  ReplayLog(size_t events, size_t bytes, StoragePool& storages, const Payer& payer = {})
      : most_events_(events),
        most_bytes_(bytes),
        storages_(storages),
        held_(payer, Holding::replay) {}

  // A number for an event that is not kept.
  uint64_t skip() { return ++last_; }
  // Keeps the concatenation of `parts`; returns its number. An event larger than the whole log is
  // not kept.
  uint64_t add(uint32_t stream, std::span<const std::string_view> parts);

  // Whether all events of `stream` after `number` are still here. For a forgotten stream the answer
  // may be too pessimistic, never too optimistic.
  [[nodiscard]] bool reaches(uint32_t stream, uint64_t number) const;
  [[nodiscard]] bool has_after(uint32_t stream, uint64_t number) const;
  // Whether events of the stream are here, or have been.
  [[nodiscard]] bool knows(uint32_t stream) const { return streams_.contains(stream); }
  [[nodiscard]] uint64_t last() const { return last_; }
  [[nodiscard]] size_t bytes() const { return bytes_; }

  // Forgets all events.
  void drop();

  // Takes the events of `stream` after `number` out, in order.
  std::vector<Text> take_after(uint32_t stream, uint64_t number);

  // Calls visit(number, Text) for the events of `stream` after `number`, in order.
  template <class Visitor>
  void replay(uint32_t stream, uint64_t number, Visitor&& visit) const {
    for (const size_t place : places_after(stream, number)) {
      visit(events_[place].number, events_[place].text);
    }
  }

 private:
  struct Event {
    uint32_t stream;
    bool is_gone;  // taken out; its place is skipped
    uint64_t number;
    uint64_t previous;  // the event before in the stream, which may be gone; 0: none
    Text text;
  };
  struct Trace {  // of a stream
    size_t kept = 0;
    uint64_t last = 0;  // the last kept event, if any
    uint64_t lost_through = 0;
  };

  [[nodiscard]] Text text_of(size_t size, std::span<const std::string_view> parts);
  // Places of a stream's kept events after a number, in order.
  [[nodiscard]] std::vector<size_t> places_after(uint32_t stream, uint64_t number) const;
  [[nodiscard]] size_t kept() const { return events_.size() - gone_; }
  void let_go();
  void note_gone(Event& event);
  void skip_gone();
  void charge();
  void forget_streams(size_t count);

  const size_t most_events_;
  const size_t most_bytes_;
  StoragePool& storages_;
  // By number. The first event is not gone, and at least half are not.
  std::deque<Event> events_;
  size_t gone_ = 0;
  std::map<uint32_t, Trace> streams_;
  uint64_t forgotten_through_ = 0;  // the largest lost_through of streams not in streams_
  size_t bytes_ = 0;
  size_t own_ = 0;  // memory of texts that are not shared
  uint64_t last_ = 0;
  Share held_;
};

}  // namespace stdgate::session

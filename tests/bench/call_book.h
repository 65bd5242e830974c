// CallBook: the calls that one client has in flight.
//
// Job: give the bytes of the next call, with an id that no call has had, and judge what comes back:
// the id must be that of a call in flight, the result the very payload. Slots are numbered; a
// slot's calls follow each other, so an id says its slot.
// Owner: a client's dialogue. Limit: `in_flight` calls. Errors are counted in the Tally.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/rpc/envelope.h"
#include "tests/bench/call_text.h"
#include "tests/bench/tally.h"

namespace stdgate::bench {

class CallBook {
 public:
  CallBook(CallText text, size_t in_flight, Tally& tally);

  [[nodiscard]] const NumberedText& request() const { return text_.request(); }
  [[nodiscard]] size_t slots() const { return slots_.size(); }
  [[nodiscard]] bool is_open(size_t slot) const { return slots_[slot].open; }

  // The slot's next call has been sent; its id is to be patched into the request.
  IdText open(size_t slot, Instant now);
  // Judges a whole message. The slot whose call it ended; nothing when it was none of ours.
  std::optional<size_t> close(std::span<char> message, Instant now);
  // The call of the slot was answered, by something that nobody looks into.
  void close_unread(size_t slot, Instant now, size_t size);
  // It was answered by something that has been counted as an error.
  void abandon(size_t slot, Instant now);

 private:
  struct Slot {
    uint64_t id = 0;
    Instant sent = 0;
    bool open = false;
  };
  std::optional<size_t> slot_of(std::string_view id) const;
  std::optional<size_t> close_parsed(std::span<char> message, Instant now);
  bool is_result(std::string_view payload, const IdText& id);

  CallText text_;
  NumberedText answer_;  // patched where members come in another order
  std::vector<Slot> slots_;
  rpc::EnvelopeParser parser_{rpc::EnvelopeLimits()};
  Tally& tally_;
};

}  // namespace stdgate::bench

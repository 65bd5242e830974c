// CallBook: the calls that one client has in flight.
//
// Job: give each call an id that no call has had, and check its answer. The answer must have the id
// of a call in flight, and exactly the payload of that call. Calls of a slot follow each other, and
// their ids tell the slot. Owner: a client's dialogue. Limit: `in_flight` calls. The Tally counts
// the errors.
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

  // Begins the slot's next call, and returns the id to write into its request.
  IdText open(size_t slot, Instant now);
  // Checks a whole message. The slot whose call it ended; nothing: it answers no call in flight.
  std::optional<size_t> close(std::span<char> message, Instant now);
  // The call of the slot was answered, and the content of the answer is not checked.
  void close_unread(size_t slot, Instant now, size_t size);
  // The call of the slot was answered by something that has been counted as an error.
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
  NumberedText answer_;  // patched if members come in another order
  std::vector<Slot> slots_;
  rpc::EnvelopeParser parser_{rpc::EnvelopeLimits()};
  Tally& tally_;
};

}  // namespace stdgate::bench

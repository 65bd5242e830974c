// LineDialogue: calls straight into a child's pipes, one message a line, many in flight.
#pragma once

#include "tests/bench/dialogue.h"

namespace stdgate::bench {

class LineDialogue : public Dialogue {
 public:
  LineDialogue(CallBook book, Channel& channel, Tally& tally);

  void begin() override;
  void begin_calls(Instant now) override;
  tl::expected<size_t, std::string> take(std::span<char> bytes, Instant now) override;

 private:
  void call(size_t slot, Instant now);

  Channel& channel_;
  CallBook book_;
  NumberedText line_;
  size_t searched_ = 0;  // bytes at the front of the next take() that hold no newline
};

}  // namespace stdgate::bench

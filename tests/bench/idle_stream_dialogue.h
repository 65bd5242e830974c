// IdleStreamDialogue: an event stream by GET that is opened and held; what comes is not looked at.
#pragma once

#include "tests/bench/dialogue.h"

namespace stdgate::bench {

class IdleStreamDialogue : public Dialogue {
 public:
  IdleStreamDialogue(const LoadOptions& options, Channel& channel, Tally& tally)
      : Dialogue(tally), options_(options), channel_(channel) {}

  void begin() override;
  void begin_calls(Instant /*now*/) override {}
  tl::expected<size_t, std::string> take(std::span<char> bytes, Instant now) override;

 private:
  const LoadOptions& options_;
  Channel& channel_;
  bool open_ = false;
};

}  // namespace stdgate::bench

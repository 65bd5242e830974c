// Dialogue: what one client says and understands on its connection. Also the two smallest
// dialogues.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <tl/expected.hpp>

#include "tests/bench/call_book.h"
#include "tests/bench/channel.h"
#include "tests/bench/load_options.h"
#include "tests/bench/tally.h"

namespace stdgate::bench {

// Dialogue: what one client says and understands on its connection; one class a protocol.
//
// Owner: a Client, which feeds it what has come and flushes the channel afterwards. Errors: the
// phrase ends the client; what is wrong with single answers goes to the Tally instead.
class Dialogue {
 public:
  explicit Dialogue(Tally& tally) : tally_(tally) {}
  virtual ~Dialogue() = default;

  // The connection stands: says what comes first. Tally::ready is raised once calls can be made.
  virtual void begin() = 0;
  // All clients are ready: the first calls.
  virtual void begin_calls(Instant now) = 0;
  // Takes the complete units at the front of `bytes`, which it may change; returns their size.
  virtual tl::expected<size_t, std::string> take(std::span<char> bytes, Instant now) = 0;

  // No call is in flight any more: says goodbye where the protocol has a way. Tally::ready is
  // lowered once that has been heard.
  virtual void end() { --tally_.ready; }

  // Bytes that have to be there before take() gets any further; 0 when that is not known.
  [[nodiscard]] size_t needed() const { return needed_; }

 protected:
  Tally& tally_;
  size_t needed_ = 0;
};

// `channel` and `tally` outlive it.
std::unique_ptr<Dialogue> make_dialogue(const LoadOptions& options, size_t client, Channel& channel,
                                        Tally& tally);

// LineDialogue: calls straight into a child's pipes, one message a line, many in flight.
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

// IdleStreamDialogue: an event stream by GET that is opened and held; what comes is not looked at.
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

// Dialogue: how one client speaks on its connection. Also the two smallest dialogues.
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

// Dialogue: how one client speaks on its connection; a class per protocol.
//
// Owner: a Client, which passes received bytes to it and then flushes the channel. Errors: an error
// that take() returns ends the client. Errors of single answers go to the Tally.
class Dialogue {
 public:
  explicit Dialogue(Tally& tally) : tally_(tally) {}
  virtual ~Dialogue() = default;

  // The connection is established: sends the first bytes. Raises Tally::ready once calls can be
  // made.
  virtual void begin() = 0;
  // All clients are ready: sends the first calls.
  virtual void begin_calls(Instant now) = 0;
  // Takes the complete units at the front of `bytes`, and may change them. Returns their size.
  virtual tl::expected<size_t, std::string> take(std::span<char> bytes, Instant now) = 0;

  // The last call has ended: ends the session if the protocol has a way to do so. Lowers
  // Tally::ready once the server has answered.
  virtual void end() { --tally_.ready; }

  // Bytes that take() needs before it can go on; 0: not known.
  [[nodiscard]] size_t needed() const { return needed_; }

 protected:
  Tally& tally_;
  size_t needed_ = 0;
};

// `channel` and `tally` must outlive the dialogue.
std::unique_ptr<Dialogue> make_dialogue(const LoadOptions& options, size_t client, Channel& channel,
                                        Tally& tally);

// LineDialogue: calls directly to a child's pipes, one message per line, many in flight.
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
  size_t searched_ = 0;  // bytes at the front of the next take() without a newline
};

// IdleStreamDialogue: opens an event stream by GET and holds it, without reading its events.
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

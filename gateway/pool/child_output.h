// ChildOutput: turns the bytes on a child's stdout into messages.
//
// Job: find the messages, pass each to the child by its kind, and count and log output that is no
// message. Only a broken framing ends the stream. Owner: the child. Limits: limits.message, depth
// and batch; the memory of the backend and of the gateway; the limits of ChildLog.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "gateway/pool/child_log.h"
#include "gateway/pool/message_log.h"
#include "gateway/pool/pool_services.h"
#include "gateway/rpc/envelope.h"
#include "gateway/rpc/framer.h"

namespace stdgate::pool {

class Child;

class ChildOutput final : private rpc::FrameSink {
 public:
  // The arguments outlive this.
  ChildOutput(const PoolServices& services, const ChildName& name, ChildLog& log, Child& child);

  // An incomplete message of more bytes than this is given up when memory is used up.
  static constexpr size_t kSmallMessage = 1 << 20;

  void feed(std::span<char> bytes);
  void finish() {
    has_ended_ = true;
    framer_->finish(*this);
  }
  // Ends all calls to the child.
  void stop() { stopped_ = true; }

  // Which key to change, a constant, if the output looks like another framing than the configured
  // one; else empty.
  [[nodiscard]] std::string_view misfit() const { return misfit_; }

  static rpc::EnvelopeLimits envelope_limits(
      const config::LimitsConfig& limits, config::EnvelopeForm form = config::EnvelopeForm::strict);

 private:
  void on_frame(std::span<char> message) override;
  void on_oversized_frame(const rpc::OversizedFrame& frame) override;
  void on_broken_framing(const char* reason) override;

  void handle(const rpc::ParsedMessage& message);
  void handle_broken(const rpc::ParsedMessage& message);
  void end_call_of(std::string_view raw_id, const char* why);
  void note_misfit(std::string_view hint);
  void note_first_output(std::span<const char> bytes);
  void drop(const DroppedOutput& output);

  const PoolServices& services_;
  const ChildName& name_;
  ChildLog& log_;
  Child& child_;
  rpc::EnvelopeParser parser_;
  const std::unique_ptr<rpc::Framer> framer_;
  Share held_;             // memory of an incomplete message
  bool given_up_ = false;  // the framer skips the message for lack of memory
  std::string method_;     // scratch
  std::string_view misfit_;
  bool has_spoken_ = false;
  bool has_ended_ = false;
  bool omits_version_ = false;  // as told
  bool stopped_ = false;
};

}  // namespace stdgate::pool

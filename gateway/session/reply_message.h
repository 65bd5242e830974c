// ReplyMessage: the message of a reply, with its parts: as the child has sent it, or put together.
//
// Owner: the function that has got the reply; a value that does not move.
#pragma once

#include <optional>

#include "gateway/rpc/message_text.h"
#include "gateway/session/sinks.h"

namespace stdgate::session {

class ReplyMessage {
 public:
  explicit ReplyMessage(const Reply& reply);
  ReplyMessage(const ReplyMessage&) = delete;
  ReplyMessage& operator=(const ReplyMessage&) = delete;

  [[nodiscard]] const rpc::Envelope& envelope() const {
    return whole_ != nullptr ? *whole_ : known_->envelope();
  }

 private:
  const rpc::Envelope* const whole_;  // null: it was changed on its way
  std::optional<rpc::KnownMessage> known_;
};

}  // namespace stdgate::session

#include "gateway/session/reply_message.h"

#include <string>
#include <utility>

namespace stdgate::session {

ReplyMessage::ReplyMessage(const Reply& reply) : whole_(reply.whole) {
  if (whole_ != nullptr) return;
  std::string text;
  text.reserve(reply.size());
  text.append(reply.head).append(reply.id).append(reply.tail);
  known_.emplace(std::move(text));
}

}  // namespace stdgate::session

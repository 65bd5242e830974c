#include "gateway/session/reply_message.h"

namespace stdgate::session {

ReplyMessage::ReplyMessage(const Reply& reply) : whole_(reply.whole) {
  if (whole_ != nullptr) return;
  text_.reserve(reply.size());
  text_.append(reply.head).append(reply.id).append(reply.tail);
  known_.emplace(text_);
}

}  // namespace stdgate::session

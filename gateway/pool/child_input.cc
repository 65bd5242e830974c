#include "gateway/pool/child_input.h"

#include <array>

#include "gateway/pool/message_log.h"
#include "gateway/rpc/message_text.h"

namespace stdgate::pool {

void ChildInput::write(const call::Outgoing& message, std::optional<PeerKind> peer_kind,
                       std::optional<rpc::WireId> id) {
  call::Splice splice(message, id, peer_kind);
  if (omits_version_) return write_without_version(splice);
  const rpc::FrameEnds ends = rpc::frame_ends(services_.config.framing, splice.size(), frame_head_);
  link_->write(splice.framed(ends.head, ends.tail));
}

void ChildInput::write_without_version(call::Splice& splice) {
  const std::string text = rpc::without_version(splice.framed({}, {}));
  const rpc::FrameEnds ends = rpc::frame_ends(services_.config.framing, text.size(), frame_head_);
  const std::array<std::string_view, 3> parts{ends.head, text, ends.tail};
  link_->write(parts);
}

void ChildInput::write_note(const call::Outgoing& message, std::optional<PeerKind> peer_kind) {
  if (services_.logs_messages) {
    log_message(services_, name_, "message sent", {}, message.text.size());
  }
  write(message, peer_kind);
}

void ChildInput::write_text(std::string_view text) {
  call::Outgoing message;
  message.text = text;
  write_note(message, std::nullopt);
}

// --- Answers --------------------------------------------------------------------------------

bool ChildInput::takes_answers() const {
  if (link_->unsent_bytes() <= kMaxUnsentAnswers) return true;
  services_.drop(DropReason::outbox_full);
  return false;
}

void ChildInput::write_answer(const call::Outgoing& answer, std::optional<PeerKind> peer_kind) {
  if (takes_answers()) write(answer, peer_kind);
}

void ChildInput::write_result(std::string_view id, std::string_view result) {
  if (takes_answers()) write_text(rpc::result_text(id, result));
}

void ChildInput::write_error(std::string_view id, int code, std::string_view message) {
  if (takes_answers()) write_text(rpc::error_text(id, code, message));
}

bool Farewell::begin(rpc::WireId id, ChildLink& link) {
  const std::string text = services_.dialect.shutdown_request(id);
  if (text.empty()) return false;
  link_ = &link;
  request_ = id;
  input_.write_text(text);
  timer_.arm(services_.core.clock.now() + services_.config.pool.grace / 3);
  return true;
}

void Farewell::finish() {
  request_.reset();
  timer_.disarm();
  input_.write_text(services_.dialect.traits().exit);
  link_->end(services_.config.pool.grace / 3);
}

}  // namespace stdgate::pool
